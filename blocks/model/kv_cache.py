"""Keys and values of the tokens read so far, so that none is computed twice."""

import math
import sys
from dataclasses import dataclass

import torch
from torch import Tensor

from blocks.model.config import CONV_WIDTH, ModelConfig
from blocks.model.kinds import PositionKind, RopeScaling, TokenMixer
from blocks.model.masks import shared_causal

LEAST_ROOM = 64


class LayerCache:
    """One layer's keys and values, each (batch, n_kv_heads, key, d_head).

    In latent attention they are its latent vectors and rotary keys, each of one head.

    With a window only what the next token may still see is kept. Room is made for more tokens
    than there are, so that a new one is written beside the others and nothing is copied.
    """

    def __init__(self, window_size: int | None = None):
        self.window_size = window_size
        self.seen = 0
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        self._room: tuple[Tensor, Tensor] | None = None
        self._end = 0

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add those of the next tokens; returns all that these tokens may meet."""
        n_kept, n_new = self.n_kept, keys.shape[2]
        room = self._room_for((keys, values), n_new)
        start, self._end = self._end, self._end + n_new
        for place, new in zip(room, (keys, values), strict=True):
            place[:, :, start : self._end] = new
        self.seen += n_new
        met = tuple(place[:, :, start - n_kept : self._end] for place in room)
        first = self._n_forgotten(n_kept + n_new)
        self.keys, self.values = (each[:, :, first:] for each in met)
        return met[0], met[1]

    def _room_for(self, like: tuple[Tensor, Tensor], n_new: int) -> tuple[Tensor, Tensor]:
        """Buffers with room for `n_new` more keys and values; doubled when full."""
        if self._room is None or self._end + n_new > self._room[0].shape[2]:
            n_kept = self.n_kept
            n_room = max(LEAST_ROOM, 2 * (n_kept + n_new))
            keys, values = (x.new_empty(*x.shape[:2], n_room, x.shape[3]) for x in like)
            self._room = keys, values
            if self.keys is not None and self.values is not None:
                for place, kept in zip(self._room, (self.keys, self.values), strict=True):
                    place[:, :, :n_kept] = kept
            self._end = n_kept
        return self._room

    def _n_forgotten(self, n_keys: int) -> int:
        """Count the tokens that have left the window of the next one."""
        return 0 if self.window_size is None else max(0, n_keys - self.window_size + 1)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors that are kept."""
        return _there(self.keys, self.values)

    @property
    def n_kept(self) -> int:
        """Tokens whose keys and values are here."""
        return 0 if self.keys is None else self.keys.shape[2]

    def mask(self, n_new: int, device: torch.device | str) -> Tensor | None:
        """Return the mask for `n_new` new tokens: (n_new, kept + n_new).

        None where all that is there may be seen: a single token sees all that was kept.
        """
        if n_new == 1:
            return None
        if self.n_kept == 0 and self.window_size is None:
            return shared_causal(n_new, torch.device(device))
        n_keys = self.n_kept + n_new
        mask = torch.ones(n_new, n_keys, dtype=torch.bool, device=device).tril(self.n_kept)
        return mask if self.window_size is None else mask.triu(self.n_kept + 1 - self.window_size)

    def choose_rows(self, rows: Tensor) -> None:
        """Go on with these rows of the batch, some of them more than once."""
        if self._room is None or self.keys is None or self.values is None:
            return
        first = self._end - self.n_kept
        keys, values = self._room = self._room[0][rows], self._room[1][rows]
        self.keys, self.values = (each[:, :, first : self._end] for each in (keys, values))


def _there(*tensors: Tensor | None) -> tuple[Tensor, ...]:
    return tuple(each for each in tensors if each is not None)


