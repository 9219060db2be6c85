"""A text grows token by token, each chosen from what the model makes of those before it."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from blocks.model import devices
from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kv_cache import KVCache
from blocks.model.masks import sliding_window
from blocks.model.model_input import check_input
from blocks.model.models import GPT
from blocks.model.probe import Replacement
from blocks.model.randomness import generator
from blocks.observe.recording import record
from blocks.text.sampling import SamplingConfig, choose


@dataclass(frozen=True, eq=False)
class NewToken:
    """A token at the moment it was made.

    `logits`: (vocab_size,); `pattern`: what each head read then, (n_layers, n_heads, key), of the
    layers that attend, 0 for what a local layer cannot see, or None where nobody looked; keys count
    from `context_start`.
    `cache_bytes`: measured.
    """

    token_id: int
    logits: Tensor
    pattern: Tensor | None
    context_start: int
    milliseconds: float
    cache_bytes: int


def context_start(n_tokens: int, max_seq_len: int) -> int:
    """The first token that the model still reads when there are `n_tokens`.

    Where the context is full it moves on by half of its length, so that the cache serves again.
    """
    step = max_seq_len - max_seq_len // 2
    return -(-max(0, n_tokens - max_seq_len) // step) * step


class Generation:
    """One text that grows; it belongs to one thread at a time.

    With `use_cache` off everything is computed anew for each token; the tokens are the same.
    A token of `stop` is the last that is written.
    `replace` changes what passes at some probes, as `record` does. Raises `ConfigError` where the
    model cannot read the prompt, or answers with what is no number.
    """

    def __init__(
        self,
        model: GPT,
        config: ModelConfig,
        prompt: Sequence[int],
        sampling: SamplingConfig,
        *,
        seed: int = 0,
        window_size: int | None = None,
        use_cache: bool = True,
        is_observed: bool = False,
        replace: Mapping[str, Replacement] | None = None,
        stop: Collection[int] = (),
    ):
        check_input(model, torch.tensor([[*prompt]], dtype=torch.long, device="cpu"))
        self.model, self.config, self.sampling = model, config, sampling
        self.token_ids, self.n_prompt = list(prompt), len(prompt)
        self.stop = stop
        self.window_size, self.use_cache = window_size, use_cache
        self.is_observed, self.replace = is_observed, replace or {}
        self.random = generator(seed, "sampling")
        self.new_tokens: list[NewToken] = []
        self.start = 0
        self.cache = KVCache(config, window_size=window_size)
        self.device = next(model.parameters()).device

    @property
    def is_ended(self) -> bool:
        """Whether the last token that was written ends the text."""
        return len(self.token_ids) > self.n_prompt and self.token_ids[-1] in self.stop

    def advance(self, n_tokens: int) -> None:
        """Let the text grow until it has this many new tokens, or ends."""
        while len(self.new_tokens) < n_tokens and not self.is_ended:
            self.new_tokens.append(self._next())
            self.token_ids.append(self.new_tokens[-1].token_id)

    def _next(self) -> NewToken:
        began = time.perf_counter()
        start = context_start(len(self.token_ids), self.config.max_seq_len)
        if start != self.start or not self.use_cache:
            self.start, self.cache = start, self.cache.empty()
        self.cache = self.cache.ready_for(len(self.token_ids) - start)
        logits, pattern = self._read(self.token_ids[start + self.cache.seen :])
        if logits.isnan().any():
            text = N_("The logits after token {n} are not numbers: check the weights")
            raise ConfigError([Fault(text, {"n": len(self.token_ids)})])
        token_id = choose(logits, self.sampling, self.random)
        devices.synchronize(self.device)
        return NewToken(
            token_id=token_id,
            logits=logits,
            pattern=pattern,
            context_start=start,
            milliseconds=1000 * (time.perf_counter() - began),
            cache_bytes=self.cache.nbytes() if self.use_cache else 0,
        )

    def _read(self, unread: Sequence[int]) -> tuple[Tensor, Tensor | None]:
        """Logits (vocab_size,) after the last token, and what it read (layer, n_heads, key).

        Of what is read from its beginning, only the weights of the last query are made.
        """
        ids = torch.tensor([unread], device=self.device)
        if not self.is_observed and not self.replace:
            with torch.inference_mode():
                return self._forward(ids)[0, -1], None
        keep, later = set[str](), {"pattern"}
        if self.cache.seen:
            keep, later = later, keep
        seen = record(self._forward, ids, keep=keep, later=later, replace=self.replace)
        attending = self.config.attention_layers
        if not attending:
            return seen.output[0, -1], ids.new_empty(self.config.n_layers, self.config.n_heads, 0)
        last = slice(-1, None)
        patterns = [seen.pattern(layer, queries=last)[0, :, -1] for layer in attending]
        n_keys = max(pattern.shape[-1] for pattern in patterns)
        whole = [F.pad(pattern, (n_keys - pattern.shape[-1], 0)) for pattern in patterns]
        return seen.output[0, -1], torch.stack(whole)

    def _forward(self, ids: Tensor, _mask: Tensor | None = None) -> Tensor:
        if self.use_cache:
            last = self.model.encode_cached(ids, self.cache)[:, -1:]
            return self.model.unembed_logits(last)
        if self.window_size is None:
            return self.model(ids)
        return self.model(ids, sliding_window(ids.shape[1], self.window_size, ids.device))
