"""A model as a score sees it, which does not read twice what it writes."""

from typing import Any

import torch
from torch import Tensor, nn

from blocks.model.kv_cache import KVCache
from blocks.model.models import GPT
from blocks.training.task import to_device


class Writer:
    """A model as a function: ids (batch, seq) to logits, float32 on the CPU.

    Where the ids begin with those of the call before, a GPT reads only what is new, with a KV
    cache. Experts with a capacity depend on all that is read at once: there it reads everything.
    """

    def __init__(self, model: nn.Module, device: str):
        self.model, self.device = model, device
        config = model.config if isinstance(model, GPT) else None
        self._config = None if config is None or config.experts.expert_capacity else config
        self._ids, self._logits = torch.empty(0, 0), torch.empty(0)
        self._cache: KVCache | None = None

    @torch.no_grad()
    def __call__(self, *read: Any) -> Tensor:
        """Logits of what `Batch.read` holds; under a mask of its own nothing is kept."""
        ids, *mask = read
        if self._config is None or mask:
            return self._run(*read)
        is_longer, self._ids = goes_on(self._ids, ids), ids
        if is_longer:
            return self._read_on(ids, self._cache or KVCache(self._config))
        self._cache = None
        return self._run(ids)

    def _read_on(self, ids: Tensor, cache: KVCache) -> Tensor:
        self._cache = cache = cache.ready_for(ids.shape[1])
        n_known = cache.seen
        new = self._run(ids[:, n_known:], cache=cache)
        self._logits = torch.cat([self._logits[:, :n_known], new], dim=1) if n_known else new
        return self._logits

    def _run(self, *read: Any, **kept: KVCache) -> Tensor:
        logits: Tensor = self.model(*(to_device(each, self.device) for each in read), **kept)
        return logits.float().cpu()


def goes_on(before: Tensor, ids: Tensor) -> bool:
    """Whether ids (batch, seq) begin with all of those before, of which there are some."""
    n = before.shape[1]
    return 0 < n < ids.shape[1] and ids[:, :n].equal(before)
