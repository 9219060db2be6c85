"""How a token learns where it stands.

Two kinds are added to the input once (sinusoidal, learned); two act inside attention
(RoPE turns queries and keys, ALiBi lowers the scores of distant keys). An encoder–decoder may
also learn what each distance adds to the scores.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.fused import fuses_heads, turned
from blocks.model.kinds import PositionKind, RopeScaling
from blocks.model.start import OnDevice, Start

WAVE_BASE = 10_000.0
N_BUCKETS, LARGEST_DISTANCE = 32, 128
# How often a pair turns within the trained length so that it is kept, or stretched whole.
YARN_FAST, YARN_SLOW = 32, 1
LLAMA3_FAST, LLAMA3_SLOW = 4, 1


def added_position(config: ModelConfig) -> nn.Module:
    """Build the positions added to the input of the model: (batch, seq, d_model) to the same."""
    match config.position.position_kind:
        case PositionKind.SINUSOIDAL:
            return Sinusoidal(config.d_model, sines_first=config.position.sines_first)
        case PositionKind.LEARNED:
            position = config.position
            return Learned(position.max_seq_len, config.d_model, position.position_offset)
        case _:
            return NoPosition()


class NoPosition(nn.Module):
    """x as it is: the order of tokens stays unknown, or another part tells it."""

    def forward(self, x: Tensor, start: Start = 0) -> Tensor:
        """Return what came, any shape."""
        return x


class Sinusoidal(nn.Module):
    """x + PE, the fixed waves of Vaswani et al. 2017, section 3.5."""

    def __init__(self, d_model: int, *, sines_first: bool = False):
        super().__init__()
        self.d_model, self.sines_first = d_model, sines_first

    def forward(self, x: Tensor, start: Start = 0) -> Tensor:
        """Add the wave of each position from `start` on: (batch, seq, d_model)."""
        sines_first = self.sines_first
        n = start.room if isinstance(start, OnDevice) else start + x.shape[-2]
        table = sinusoidal_table(n, self.d_model, x.device, sines_first=sines_first)
        if isinstance(start, OnDevice):
            return x + start.row_of(table).to(x.dtype)
        return x + table[start:].to(x.dtype)


def wave_angles(
    n: int,
    width: int,
    base: float,
    *,
    start: int = 0,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """position · base^(−2i/width), for `n` positions from `start` on: (n, pairs), in radians."""
    positions = torch.arange(n, device=device, dtype=dtype) + start
    return torch.outer(positions, wave_speeds(width, base, device=device, dtype=dtype))


def wave_speeds(
    width: int,
    base: float,
    *,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Return base^(−2i/width): (pairs,), in radians per position."""
    steps = torch.arange(0, width, 2, device=device, dtype=dtype)
    return base ** (-steps / width)


