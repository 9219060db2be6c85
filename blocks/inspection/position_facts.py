"""One kind of positional encoding over some positions: its table, its pairs, how alike they are."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection import position_tables
from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError, Fault
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run

SHOWN_COLUMNS = 256
DEEP_BIAS = 8.0  # it divides a weight by 3,000
LARGEST_EXPONENT = 700
SMOOTH, SAME = 0.25, 1e-3


def kind_fault(config: ModelConfig, kind: PositionKind) -> Fault | None:
    """What forbids this kind for a configuration; RoPE needs heads of even width."""
    try:
        config.replace(position_kind=kind)
    except ConfigError as error:
        return error.faults[0]
    return None


def n_pairs(config: ModelConfig, kind: PositionKind) -> int:
    """How many pairs of features there are to choose from; of ALiBi, heads."""
    match kind:
        case PositionKind.ALIBI:
            return config.n_heads
        case PositionKind.ROPE:
            return config.rotary_width // 2
        case PositionKind.NONE:
            return 0
    return -(-config.d_model // 2)


@dataclass(frozen=True, eq=False)
class KindFacts:
    """How fast the pairs of a kind turn, how far its heads see, or what its table is made of.

    `lengths`: number (of the pair or head, from 0), length (positions for one turn, or until a
    weight halves) and, of ALiBi, slope; `waves`: wavelength, share (of a learned table's
    variance); `rms`: of the table's shown rows.
    """

    config: ModelConfig
    kind: PositionKind
    n: int
    seed: int
    is_trained: bool
    lengths: pd.DataFrame
    waves: pd.DataFrame
    rms: float

    @property
    def is_own_table(self) -> bool:
        """Whether the model has a learned table itself; otherwise one is drawn for show."""
        return self.config.position.position_kind is PositionKind.LEARNED

    @property
    def shortest(self) -> float:
        """The length of the first pair or head, which is the fastest."""
        return float(self.lengths["length"].iloc[0])

    @property
    def longest(self) -> float:
        """The length of the last pair or head, which is the slowest."""
        return float(self.lengths["length"].iloc[-1])

    @property
    def n_within(self) -> int:
        """How many turn once, or halve a weight, within the positions."""
        return int((self.lengths["length"] <= self.n).sum())

    @property
    def n_beyond(self) -> int:
        """How many do not."""
        return len(self.lengths) - self.n_within

    @property
    def slow(self) -> float:
        """The wavelength from which on a wave of a learned table counts as slow."""
        return self.n / 4

    @property
    def slow_share(self) -> float:
        """The share of the table's variance that slow waves hold."""
        return float(self.waves["share"][self._is_slow].sum())

    @property
    def slow_share_of_noise(self) -> float:
        """The share that slow waves would hold if the table were noise."""
        return float(self._is_slow.mean())

    @property
    def is_smooth(self) -> bool:
        """Whether neighbouring rows are alike."""
        return self.slow_share > self.slow_share_of_noise + SMOOTH

    @property
    def _is_slow(self) -> "pd.Series[bool]":
        return self.waves["wavelength"] >= self.slow


def kind_facts(run: Run, kind: PositionKind, n: int, learned: Tensor) -> KindFacts:
    """A kind in a run's configuration; `learned`: its table, or one that is drawn for show."""
    config, nothing = run.config, pd.DataFrame()
    lengths, waves, rms = nothing, nothing, 0.0
    match kind:
        case PositionKind.LEARNED:
            waves = position_tables.spectrum(learned[:n])
            rms = learned[:n].float().square().mean().sqrt().item()
        case PositionKind.ALIBI:
            names = {"head": "number", "half_distance": "length"}
            lengths = position_tables.half_distances(config).rename(columns=names)
        case PositionKind.SINUSOIDAL | PositionKind.ROPE:
            names = {"pair": "number", "wavelength": "length"}
            lengths = position_tables.wavelengths(config, kind, n).rename(columns=names)
    return KindFacts(config, kind, n, run.seed, bool(run.weights), lengths, waves, rms)


