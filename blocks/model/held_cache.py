"""A cache whose tensors stay where they are: each token is read by the same operations."""

import torch
from torch import Tensor

from blocks.model.kv_cache import KVCache, LayerCache, StateCache
from blocks.model.start import OnDevice


class HeldCache:
    """What a `KVCache` has read, with room for a text of `room` tokens, one at a time.

    `seen.place` is the place of the next one. A layer with a window keeps all tokens, too, and
    its mask hides those that have left. Masks are added to the scores, once made for all layers.
    """

    def __init__(self, cache: KVCache, room: int, device: torch.device, dtype: torch.dtype):
        self.seen = OnDevice(torch.full((1,), cache.seen, device=device), room)
        self._places = torch.arange(room, device=device)
        windows = {each.window_size for each in cache.layers}
        self._masks = {each: self._places.new_empty(1, 1, room, dtype=dtype) for each in windows}
        self.layers = tuple(
            HeldState(each)
            if isinstance(each, StateCache)
            else HeldLayer(each, self.seen, self._masks[each.window_size])
            for each in cache.layers
        )
        self._mark()

    def advance(self) -> None:
        """The next token stands one place further."""
        self.seen.place.add_(1)
        self._mark()

    def _mark(self) -> None:
        """What the next token sees, its own place and those before in the window: 0, else −∞."""
        for window, mask in self._masks.items():
            hidden = self._places > self.seen.place
            if window is not None:
                hidden |= self._places <= self.seen.place - window
            mask.zero_().masked_fill_(hidden, -torch.inf)


class HeldLayer:
    """One layer's keys and values, as in a `LayerCache`, each (batch, n_kv_heads, room, d_head)."""

    def __init__(self, cache: LayerCache, seen: OnDevice, mask: Tensor):
        self.seen, self._mask = seen, mask
        assert cache.keys is not None and cache.values is not None
        self.keys, self.values = (
            x.new_zeros(*x.shape[:2], seen.room, x.shape[3]) for x in (cache.keys, cache.values)
        )
        first = cache.seen - cache.n_kept
        for room, kept in ((self.keys, cache.keys), (self.values, cache.values)):
            room[:, :, first : cache.seen] = kept

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Write those of the next token into its place; returns the whole room."""
        for room, new in ((self.keys, keys), (self.values, values)):
            room.index_copy_(2, self.seen.place, new)
        return self.keys, self.values

    def mask(self, n_new: int, device: torch.device | str) -> Tensor:
        """What is added to the scores of the one new token: (1, 1, room)."""
        return self._mask


class HeldState(StateCache):
    """The state of one layer without attention, written over in place."""

    def __init__(self, cache: StateCache):
        super().__init__()
        self.state = tuple(each.clone() for each in cache.state)

    def keep(self, state: tuple[Tensor, ...], n_new: int) -> None:
        """Take the state after one more token."""
        for held, new in zip(self.state, state, strict=True):
            held.copy_(new)