def sinusoidal_table(
    seq_len: int, d_model: int, device: torch.device | str = "cpu", *, sines_first: bool = False
) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(same): (seq, d_model).

    With `sines_first` the same numbers in another order: PE(pos, i) and PE(pos, ⌈d_model/2⌉ + i).
    Of an odd d_model the last sine has no cosine beside it.
    """
    angles = wave_angles(seq_len, d_model, WAVE_BASE, device=device)
    waves = angles.sin(), angles.cos()  # (seq, d_model / 2) each
    if sines_first:
        return torch.cat(waves, dim=-1)[:, :d_model]
    return torch.stack(waves, dim=-1).flatten(1)[:, :d_model]


class Learned(nn.Module):
    """x + a trainable row for each position, as in BERT and GPT-2.

    Of the rows before `offset` nothing is read (BART, OPT: 2).
    """

    def __init__(self, max_seq_len: int, d_model: int, offset: int = 0):
        super().__init__()
        self.offset = offset
        self.weight = nn.Parameter(torch.empty(offset + max_seq_len, d_model))

    def forward(self, x: Tensor, start: Start = 0) -> Tensor:
        """Add the row of each position from `start` on: (batch, seq, d_model)."""
        if isinstance(start, OnDevice):
            return x + start.row_of(self.weight[self.offset :])
        seq_len, max_seq_len = start + x.shape[-2], len(self.weight) - self.offset
        if seq_len > max_seq_len:
            text = N_("seq_len ({seq_len}) exceeds max_seq_len ({max_seq_len}): shorten the input")
            values = {"seq_len": seq_len, "max_seq_len": max_seq_len}
            raise ConfigError([Fault(text, values, {"seq_len": max_seq_len})])
        return x + self.weight[self.offset + start : self.offset + seq_len]


@dataclass(frozen=True)
class Rope:
    """How far each pair of a head is turned: by `speeds` radians per position, times `size`.

    `width`: how many numbers are turned; `base`: the slowest pair turns about 1/base a position.
    `scaling` stretches what was learned on `trained_len` tokens to `factor` times as many;
    `whole_pairs`: see `yarn_ramp`. LongRoPE divides the speeds by `short_factors` or, in texts of
    more than `trained_len` tokens, by `long_factors`. `attention_factor`: see `size`.
    """

    width: int
    base: float = WAVE_BASE
    scaling: RopeScaling = RopeScaling.NONE
    factor: float = 1.0
    trained_len: int = 2048
    whole_pairs: bool = True
    short_factors: tuple[float, ...] = ()
    long_factors: tuple[float, ...] = ()
    attention_factor: float = 0.0

    def angles(
        self,
        n: int,
        *,
        start: int = 0,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> Tensor:
        """position · speed, for `n` positions from `start` on: (n, width / 2), in radians.

        They are the last of their text.
        """
        positions = torch.arange(n, device=device, dtype=dtype) + start
        return torch.outer(positions, self.speeds(start + n, device=device, dtype=dtype))

    def speeds(
        self, n: int = 0, *, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
    ) -> Tensor:
        """base^(−2i/width), stretched, in a text of `n` tokens: (width / 2,), radians per position.

        Linear: all by the factor (Chen et al. 2023). NTK: by a larger base, the slowest by the
        factor (bloc97 2023). YaRN and Llama 3: only pairs that turn seldom within `trained_len`,
        with a ramp between (Peng et al. 2023, eq. 23; Grattafiori et al. 2024, section 3.4.1).
        LongRoPE: each pair by a factor of its own that was searched for, and another in long texts
        (Ding et al. 2024, section 3).
        """
        like: dict[str, Any] = {"device": device, "dtype": dtype}
        plain = wave_speeds(self.width, self.base, **like)
        match self.scaling:
            case RopeScaling.NONE:
                return plain
            case RopeScaling.LINEAR:
                return plain / self.factor
            case RopeScaling.NTK:
                return self._speeds_of_ntk(like)
            case RopeScaling.LONGROPE:
                own = self.long_factors if n > self.trained_len else self.short_factors
                if own:
                    return plain / torch.tensor(own, **like)
                return self._speeds_of_ntk(like) if n > self.trained_len else plain
            case RopeScaling.YARN:
                kept = 1 - self.yarn_ramp(plain)
            case RopeScaling.LLAMA3:
                turns = self.trained_len * plain / (2 * math.pi)
                kept = ((turns - LLAMA3_SLOW) / (LLAMA3_FAST - LLAMA3_SLOW)).clamp(0, 1)
        return kept * plain + (1 - kept) * plain / self.factor

    def _speeds_of_ntk(self, like: dict[str, Any]) -> Tensor:
        """Slow pairs down by a larger base."""
        power = self.width / max(self.width - 2, 1)
        return wave_speeds(self.width, self.base * self.factor**power, **like)

    def yarn_ramp(self, like: Tensor) -> Tensor:
        """0 for pairs that turn often, 1 for those that turn seldom; a ramp between.

        It begins and ends at whole pairs, or just where the turns say.
        """
        low, high = (self.pair_of(turns) for turns in (YARN_FAST, YARN_SLOW))
        if self.whole_pairs:
            low, high = math.floor(low), math.ceil(high)
        first, last = max(low, 0), min(high, self.width - 1)
        pairs = torch.arange(len(like), device=like.device, dtype=like.dtype)
        return ((pairs - first) / max(last - first, 1e-3)).clamp(0, 1)

    def pair_of(self, turns: float) -> float:
        """The pair that turns so often in `trained_len` tokens."""
        per_turn = self.trained_len / (turns * 2 * math.pi)
        return self.width * math.log(per_turn) / (2 * math.log(self.base))

    @property
    def size(self) -> float:
        """Factor on queries and keys.

        YaRN: see `yarn_size`; LongRoPE: √(1 + ln(factor) / ln(trained_len)), as in its
        code. An `attention_factor` stands in their place.
        """
        match self.scaling:
            case RopeScaling.YARN:
                return self.attention_factor or yarn_size(self.factor)
            case RopeScaling.LONGROPE:
                share = math.log(self.factor) / math.log(max(self.trained_len, 2))
                return self.attention_factor or math.sqrt(1 + share)
            case _:
                return 1.0


def yarn_size(factor: float, share: float = 1.0) -> float:
    """0.1 · share · ln(factor) + 1: by how much queries and keys grow in YaRN, eq. 22.

    DeepSeek-V2 and V3 multiply what is turned by the quotient of two such, and scores by the square
    of one (`mscale`, `mscale_all_dim`).
    """
    return 0.1 * share * math.log(factor) + 1


def rope_of(config: ModelConfig, layer: int = 0) -> Rope:
    """That of a layer: local ones may have a base of their own, and are not stretched then."""
    position, is_local = config.position, config.window_of(layer) > 0
    if is_local and position.local_rope_base > 1:
        return Rope(config.rotary_width, position.local_rope_base)
    return Rope(
        config.rotary_width,
        position.rope_base,
        position.rope_scaling,
        position.rope_factor,
        position.rope_trained_len,
        position.yarn_whole_pairs,
        *config.rope_factors,
        position.rope_attention_factor,
    )


class Rotary(nn.Module):
    """RoPE: turn each pair of a query or key by an angle that grows with its position.

    The score of two tokens then depends on their distance only. Su et al. 2021, eq. 34;
    pairs are (i, i + width/2), as in Llama. What a head has beyond `width` stays as it is, as in
    GPT-NeoX (Black et al. 2022, section 2.1).
    """

    def __init__(self, rope: Rope):
        super().__init__()
        with torch.device("cpu"):  # a model may be laid out where nothing has a value
            self.speeds = tuple(rope.speeds().tolist())  # radians per position, a pair each
        self.size = rope.size

    @classmethod
    def of(cls, rope: Rope) -> "Rotary":
        """The one for which it matters how long the text is, or the plain one."""
        return LongRotary(rope) if rope.scaling is RopeScaling.LONGROPE else Rotary(rope)

    def forward(self, x: Tensor, start: Start = 0) -> Tensor:
        """Turn queries or keys at positions from `start` on: (batch, n_heads, seq, d_head)."""
        return self.turned(x, start, self.speeds)

    def turned(self, x: Tensor, start: Start, speeds: tuple[float, ...]) -> Tensor:
        """Turn at these speeds."""
        if isinstance(start, OnDevice):
            whole = turns(_power_of_2(start.room), speeds, self.size, x.device, x.dtype)
            return self.turned_by(x, *map(start.row_of, whole))
        end = start + x.shape[-2]
        cos, sin = turns(_power_of_2(end), speeds, self.size, x.device, x.dtype)
        return self.turned_by(x, cos[start:end], sin[start:end])

    def turned_by(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Turn by the angles of which these are the cosines and sines, (seq, width / 2)."""
        return turned(x, cos, sin) if fuses_heads(x) else turn_pairs(x, cos, sin)