@dataclass(frozen=True, eq=False)
class TableFacts:
    """What a kind makes of each position, a row each: of ALiBi for the query at `position`.

    `columns`: which of `width` columns `values` has, of sinusoidal all sines first; `chosen`: those
    of one pair; `most`: the value with the full colour; `labels`: the tokens of the run;
    `sines_first`: whether features are numbered so too.
    """

    kind: PositionKind
    values: NDArray[np.float32]
    columns: tuple[int, ...]
    width: int
    position: int
    chosen: tuple[int, ...]
    most: float
    labels: tuple[str, ...]
    sines_first: bool = False

    @property
    def n(self) -> int:
        """How many positions there are."""
        return len(self.values)

    @property
    def deepest(self) -> float:
        """The bias that has ALiBi's deepest colour."""
        return -self.most

    @property
    def divided_by(self) -> float:
        """The factor by which the deepest bias divides a weight."""
        return math.exp(self.most)


def table_facts(
    run: Run, kind: PositionKind, n: int, learned: Tensor, *, position: int, pair: int
) -> TableFacts:
    """The table of a kind; of very many columns evenly chosen pairs."""
    table = position_tables.position_table(run.config, kind, n, query=position, learned=learned)
    columns = shown_columns(table.shape[1], in_pairs=kind.is_added)
    is_of_waves = kind is PositionKind.SINUSOIDAL
    sines_first = is_of_waves and run.config.position.sines_first
    if is_of_waves:
        columns = tuple(sorted(columns, key=lambda column: column % 2))
    chosen = columns_of(kind, pair)
    if sines_first:
        columns, chosen = (_with_sines_first(each, table.shape[1]) for each in (columns, chosen))
    values = table.numpy()[:, list(columns)]
    largest = float(abs(values).max())
    most = {PositionKind.ALIBI: min(largest, DEEP_BIAS), PositionKind.LEARNED: largest}.get(
        kind, 1.0
    )
    width, labels = table.shape[1], run.input.labels
    return TableFacts(kind, values, columns, width, position, chosen, most, labels, sines_first)


