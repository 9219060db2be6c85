"""What the roofline says: which operations wait for what, and how near to it they came."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from blocks.cost.device_peak import DevicePeak
from blocks.cost.memory import memory_fault
from blocks.cost.operation_time import measure_operation, needed_bytes
from blocks.cost.operations import Phase, Tokens, operation_sizes, operations
from blocks.cost.pass_time import PassTime, measure_layer, measure_model
from blocks.cost.roofline import (
    Bound,
    as_run,
    batch_at_ridge,
    count_operations,
    estimate_seconds,
    roofline,
    total_seconds,
)
from blocks.cost.sweep import one_layer
from blocks.cost.timing import Place, Times
from blocks.model.config import ModelConfig
from blocks.model.kinds import PositionKind
from blocks.model.layout import pack_weights_for_decoding
from blocks.observe.run import Run

LONGEST_SECONDS = 0.5
ABOUT = 1.1  # nearer to the roof than one measurement is to the next
READ_ONCE = "out_proj"


@dataclass(frozen=True)
class Case:
    """A case to measure: a model, the tokens, the device, the seed."""

    config: ModelConfig
    tokens: Tokens
    place: Place
    seed: int

    @property
    def where(self) -> dict[str, Any]:
        """Device, number format and seed, for what measures."""
        place = self.place
        return {"device": place.device, "dtype": place.torch_dtype, "seed": self.seed}

    def counted(self) -> pd.DataFrame:
        """One row per operation of one layer (see `count_operations`)."""
        return count_operations(self.config, self.tokens, itemsize=self.place.itemsize)

    def fits(self, config: ModelConfig, budget: int) -> bool:
        """Whether a pass of this model fits into so many bytes."""
        shape = {"batch": self.tokens.batch, "seq_len": self.tokens.n}
        dtype = self.place.torch_dtype
        return memory_fault(config, **shape, dtype=dtype, budget=budget) is None


class CountedFacts(NamedTuple):
    """Operations before any is measured; which computes most FLOPs for a byte, and which fewest."""

    rows: pd.DataFrame
    most: str
    high: float
    least: str
    low: float


def counted_facts(rows: pd.DataFrame) -> CountedFacts:
    """Read the ends off the counts of `Case.counted`."""
    found = rows.set_index("operation")["intensity"]
    most, least = str(found.idxmax()), str(found.idxmin())
    return CountedFacts(rows, most, found[most], least, found[least])


class LeftOut(NamedTuple):
    """An operation that is not measured: its estimated seconds, and bytes at most."""

    operation: str
    seconds: float
    n_bytes: int


class WeightRead(NamedTuple):
    """A product that reads its weights for one token a text.

    `batch`: from which on arithmetic is the limit; None where no batch is enough.
    """

    operation: str
    n_bytes: int
    flops: int
    intensity: float
    batch: int | None


@dataclass(frozen=True, eq=False)
class RooflineFacts:
    """The operations of one layer below the roof (`rows`: see `roofline`).

    `budget`: bytes that a measurement may take; what needs more is `left_out`.
    """

    case: Case
    peak: DevicePeak
    budget: int
    rows: pd.DataFrame
    left_out: tuple[LeftOut, ...]
    weight_read: WeightRead | None

    def bound_by(self, bound: Bound) -> list[str]:
        """The operations that wait for this."""
        return self.rows["operation"][self.rows["bound"] == bound].tolist()

    def above(self, bound: Bound) -> list[str]:
        """The operations of this bound that were faster than the roof."""
        is_above = (self.rows["share"] > ABOUT) & (self.rows["bound"] == bound)
        return self.rows["operation"][is_above].tolist()

    @property
    def reach(self) -> tuple[tuple[str, float], ...]:
        """Each operation's share of the roof, ascending, without launch-bound ones."""
        is_below = (self.rows["share"] <= ABOUT) & (self.rows["bound"] != Bound.START)
        below = self.rows[is_below].sort_values("share")
        return tuple(zip(below["operation"], below["share"], strict=True))

    @property
    def is_complete(self) -> bool:
        """Whether every operation was measured."""
        return not self.rows["measured_s"].isna().any()

    @property
    def may_measure_layer(self) -> bool:
        """Whether one layer at once is quick, and fits."""
        is_quick = total_seconds(self.rows, "estimated_s") <= LONGEST_SECONDS
        return is_quick and self.case.fits(one_layer(self.case.config), self.budget)

    @property
    def may_measure_model(self) -> bool:
        """Whether the whole model is quick, and fits.

        An encoder–decoder that reads does so with its encoder too, which is not among the rows;
        nor are dense layers of a mixture.
        """
        config, tokens = self.case.config, self.case.tokens
        reads_source = config.n_decoder_layers and tokens.phase is Phase.PREFILL
        is_learned = config.position.position_kind is PositionKind.LEARNED
        is_too_long = is_learned and tokens.n > config.max_seq_len
        is_quick = self.model_seconds("estimated_s") <= LONGEST_SECONDS
        is_among = not reads_source and not config.n_dense_layers
        may = is_among and not is_too_long and is_quick
        return may and self.case.fits(config, self.budget)

    def model_seconds(self, column: str) -> float:
        """All layers of the stack that is measured, and the logits once."""
        config = self.case.config
        n_layers = config.n_decoder_layers or config.n_layers
        logits = self.rows.loc[self.rows["operation"] == "unembed", column].sum(skipna=False)
        return n_layers * total_seconds(self.rows, column) + float(logits)