class LongRotary(Rotary):
    """RoPE that turns more slowly as soon as a text is longer than those that were learned from.

    Ding et al. 2024 (LongRoPE), section 3.3, as Phi-3 has it. What was cached of the shorter text
    was turned faster: see `KVCache.ready_for`.
    """

    def __init__(self, rope: Rope):
        super().__init__(rope)
        self.trained_len = rope.trained_len
        with torch.device("cpu"):
            self.long_speeds = tuple(rope.speeds(rope.trained_len + 1).tolist())

    def forward(self, x: Tensor, start: Start = 0) -> Tensor:
        """Turn queries or keys at positions from `start` on: (batch, n_heads, seq, d_head)."""
        end = start.room if isinstance(start, OnDevice) else start + x.shape[-2]
        is_long = end > self.trained_len
        return self.turned(x, start, self.long_speeds if is_long else self.speeds)


def rotate_pairs(x: Tensor, angles: Tensor, size: float = 1.0) -> Tensor:
    """Rotate each pair (i, i + width/2) of x by its angle: (…, seq, d_head) to the same.

    `angles` is (seq, width / 2), in radians; `size` multiplies what is turned. What x has beyond
    `width` stays as it is.
    """
    cos, sin = (size * angles.cos()).to(x.dtype), (size * angles.sin()).to(x.dtype)
    return turn_pairs(x, cos, sin)