def _with_sines_first(columns: tuple[int, ...], width: int) -> tuple[int, ...]:
    """Where features that alternate between sine and cosine stand when all sines come first."""
    return tuple(column // 2 + column % 2 * -(-width // 2) for column in columns)


def pair_of(config: ModelConfig, kind: PositionKind, column: int) -> int:
    """The pair that a column of the table belongs to."""
    if kind is PositionKind.SINUSOIDAL and config.position.sines_first:
        return column % -(-config.d_model // 2)
    return column // 2 if kind.is_added else column


def shown_columns(width: int, *, in_pairs: bool) -> tuple[int, ...]:
    """All columns, or about `SHOWN_COLUMNS` of them, evenly chosen, pairs kept together."""
    size = 2 if in_pairs else 1
    groups = -(-width // size)
    step = -(-groups * size // SHOWN_COLUMNS)
    chosen = (group * size + i for group in range(0, groups, step) for i in range(size))
    return tuple(column for column in chosen if column < width)


def columns_of(kind: PositionKind, pair: int) -> tuple[int, ...]:
    """The columns of the table that belong to a pair; of ALiBi and RoPE each stands for itself."""
    return (2 * pair, 2 * pair + 1) if kind.is_added else (pair,)


@dataclass(frozen=True, eq=False)
class PairFacts:
    """What one pair (of ALiBi: one head) says at each position, and at one of them.

    `curves`: position (from 0), first and, where there is one, second; `length`: positions for one
    turn (NaN where it does not turn); `slope`: of ALiBi.
    """

    kind: PositionKind
    pair: int
    position: int
    curves: pd.DataFrame
    length: float
    slope: float

    @property
    def here(self) -> tuple[float, ...]:
        """The values at the position."""
        row = self.curves.iloc[self.position]
        return tuple(float(row[name]) for name in ("first", "second") if name in self.curves)

    @property
    def turns(self) -> float:
        """How often the pair has turned there."""
        return self.position / self.length

    @property
    def farthest(self) -> int:
        """How many tokens away the farthest key is from a query there."""
        return max(self.position, len(self.curves) - 1 - self.position)

    @property
    def loss(self) -> float:
        """What that key's score loses."""
        return self.slope * self.farthest

    @property
    def divided_by(self) -> float:
        """The factor by which that loss divides the key's weight."""
        return math.exp(min(self.loss, LARGEST_EXPONENT))


def pair_facts(
    run: Run, kind: PositionKind, n: int, learned: Tensor, *, position: int, pair: int
) -> PairFacts:
    """One pair of features at every position, or one head of ALiBi."""
    config, length, slope = run.config, math.nan, math.nan
    if kind is PositionKind.ALIBI:
        table = position_tables.position_table(config, kind, n, query=position, learned=learned)
        rows = table[:, pair : pair + 1]
        slope = float(position_tables.half_distances(config)["slope"].iloc[pair])
    else:
        rows = position_tables.place_codes(config, kind, n, learned)[:, 2 * pair : 2 * pair + 2]
    if kind in (PositionKind.SINUSOIDAL, PositionKind.ROPE):
        length = float(position_tables.wavelengths(config, kind, n)["wavelength"].iloc[pair])
    named = zip(("first", "second"), rows.T.numpy(), strict=False)
    curves = pd.DataFrame({"position": range(len(rows)), **dict(named)})
    return PairFacts(kind, pair, position, curves, length, slope)


@dataclass(frozen=True, eq=False)
class LikenessFacts:
    """How alike two positions are by their distance: distance, mean, least, most.

    The cosine of what is added; of RoPE the score of a random vector with itself, within one
    standard deviation, and `expected` by formula; of ALiBi no rows but the `slopes` of its heads.
    """

    kind: PositionKind
    n: int
    seed: int
    table: pd.DataFrame
    slopes: tuple[float, ...] = ()

    @property
    def farthest(self) -> int:
        """The largest distance."""
        return self.n - 1

    @property
    def near(self) -> float:
        """The mean of neighbours."""
        return float(self.table["mean"].iloc[1])

    @property
    def far(self) -> float:
        """The mean of the two positions that are farthest apart."""
        return float(self.table["mean"].iloc[-1])

    @property
    def half_at(self) -> int | None:
        """The first distance at which the mean is below a half."""
        below = self.table.index[self.table["mean"] < 0.5]
        return int(below[0]) if len(below) else None

    @property
    def width(self) -> float:
        """How far pairs at equal distance differ."""
        return float((self.table["most"] - self.table["least"]).max())

    @property
    def is_of_distance_alone(self) -> bool:
        """Whether pairs at equal distance are equally similar."""
        return self.width < SAME

    def loss(self, head: int) -> float:
        """The amount by which an ALiBi head lowers a score at the largest distance."""
        return self.slopes[head] * self.farthest


def likeness_facts(run: Run, kind: PositionKind, n: int, learned: Tensor) -> LikenessFacts:
    """How alike `n` positions of a kind are."""
    table, slopes = pd.DataFrame(), ()
    match kind:
        case PositionKind.ALIBI:
            slopes = tuple(position_tables.half_distances(run.config)["slope"])
        case PositionKind.ROPE:
            table = position_tables.rope_similarity(run.config, n, run.seed)
            low, high = table["mean"] - table["std"], table["mean"] + table["std"]
            table = table.assign(least=low, most=high)
        case _:
            table = position_tables.by_distance(similarity(run, kind, n, learned))
    return LikenessFacts(kind, n, run.seed, table, slopes)


def similarity(run: Run, kind: PositionKind, n: int, learned: Tensor) -> Tensor:
    """The cosine of what is added at every two positions: (n, n)."""
    rows = position_tables.position_table(run.config, kind, n, learned=learned)
    return position_tables.similarity(rows)
