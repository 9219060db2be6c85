"""A KV cache of a few bits a number: keys and values rounded as they are kept.

Liu et al. 2024, "KIVI: A Tuning-Free Asymmetric 2bit Quantization for KV Cache": a grid for each
channel of the keys, over a group of tokens, and a grid for each token of the values; the newest
tokens stay as they are. What is kept here are the values of the grid, in float32: the bytes are
those of a formula, of codes without a bit to spare and grids in half precision.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from torch import Tensor

from blocks.efficiency.quantization import BITS, Granularity, Quantization, quantize
from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError
from blocks.model.kv_cache import CrossCache, KVCache, LayerCache, layer_windows
from blocks.training.bounds import Bounds, bound_faults

BOUNDS: Bounds = {"n_bits": (BITS[0], BITS[-1]), "group_size": (2, 1024), "n_recent": (0, 4096)}
HALF, GRID_BYTES = 2, 4  # bytes of a number in half precision; of a scale with its zero point


class CacheAxis(StrEnum):
    """Which numbers of keys and of values share a grid."""

    TOKEN = "token"
    CHANNEL = "channel"
    KIVI = "kivi"

    @property
    def is_by_channel(self) -> tuple[bool, bool]:
        """Whether keys, and whether values, have a grid per channel."""
        return self is not CacheAxis.TOKEN, self is CacheAxis.CHANNEL


@dataclass(frozen=True, kw_only=True)
class CacheRounding:
    """How a cache is kept: `group_size` tokens share the grid of a channel.

    By token a grid serves one token in one head. The last `n_recent` tokens stay as they are, and
    so do those of a group of tokens that is not full yet. Raises `ConfigError`.
    """

    n_bits: int = 4
    axis: CacheAxis = CacheAxis.KIVI
    group_size: int = 8
    n_recent: int = 0

    def __post_init__(self) -> None:
        usual = {name: getattr(CacheRounding, name) for name in BOUNDS}
        values = {name: getattr(self, name) for name in BOUNDS}
        if faults := [*bound_faults(values, usual, BOUNDS)]:
            raise ConfigError(faults)

    def n_rounded(self, n: int, *, by_channel: bool) -> int:
        """How many of the first tokens are rounded once there are n."""
        n_old = max(0, n - self.n_recent)
        return n_old - n_old % self.group_size if by_channel else n_old

    def rounded(self, x: Tensor, *, by_channel: bool) -> Tensor:
        """The values of the grid for keys or values (batch, n_kv_heads, token, d_head).

        By channel there are whole groups of tokens.
        """
        grouped = x.unflatten(2, (-1, self.group_size)).mT if by_channel else x
        grid = Quantization(n_bits=self.n_bits, granularity=Granularity.CHANNEL, symmetric=False)
        rows = quantize(grouped.flatten(0, -2), grid).values().view(grouped.shape)
        return (rows.mT.flatten(2, 3) if by_channel else rows).to(x.dtype)

    def n_bytes(self, n_kept: int, n_rounded: int, d_head: int, *, by_channel: bool) -> int:
        """Bytes of the keys, or of the values, of one head: `n_kept` tokens, some rounded."""
        n_grids = d_head * -(-n_rounded // self.group_size) if by_channel else n_rounded
        codes = -(-n_rounded * d_head * self.n_bits // 8)
        return codes + GRID_BYTES * n_grids + HALF * (n_kept - n_rounded) * d_head


class RoundedLayer(LayerCache):
    """The cache of a layer whose older keys and values are rounded, each of them once."""

    def __init__(self, how: CacheRounding, window_size: int | None):
        super().__init__(window_size)
        self.how, self._n_rounded = how, [0, 0]

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add those of the next tokens; what these tokens meet is what is kept."""
        met = super().extend(keys, values)
        for i, (place, by_channel) in enumerate(zip(met, self.how.axis.is_by_channel, strict=True)):
            first = self.seen - place.shape[2]
            start = max(self._n_rounded[i], first)
            start += -start % self.how.group_size if by_channel else 0
            self._n_rounded[i] = self.how.n_rounded(self.seen, by_channel=by_channel)
            if start < self._n_rounded[i]:
                old = place[:, :, start - first : self._n_rounded[i] - first]
                old.copy_(self.how.rounded(old, by_channel=by_channel))
        return met


class RoundedCross(CrossCache):
    """Keys and values of the source, rounded before they are first read."""

    def __init__(self, how: CacheRounding):
        super().__init__()
        self.how = how

    def keep(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Take them in as they are kept."""
        pairs = zip((keys, values), self.how.axis.is_by_channel, strict=True)
        kept = (self._kept(each, by_channel=by_channel) for each, by_channel in pairs)
        return super().keep(*kept)

    def _kept(self, x: Tensor, *, by_channel: bool) -> Tensor:
        n = self.how.n_rounded(x.shape[2], by_channel=by_channel)
        if n:
            x = x.clone()
            x[:, :, :n] = self.how.rounded(x[:, :, :n], by_channel=by_channel)
        return x


class RoundedCache(KVCache):
    """A cache of all layers of a model, rounded; a local layer has a window that groups fill."""

    def __init__(self, config: ModelConfig, how: CacheRounding, *, window_size: int | None = None):
        super().__init__(config, window_size=window_size)
        windows = layer_windows(config, window_size)
        self.how = how
        self.layers = self.own = tuple(RoundedLayer(how, each) for each in windows)
        self.cross = tuple(RoundedCross(how) for _ in self.cross)

    def empty(self) -> "RoundedCache":
        """One of the same kind that has read nothing."""
        return RoundedCache(self.config, self.how, window_size=self.window_size)

    @property
    def rounded(self) -> tuple[LayerCache | CrossCache, ...]:
        """All that is kept rounded."""
        return (*self.own, *self.cross)

    def nbytes(self) -> int:
        """Bytes by the formula: codes, grids in half precision, and what is not rounded yet."""
        return sum(self._parts())

    def _parts(self) -> Iterator[int]:
        for cache in self.rounded:
            for x, by_channel in zip(
                (cache.keys, cache.values), self.how.axis.is_by_channel, strict=True
            ):
                if x is None:
                    continue
                batch, n_heads, n_kept, d_head = x.shape
                n_seen = cache.seen if isinstance(cache, LayerCache) else n_kept
                n_old = self.how.n_rounded(n_seen, by_channel=by_channel)
                n_rounded = max(0, n_kept - (n_seen - n_old))
                head = self.how.n_bytes(n_kept, n_rounded, d_head, by_channel=by_channel)
                yield batch * n_heads * head