def turn_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn each pair (i, i + width/2) of x: (…, seq, d_head) to the same.

    `cos` and `sin` of the angles are (seq, width / 2). What x has beyond `width` stays as it is.
    """
    n_pairs = cos.shape[-1]
    first, second, rest = x[..., :n_pairs], x[..., n_pairs : 2 * n_pairs], x[..., 2 * n_pairs :]
    return torch.cat((first * cos - second * sin, second * cos + first * sin, rest), dim=-1)


@lru_cache(maxsize=16)
def turns(
    n: int, speeds: tuple[float, ...], size: float, device: torch.device, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Cosines and sines for the first `n` positions, computed once for all layers and passes.

    (n, width / 2) each; `size` multiplies them.
    """
    with torch.inference_mode(False):  # may be wanted where gradients are
        positions = torch.arange(n, device=device, dtype=torch.float32)
        angles = torch.outer(positions, torch.tensor(speeds, device=device, dtype=torch.float32))
        return (size * angles.cos()).to(dtype), (size * angles.sin()).to(dtype)


def _power_of_2(n: int) -> int:
    """The least one that is not below n: a text that grows rarely outgrows what was computed."""
    return 1 << (n - 1).bit_length()


def alibi_bias(
    n_heads: int,
    seq_len: int,
    device: torch.device | str = "cpu",
    *,
    n_queries: int | None = None,
    start: Start = 0,
    heads: slice = slice(None),
    some: slice = slice(None),
) -> Tensor:
    """−slope · |query − key|, added to the scores: (n_heads, query, key).

    Press et al. 2021, section 3; the distance is symmetric, so it serves without a causal mask.
    With `n_queries` only the last ones ask, as where keys are cached; or one, from a place that
    the device knows. Of these `some`, in these `heads`.
    """
    positions = torch.arange(seq_len, device=device)
    queries = positions if n_queries is None else positions[seq_len - n_queries :]
    queries = start.place if isinstance(start, OnDevice) else queries[some]
    distance = (queries[:, None] - positions).abs()
    return -_slopes(n_heads, torch.device(device))[heads, None, None] * distance


@lru_cache(maxsize=16)
def _slopes(n_heads: int, device: torch.device) -> Tensor:
    """The slopes of all heads, sent to the device once."""
    with torch.inference_mode(False):  # may be wanted where gradients are
        return torch.tensor(alibi_slopes(n_heads), device=device, dtype=torch.float32)


def alibi_slopes(n_heads: int) -> list[float]:
    """A geometric series from 2^(−8/n) down; between powers of two, every other one of the next."""
    power = 2 ** math.floor(math.log2(n_heads))
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    between = [2 ** (-4 * (i + 1) / power) for i in range(0, 2 * power, 2)]
    return slopes + between[: n_heads - power]


class RelativeBias(nn.Module):
    """A learned bias of the scores at each distance; one table for all layers of a stack.

    Raffel et al. 2019, section 2.1 (T5).
    """

    def __init__(self, n_heads: int, *, is_causal: bool):
        super().__init__()
        self.is_causal = is_causal
        self.weight = nn.Parameter(torch.empty(N_BUCKETS, n_heads))

    def forward(
        self, n_queries: int, n_keys: int, heads: slice = slice(None), some: slice = slice(None)
    ) -> Tensor:
        """Of the last `n_queries` of as many positions as keys, `some`: (n_heads, query, key)."""
        rows = _rows(n_queries, n_keys, self.is_causal, self.weight.device)[some]
        return self.weight[:, heads][rows].permute(2, 0, 1)


@lru_cache(maxsize=4)
def _rows(n_queries: int, n_keys: int, is_causal: bool, device: torch.device) -> Tensor:
    """The row of the table for each query and key, computed once for all layers of a pass."""
    with torch.inference_mode(False):  # may be wanted where gradients are
        positions = torch.arange(n_keys)
        distance = positions - positions[n_keys - n_queries :, None]  # key − query
        return distance_buckets(distance, is_causal=is_causal).to(device)


def distance_buckets(distance: Tensor, *, is_causal: bool) -> Tensor:
    """The row of the table for each distance key − query; any shape to the same.

    Half of the rows are for one distance each, the other half for ranges that grow geometrically
    up to `LARGEST_DISTANCE`. Where keys come after queries too, they have a half of their own.
    """
    n_rows, first = (N_BUCKETS, 0) if is_causal else (N_BUCKETS // 2, N_BUCKETS // 2)
    n_exact = n_rows // 2
    far = (-distance).clamp(min=0) if is_causal else distance.abs()
    share = (far.clamp(min=1) / n_exact).log() / math.log(LARGEST_DISTANCE / n_exact)
    range_row = (n_exact + (share * (n_rows - n_exact)).long()).clamp(max=n_rows - 1)
    return first * (distance > 0) + torch.where(far < n_exact, far, range_row)