@dataclass
class CrossCache:
    """One layer's keys and values of the encoder's output, computed once.

    Each (batch, n_kv_heads, source, d_head), or None before the first token.
    """

    keys: Tensor | None = None
    values: Tensor | None = None

    def keep(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Take them in; returns what is read from here on."""
        self.keys, self.values = keys, values
        return keys, values

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors that are kept."""
        return _there(self.keys, self.values)


class StateCache:
    """What one layer without attention keeps of all tokens read so far: its `state`.

    Tensors with the batch first, none before the first token; they never grow.
    """

    window_size = None
    n_kept = 0

    def __init__(self) -> None:
        self.seen = 0
        self.state: tuple[Tensor, ...] = ()

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors that are kept."""
        return self.state

    def keep(self, state: tuple[Tensor, ...], n_new: int) -> None:
        """Take the state after `n_new` more tokens in the place of the one before."""
        self.state, self.seen = state, self.seen + n_new

    def mask(self, n_new: int, device: torch.device | str) -> None:
        """None: nobody looks at another token."""

    def choose_rows(self, rows: Tensor) -> None:
        """Go on with these rows of the batch, some of them more than once."""
        self.state = tuple(each[rows] for each in self.state)


Cache = LayerCache | StateCache


class KVCache:
    """The caches of all layers of a model, or their states. It belongs to one text and one reader.

    `window_size` is that of a sliding-window mask; a local layer keeps no more than its own window.
    `cross` is empty where there is no encoder. Shazeer 2019, section 2.4 (incremental decoding).
    """

    def __init__(self, config: ModelConfig, *, window_size: int | None = None):
        self.config, self.window_size = config, window_size
        n_decoder_layers = config.n_decoder_layers
        windows = layer_windows(config, window_size)
        self.layers: tuple[Cache, ...] = tuple(
            LayerCache(window) if config.attends_in(layer) else StateCache()
            for layer, window in enumerate(windows)
        )
        self.cross = tuple(CrossCache() for _ in range(n_decoder_layers))

    @property
    def seen(self) -> int:
        """Tokens read so far."""
        return self.layers[0].seen

    @property
    def n_kept(self) -> int:
        """Tokens whose keys and values are kept, in the layer that sees farthest."""
        return max(layer.n_kept for layer in self.layers)

    @property
    def serves_up_to(self) -> int:
        """Longest text, in tokens, that may be read on with it."""
        position = self.config.position
        is_rope = position.position_kind is PositionKind.ROPE
        is_long_rope = is_rope and position.rope_scaling is RopeScaling.LONGROPE
        is_short = is_long_rope and self.seen <= position.rope_trained_len
        return position.rope_trained_len if is_short else sys.maxsize

    def ready_for(self, n: int) -> "KVCache":
        """The cache with which a text of `n` tokens is read on.

        Another one, empty but for what was read of a source, where LongRoPE turns so long a text
        otherwise than what was cached: it has to be read again, once.
        """
        if self.seen == 0 or n <= self.serves_up_to:
            return self
        anew = self.empty()
        anew.cross = self.cross
        return anew

    def empty(self) -> "KVCache":
        """One of the same kind that has read nothing."""
        return KVCache(self.config, window_size=self.window_size)

    def nbytes(self) -> int:
        """Bytes that the keys and values of the kept tokens take, or the states."""
        tensors = (t for cache in (*self.layers, *self.cross) for t in cache.tensors)
        return sum(t.numel() * t.itemsize for t in tensors)

    def choose_rows(self, rows: Tensor) -> None:
        """Go on with these rows of the batch; what was read of one source serves all of them."""
        for layer in self.layers:
            layer.choose_rows(rows)
        for cross in self.cross:
            if cross.keys is not None and cross.values is not None and len(cross.keys) > 1:
                cross.keys, cross.values = cross.keys[rows], cross.values[rows]


def layer_windows(config: ModelConfig, window_size: int | None = None) -> tuple[int | None, ...]:
    """Return the window of each layer that has a cache, in tokens; None where it sees all.

    `window_size` is that of a mask for all of them.
    """
    n_layers = config.n_decoder_layers or config.n_layers
    both = ((config.window_of(layer) or None, window_size) for layer in range(n_layers))
    return tuple(min(filter(None, each), default=None) for each in both)


def kv_cache_bytes(
    config: ModelConfig, itemsize: int, n: int, *, window_size: int | None = None
) -> int:
    """2 · n_kv_heads · d_head · bytes for each token that each layer keeps of a text of n.

    A local layer keeps at most its window less one: the next token brings its own. A layer without
    attention keeps its state, as many numbers after one token as after all.
    """
    n_layers = config.n_decoder_layers or config.n_layers
    n_attending = n_layers - config.n_mixer_layers
    n_local, window = config.n_local(n_layers), config.local_window
    in_global, in_local = _n_kept(n, window_size), _n_kept(n, window_size, window)
    n_kept = (n_attending - n_local) * in_global + n_local * in_local
    states = state_bytes(config, itemsize) if n else 0
    return states + n_kept * _bytes_of_a_layer(config, itemsize)


def _n_kept(n: int, *windows: int | None) -> int:
    """Count the tokens of n that are kept where these windows (None or 0: none) hold."""
    return min((n, *(window - 1 for window in windows if window)))


def kv_cache_bytes_per_token(config: ModelConfig, itemsize: int) -> int:
    """2 · n_layers · n_kv_heads · d_head · bytes: keys and values of one token in all layers.

    Of an encoder–decoder it is the layers of the decoder that keep them. In latent attention
    n_layers · (d_kv_latent + d_rotary) · bytes (DeepSeek-V2, table 1). What a local layer lets go
    of later is in `kv_cache_bytes`; in a layer without attention a token takes nothing.
    """
    n_layers = config.n_decoder_layers or config.n_layers
    return (n_layers - config.n_mixer_layers) * _bytes_of_a_layer(config, itemsize)


def state_bytes(config: ModelConfig, itemsize: int) -> int:
    """Count the bytes of the states of one text, however long it is.

    The matrices of a gated delta rule are float32 at least.
    """
    if not config.n_mixer_layers:
        return 0
    vectors, *matrices = map(math.prod, state_shapes(config))
    of_one = vectors * itemsize + sum(matrices) * max(itemsize, torch.float32.itemsize)
    return config.n_mixer_layers * of_one


def state_shapes(config: ModelConfig) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of a layer's state for one text; none where layers attend.

    A GRU keeps h; a gated delta rule what its short convolution still has to see of queries, keys
    and values, and a matrix for each head.
    """
    match config.token_mixer:
        case TokenMixer.ATTENTION:
            return ()
        case TokenMixer.GRU:
            return ((config.d_model,),)
        case TokenMixer.GATED_DELTA:
            seen = config.d_conv, CONV_WIDTH - 1
            return seen, (config.n_state_heads, config.d_state, config.d_state)


def _bytes_of_a_layer(config: ModelConfig, itemsize: int) -> int:
    """Count the bytes that a layer keeps of one token."""
    if config.is_latent:
        return config.d_cached * itemsize
    return 2 * config.n_kv_heads * config.d_head * itemsize
