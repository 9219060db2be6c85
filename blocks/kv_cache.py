"""Keys and values of the tokens read so far, so that none is computed twice."""

import torch
from torch import Tensor

from blocks.config import ModelConfig


class LayerCache:
    """One layer's keys and values, each (batch, n_kv_heads, key, d_head).

    With a window only what the next token may still see is kept.
    """

    def __init__(self, window_size: int | None = None):
        self.window_size = window_size
        self.seen = 0
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add those of the next tokens; returns all that these tokens may meet."""
        if self.keys is not None and self.values is not None:
            keys = torch.cat((self.keys, keys), dim=2)
            values = torch.cat((self.values, values), dim=2)
        self.seen += keys.shape[2] - self.n_kept
        first = 0 if self.window_size is None else max(0, keys.shape[2] - self.window_size + 1)
        self.keys, self.values = keys[:, :, first:], values[:, :, first:]
        return keys, values

    @property
    def n_kept(self) -> int:
        """Tokens whose keys and values are here."""
        return 0 if self.keys is None else self.keys.shape[2]


class KVCache:
    """The caches of all layers of a model. It belongs to one text and one reader.

    `window_size` is that of a sliding-window mask. Shazeer 2019, section 2.4 (incremental
    decoding).
    """

    def __init__(self, config: ModelConfig, *, window_size: int | None = None):
        self.window_size = window_size
        self.layers = tuple(LayerCache(window_size) for _ in range(config.n_layers))

    @property
    def seen(self) -> int:
        """Tokens read so far."""
        return self.layers[0].seen

    @property
    def n_kept(self) -> int:
        """Tokens whose keys and values are kept."""
        return self.layers[0].n_kept

    def nbytes(self) -> int:
        """Bytes that keys and values take now."""
        tensors = (t for layer in self.layers for t in (layer.keys, layer.values))
        return sum(t.numel() * t.itemsize for t in tensors if t is not None)

    def mask(self, n_new: int, device: torch.device | str) -> Tensor | None:
        """Who may see whom where `n_new` tokens come: (n_new, kept + n_new).

        None where all that is there may be seen: a single token sees all that was kept.
        """
        if n_new == 1:
            return None
        n_keys = self.n_kept + n_new
        mask = torch.ones(n_new, n_keys, dtype=torch.bool, device=device).tril(self.n_kept)
        return mask if self.window_size is None else mask.triu(self.n_kept + 1 - self.window_size)


def kv_cache_bytes_per_token(config: ModelConfig, itemsize: int) -> int:
    """2 · n_layers · n_kv_heads · d_head · bytes: keys and values of one token in all layers."""
    return 2 * config.n_layers * config.n_kv_heads * config.d_head * itemsize
