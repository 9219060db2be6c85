"""A model that reads token by token through a KV cache, and writes on."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from blocks.model.kv_cache import KVCache
from blocks.model.models import GPT, EncoderDecoder
from blocks.model.source_target import SourceTarget, SourceTargetMask
from blocks.training.writer import goes_on

Ids = Tensor | SourceTarget


class CachedReader:
    """A model as a score sees it: ids to logits (batch, seq, vocab_size), float32 on the CPU.

    Of ids that begin with all that was read before, only the rest is read.
    """

    def __init__(self, model: GPT | EncoderDecoder, new_cache: Callable[[], KVCache]):
        self.model, self.new_cache = model, new_cache
        self.cache = new_cache()
        self._source: Tensor | None = None
        self._memory = torch.empty(0)
        self._read = torch.empty(0, 0, dtype=torch.long)
        self._logits: list[Tensor] = []

    @torch.no_grad()
    def __call__(self, ids: Any, mask: SourceTargetMask | None = None) -> Tensor:
        """Logits after each token; the `mask` of an encoder–decoder hides what fills up rows."""
        source, target = ids if isinstance(ids, SourceTarget) else (None, ids)
        if not self._goes_on(source, target):
            self._begin(source, target, mask)
        for i in range(len(self._logits), target.shape[1]):
            self.cache = self.cache.ready_for(i + 1)
            unread = target[:, self.cache.seen : i + 1]
            self._logits.append(self._after(unread, mask)[:, -1:].float().cpu())
        self._read = target.clone()
        return torch.cat(self._logits, dim=1)

    def _goes_on(self, source: Tensor | None, target: Tensor) -> bool:
        has_other_source = source is not None and source is not self._source
        return not has_other_source and goes_on(self._read, target)

    def _begin(self, source: Tensor | None, target: Tensor, mask: SourceTargetMask | None) -> None:
        self.cache, self._logits, self._read = self.new_cache(), [], target[:, :0]
        self._source = source
        if source is not None and isinstance(self.model, EncoderDecoder):
            self._memory = self.model.encode(source, None if mask is None else mask.source)

    def _after(self, tokens: Tensor, mask: SourceTargetMask | None) -> Tensor:
        if isinstance(self.model, GPT):
            return self.model(tokens, cache=self.cache)
        cross = None if mask is None or mask.cross is None else mask.cross[:, :, :1]
        return self.model.decode(tokens, self._memory, memory_mask=cross, cache=self.cache)


def written_on(reader: CachedReader, ids: Ids, mask: Any, n_new: int) -> Tensor:
    """The likeliest token each time, after these rows: (rows, n_new)."""
    target = ids.target if isinstance(ids, SourceTarget) else ids
    n = target.shape[1]
    for _ in range(n_new):
        whole = ids._replace(target=target) if isinstance(ids, SourceTarget) else target
        target = torch.cat([target, reader(whole, mask)[:, -1:].argmax(-1)], dim=1)
    return target[:, n:]
