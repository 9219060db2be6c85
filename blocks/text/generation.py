"""A text grows token by token, each chosen from what the model makes of those before it."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from blocks.model import devices
from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kv_cache import KVCache, kv_cache_bytes
from blocks.model.masks import sliding_window
from blocks.model.model_input import check_input
from blocks.model.models import GPT
from blocks.model.randomness import generator
from blocks.observe.captured import can_capture
from blocks.observe.interventions import Intervention, replacements
from blocks.observe.recording import record
from blocks.text.decoding import Decoding, Made
from blocks.text.sampling import SamplingConfig, choose

LEAST_HELD, LEAST_LEFT = 128, 4
"""Room for so many tokens at least, where so many are left to write: it costs as long as three."""


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
    `interventions` are made at every token, so none names a token, and none is a patch (see
    `lasting`). Raises `ConfigError` where the model cannot read the prompt, or answers with what is
    no number.
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
        interventions: Collection[Intervention] = (),
        stop: Collection[int] = (),
    ):
        check_input(model, torch.tensor([[*prompt]], dtype=torch.long, device="cpu"))
        self.model, self.config, self.sampling = model, config, sampling
        self.token_ids, self.n_prompt = list(prompt), len(prompt)
        self.stop = stop
        self.window_size, self.use_cache = window_size, use_cache
        self.is_observed, self.replace = is_observed, replacements(interventions)
        self.random = generator(seed, "sampling")
        self.new_tokens: list[NewToken] = []
        self.start = 0
        self.cache = KVCache(config, window_size=window_size)
        self.device = next(model.parameters()).device
        self._can_hold = use_cache and can_capture(config, self.device)
        self._decoding: Decoding | None = None

    @property
    def is_ended(self) -> bool:
        """Whether the last token that was written ends the text."""
        return len(self.token_ids) > self.n_prompt and self.token_ids[-1] in self.stop

    def advance(self, n_tokens: int) -> None:
        """Let the text grow until it has this many new tokens, or ends."""
        while (most := n_tokens - len(self.new_tokens)) > 0 and not self.is_ended:
            began = time.perf_counter()
            token = self._decoded(most) or self._next()
            token = replace(token, milliseconds=1000 * (time.perf_counter() - began))
            self.new_tokens.append(token)
            self.token_ids.append(token.token_id)

    def _next(self) -> NewToken:
        """The token after all that is not read yet."""
        start = context_start(len(self.token_ids), self.config.max_seq_len)
        if start != self.start or not self.use_cache:
            self.start, self.cache = start, self.cache.empty()
        self.cache = self.cache.ready_for(len(self.token_ids) - start)
        logits, pattern = self._read(self.token_ids[start + self.cache.seen :])
        self._check(is_broken=bool(logits.isnan().any()))
        token_id = choose(logits, self.sampling, self.random)
        devices.synchronize(self.device)
        return self._made(token_id, logits, pattern, self.cache.nbytes() if self.use_cache else 0)

    def _made(
        self, token_id: int, logits: Tensor, pattern: Tensor | None, n_bytes: int
    ) -> NewToken:
        return NewToken(
            token_id=token_id,
            logits=logits,
            pattern=pattern,
            context_start=self.start,
            milliseconds=0.0,
            cache_bytes=n_bytes,
        )

    def _check(self, *, is_broken: bool) -> None:
        if is_broken:
            text = N_("The logits after token {n} are not numbers: check the weights")
            raise ConfigError([Fault(text, {"n": len(self.token_ids)})])

    def _decoded(self, most: int) -> NewToken | None:
        """The next token where it is made of tensors that stay; None where it is not.

        Where these are full all is read anew, once, and the next have room for twice as much.
        """
        if self._decoding is None and self._can_hold:
            self._decoding = self._held()
        if self._decoding is None:
            return None
        if (made := self._decoding.next(most)) is not None:
            return self._told(made)
        self._can_hold, self._decoding = not self._decoding.is_lost, None
        if not self._can_hold:
            devices.free_memory()
        return None

    def _held(self) -> Decoding | None:
        """What goes on from the cache, where there is room for some tokens more."""
        n_read, n_left = self.cache.seen, len(self.token_ids) - self.start - self.cache.seen
        longest = min(self.config.max_seq_len, self.cache.serves_up_to)
        room = min(longest, max(LEAST_HELD, 1 << (2 * n_read - 1).bit_length()))
        if n_read == 0 or n_left != 1 or room < n_read + LEAST_LEFT:
            return None
        cache, self.cache = self.cache, self.cache.empty()
        last = self.token_ids[-1]
        try:
            return Decoding(
                self.model,
                cache,
                last,
                self.sampling,
                self.random,
                room=room,
                is_observed=self.is_observed,
                replace=self.replace,
            )
        except RuntimeError:  # no memory for a second cache
            self._can_hold = False
            return None

    def _told(self, made: Made) -> NewToken:
        """What is shown of it, as soon as it is here."""
        token_id, is_broken = made.reading.read()
        self._check(is_broken=bool(is_broken))
        pattern = None if made.pattern is None else made.pattern[..., : made.n_read]
        n_bytes = kv_cache_bytes(
            self.config, made.logits.itemsize, made.n_read, window_size=self.window_size
        )
        return self._made(int(token_id), made.logits, pattern, n_bytes)

    def _read(self, unread: Sequence[int]) -> tuple[Tensor, Tensor | None]:
        """Logits (vocab_size,) after the last token, and what it read (layer, n_heads, key).

        Of what is read from its beginning, only the weights of the last query are made.
        """
        ids = torch.tensor([unread], device=self.device)
        if not self.is_observed and not self.replace:
            with torch.inference_mode():
                return self._forward(ids)[0, -1], None
        attending = self.config.attention_layers if self.is_observed else ()
        keep, later = set[str](), {"pattern"} if attending else set[str]()
        if self.cache.seen:
            keep, later = later, keep
        seen = record(self._forward, ids, keep=keep, later=later, replace=self.replace)
        if not self.is_observed:
            return seen.output[0, -1], None
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
