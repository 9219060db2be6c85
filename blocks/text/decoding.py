"""One token after another from tensors that stay: on CUDA each is one replay of a graph.

The token that was chosen, its place, keys and values never leave the device; what is shown of it
is on its way to us while the next one is made.
"""

from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from blocks.model.held_cache import HeldCache
from blocks.model.kv_cache import KVCache
from blocks.model.models import GPT
from blocks.model.probe import PatternProbe, Probe, Replacement, listening
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

    `replace` does the same at every token. `is_lost`: the device has no memory for it, or cannot
    hold it as a graph, and it ends here.
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
        replace: Mapping[str, Replacement],
    ):
        self.model, self.sampling, self.random = model, sampling, random
        self.replace = replace
        weight = next(model.parameters())
        self.device, self.dtype = weight.device, weight.dtype
        self.is_observed, self.room, self.n_read = is_observed, room, cache.seen
        self.is_lost = False
        self.cache = HeldCache(cache, room, self.device, self.dtype)
        self._ids = torch.full((1, 1), token_id, device=self.device)
        self._chances: Tensor | None = None
        self._drawn = None if sampling.is_greedy else self._drawn_ahead()
        self._under_way: deque[Made] = deque()
        self._again = Again(self.device)

    def next(self, most: int) -> Made | None:
        """The next of at most `most` tokens that are wanted; None where it has come to its end."""
        ahead = min(AHEAD, most) if self._again.is_held else 1
        while len(self._under_way) < ahead and self.n_read < self.room and not self.is_lost:
            self._begin()
        if self._under_way:
            return self._under_way.popleft()
        self._stop_drawing(is_last_used=True)
        return None

    def _begin(self) -> None:
        try:
            self._take_chances()
            self._again(self.step)
        except RuntimeError:
            self._stop_drawing(is_last_used=False)
            self.is_lost = True
            return
        self.n_read += 1
        token_id, is_broken, logits, pattern = self._left
        kept = None if pattern is None else pattern.clone()
        reading = Reading(token_id, is_broken)
        self._under_way.append(Made(self.n_read, reading, logits.clone(), kept))

    def _stop_drawing(self, *, is_last_used: bool) -> None:
        """Whoever goes on draws again what no token was chosen by."""
        if self._drawn is not None:
            self._drawn.put_back(is_last_used=is_last_used)
            self._drawn = None

    def _drawn_ahead(self) -> "_DrawnAhead":
        shape = (self.model.config.vocab_size,)
        return _DrawnAhead(partial(draw_chances, shape, self.dtype, self.random), self.random)

    def _take_chances(self) -> None:
        """Random numbers for the next token, where a graph reads them."""
        if self._drawn is None:
            return
        drawn = self._drawn.take()
        if self._chances is None:
            self._chances = drawn.to(self.device)
        else:
            fill(self._chances, drawn)

    @torch.no_grad()
    def step(self) -> None:
        """Read the token, choose the next, and stand one place further."""
        patterns = _Patterns(self.replace, is_observed=self.is_observed)
        with listening(patterns):
            last = self.model.encode_cached(self._ids, self.cache)
            logits = self.model.unembed_logits(last)[0, -1]
        token_id = chosen(logits, self.sampling, self._chances)
        self._ids.copy_(token_id)
        self.cache.advance()
        pattern = patterns.stacked(logits) if self.is_observed else None
        self._left = token_id, logits.isnan().any(), logits, pattern


class _DrawnAhead:
    """Random numbers for the next token, drawn by a thread of their own while one is made."""

    def __init__(self, draw: Callable[[], Tensor], random: torch.Generator):
        self._draw, self._random = draw, random
        self._thread = ThreadPoolExecutor(1)
        self._begin()

    def _begin(self) -> None:
        self._before = self._random.get_state()
        self._next = self._thread.submit(self._draw)

    def take(self) -> Tensor:
        """Those of the next token; those of the one behind it are begun."""
        drawn, self._before_last = self._next.result(), self._before
        self._begin()
        return drawn

    def put_back(self, *, is_last_used: bool) -> None:
        """As if those that wait, and the last that were taken where nobody used them, were not."""
        self._next.result()
        self._random.set_state(self._before if is_last_used else self._before_last)
        self._thread.shutdown()


class _Patterns:
    """Listens to the attention weights of one token, and replaces what is changed."""

    def __init__(self, replace: Mapping[str, Replacement], *, is_observed: bool) -> None:
        self.replace, self.is_observed = replace, is_observed
        self.found: list[Tensor] = []

    def wants(self, probe: Probe) -> bool:
        """Only these."""
        is_pattern = self.is_observed and isinstance(probe, PatternProbe)
        return is_pattern or probe.path in self.replace

    def see(self, probe: Probe, x: Tensor) -> Tensor:
        """Keep them, and let pass what is to pass."""
        if probe.path in self.replace:
            x = self.replace[probe.path](x)
        if self.is_observed and isinstance(probe, PatternProbe):
            self.found.append(x[0, :, -1])
        return x

    def offered(self, probe: Probe, later: Callable[[], Any]) -> None:
        """Nothing is made later."""

    def stacked(self, like: Tensor) -> Tensor:
        """(n_layers that attend, n_heads, room); of none, no number."""
        return torch.stack(self.found) if self.found else like.new_empty(0, 0, 0)
