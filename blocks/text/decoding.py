"""One token after another from tensors that stay: on CUDA each is one replay of a graph.

The token that was chosen, its place, keys and values never leave the device; what is shown of it
is on its way to us while the next one is made.
"""

from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor

from blocks.model.held_cache import HeldCache
from blocks.model.kv_cache import KVCache
from blocks.model.models import GPT
from blocks.model.probe import PatternProbe, Probe, listening
from blocks.observe.captured import Again, fill
from blocks.observe.reading import Reading
from blocks.text.sampling import SamplingConfig, chosen, draw_chances

AHEAD = 2  # tokens that are under way at once: one is read, one is made


class Made(NamedTuple):
    """A token that was made, after `n_read` tokens were read.

    `reading`: its id, and whether a logit is no number; `logits`: (vocab_size,); `pattern`:
    (n_layers, n_heads, room), or None.
    """

    n_read: int
    reading: Reading
    logits: Tensor
    pattern: Tensor | None


class Decoding:
    """Goes on with a text that a cache has read, up to `room` tokens; `token_id` comes next.

    `is_lost`: the device has no memory for it, or cannot hold it as a graph, and it ends here.
    """

    def __init__(
        self,
        model: GPT,
        cache: KVCache,
        token_id: int,
        sampling: SamplingConfig,
        random: torch.Generator,
        *,
        room: int,
        is_observed: bool,
    ):
        self.model, self.sampling, self.random = model, sampling, random
        weight = next(model.parameters())
        self.device, self.dtype = weight.device, weight.dtype
        self.is_observed, self.room, self.n_read = is_observed, room, cache.seen
        self.is_lost = False
        self.cache = HeldCache(cache, room, self.device, self.dtype)
        self._ids = torch.full((1, 1), token_id, device=self.device)
        self._chances: Tensor | None = None
        self._under_way: deque[Made] = deque()
        self._again = Again(self.device)

    def next(self, most: int) -> Made | None:
        """The next of at most `most` tokens that are wanted; None where it has come to its end."""
        ahead = min(AHEAD, most) if self._again.is_held else 1
        while len(self._under_way) < ahead and self.n_read < self.room and not self.is_lost:
            self._begin()
        return self._under_way.popleft() if self._under_way else None

    def _begin(self) -> None:
        before = self.random.get_state()
        try:
            self._draw()
            self._again(self.step)
        except RuntimeError:
            self.random.set_state(before)  # what was drawn is drawn again, by whoever goes on
            self.is_lost = True
            return
        self.n_read += 1
        token_id, is_broken, logits, pattern = self._left
        kept = None if pattern is None else pattern.clone()
        reading = Reading(token_id, is_broken)
        self._under_way.append(Made(self.n_read, reading, logits.clone(), kept))

    def _draw(self) -> None:
        """Random numbers for the next token, where a graph reads them."""
        if self.sampling.is_greedy:
            return
        drawn = draw_chances((self.model.config.vocab_size,), self.dtype, self.random)
        if self._chances is None:
            self._chances = drawn.to(self.device)
        else:
            fill(self._chances, drawn)

    @torch.no_grad()
    def step(self) -> None:
        """Read the token, choose the next, and stand one place further."""
        patterns = _Patterns()
        with listening(patterns) if self.is_observed else nullcontext():
            last = self.model.encode_cached(self._ids, self.cache)
            logits = self.model.unembed_logits(last)[0, -1]
        token_id = chosen(logits, self.sampling, self._chances)
        self._ids.copy_(token_id)
        self.cache.advance()
        pattern = patterns.stacked(logits) if self.is_observed else None
        self._left = token_id, logits.isnan().any(), logits, pattern


class _Patterns:
    """Listens to the attention weights of one token."""

    def __init__(self) -> None:
        self.found: list[Tensor] = []

    def wants(self, probe: Probe) -> bool:
        """Only these."""
        return isinstance(probe, PatternProbe)

    def see(self, probe: Probe, x: Tensor) -> Tensor:
        """Keep them, and let them pass."""
        if isinstance(probe, PatternProbe):
            self.found.append(x[0, :, -1])
        return x

    def offered(self, probe: Probe, later: Callable[[], Any]) -> None:
        """Nothing is made later."""

    def stacked(self, like: Tensor) -> Tensor:
        """(n_layers that attend, n_heads, room); of none, no number."""
        return torch.stack(self.found) if self.found else like.new_empty(0, 0, 0)