def roofline_facts(
    case: Case, peak: DevicePeak, measured: Mapping[str, Times], budget: int
) -> RooflineFacts:
    """Set what was measured beside what the roof allows."""
    rows = roofline(case.counted(), peak, measured)
    refused, read = left_out(case, peak, budget), _weight_read(case, peak, rows)
    return RooflineFacts(case, peak, budget, rows, refused, read)


def left_out(case: Case, peak: DevicePeak, budget: int) -> tuple[LeftOut, ...]:
    """Operations that would take too long, or more bytes than the budget."""
    sizes, itemsize = operation_sizes(case.config, case.tokens), case.place.itemsize
    found = []
    for each in operations(case.config, case.tokens.phase):
        n_bytes = needed_bytes(each, sizes, itemsize=itemsize)
        flops, moved = each.flops.count(sizes), each.moved.count(sizes) * itemsize
        seconds = estimate_seconds(flops, moved, peak)
        if n_bytes > budget or seconds > LONGEST_SECONDS:
            found.append(LeftOut(each.name, seconds, n_bytes))
    return tuple(found)


def _weight_read(case: Case, peak: DevicePeak, rows: pd.DataFrame) -> WeightRead | None:
    """Only while a token is written: of a prompt each weight serves many."""
    if case.tokens.phase is not Phase.DECODE:
        return None
    config, itemsize = case.config, case.place.itemsize
    sides = config.n_heads * config.d_head, config.d_model
    (intensity,) = rows["intensity"][rows["operation"] == READ_ONCE]
    return WeightRead(
        READ_ONCE,
        n_bytes=sides[0] * sides[1] * itemsize,
        flops=2 * sides[0] * sides[1],
        intensity=intensity,
        batch=batch_at_ridge(*sides, itemsize=itemsize, peak=peak),
    )


@dataclass(frozen=True, eq=False)
class LayerFacts:
    """A layer three ways, in seconds: at best, its operations one by one, and whole.

    `parts`: estimated_s and measured_s of each group of operations.
    """

    best: float
    one_by_one: float
    whole: PassTime
    parts: pd.DataFrame

    @property
    def of_best(self) -> float:
        """Measured time of the layer over its estimate."""
        return self.whole.times.median / self.best


def layer_facts(facts: RooflineFacts, whole: PassTime) -> LayerFacts:
    """Sum up the operations of a layer, by what they belong to."""
    rows = as_run(facts.rows)
    rows = rows[rows["operation"] != "unembed"]
    columns = ("estimated_s", "measured_s")
    by_group = rows[[*columns]].mul(rows["times"], axis=0).groupby(rows["group"], sort=False)
    best, one_by_one = (total_seconds(facts.rows, name) for name in columns)
    return LayerFacts(best, one_by_one, whole, by_group.sum())


@dataclass(frozen=True)
class ModelFacts:
    """A whole model three ways, in seconds, and how many tokens it computes a second."""

    best: float
    one_by_one: float
    times: Times
    tokens_per_second: float


def model_facts(facts: RooflineFacts, times: Times) -> ModelFacts:
    """Set a whole model beside the sum of its operations."""
    tokens = facts.case.tokens
    return ModelFacts(
        facts.model_seconds("estimated_s"),
        facts.model_seconds("measured_s"),
        times,
        tokens.batch * tokens.n_new / times.median,
    )


@dataclass(frozen=True)
class OperationSeries:
    """Some operations of a layer, each timed alone."""

    case: Case
    names: tuple[str, ...]
    is_timed: ClassVar[bool] = True

    @property
    def device(self) -> str:
        """The device on which they are timed."""
        return self.case.place.device

    @property
    def n_steps(self) -> int:
        """Number of operations."""
        return len(self.names)

    def results(self, done: Sequence[Times]) -> Iterator[Times]:
        """Yield the measurements one after the other."""
        for name in self.names[len(done) :]:
            yield measure_operation(self.case.config, self.case.tokens, name, **self.case.where)


@dataclass(frozen=True)
class WholeSeries:
    """One layer at once, and then the whole model of a run.

    The model's weights are drawn from its seed: time depends on their shapes, not on their values.
    """

    case: Case
    run: Run | None
    is_timed: ClassVar[bool] = True

    @property
    def device(self) -> str:
        """The device on which they are timed."""
        return self.case.place.device

    @property
    def n_steps(self) -> int:
        """Two where there is a model."""
        return 1 if self.run is None else 2

    def results(self, done: Sequence[PassTime]) -> Iterator[PassTime]:
        """The layer, then the model."""
        case = self.case
        if not done:
            yield measure_layer(case.config, case.tokens, **case.where)
        if self.run is not None and len(done) < self.n_steps:
            model = pack_weights_for_decoding(self.run.build())
            yield measure_model(model, case.config, case.tokens, **case.where)
