"""What roofline shows, measured."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import pandas as pd

from blocks.cost import device_peak as peaks
from blocks.cost import roofline
from blocks.cost.device_peak import Bandwidth, DevicePeak, MatmulRate, Traffic
from blocks.cost.memory import memory_fault
from blocks.cost.operation_time import measure_operation, needed_bytes
from blocks.cost.operations import Phase, Tokens, operation_sizes, operations
from blocks.cost.pass_time import PassTime, measure_layer, measure_model
from blocks.cost.sweep import one_layer
from blocks.cost.timing import Place, Times
from blocks.model import devices
from blocks.model.config import ModelConfig
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.ui import cached
from pages.ui.settings import memory_budget

LONGEST_SECONDS = 0.5


class Case(NamedTuple):
    """What is measured: a model, what goes through, where."""

    config: ModelConfig
    tokens: Tokens
    place: Place
    seed: int

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        return devices.DTYPES[self.place.dtype].itemsize

    @property
    def where(self) -> dict[str, Any]:
        """Device, number format and seed, for what measures."""
        dtype = devices.DTYPES[self.place.dtype]
        return {"device": self.place.device, "dtype": dtype, "seed": self.seed}


@lru_cache(maxsize=32)
def measured_counted(config: ModelConfig, tokens: Tokens, itemsize: int) -> pd.DataFrame:
    """One row an operation of one layer: FLOPs, bytes, intensity; exact."""
    return roofline.count_operations(config, tokens, itemsize=itemsize)


@lru_cache(maxsize=512)
def operation_times(case: Case, name: str) -> Times:
    """One operation, alone."""
    with cached.turn(case.place.device):
        return measure_operation(case.config, case.tokens, name, **case.where)


@lru_cache(maxsize=64)
def layer_time(case: Case) -> PassTime:
    """One layer at once."""
    with cached.turn(case.place.device):
        return measure_layer(case.config, case.tokens, **case.where)


@lru_cache(maxsize=32)
def model_time(case: Case, run: Run) -> PassTime:
    """The whole model, as it stands on the other pages."""
    model = cached.model(run)
    with cached.turn(case.place.device):
        return measure_model(model, case.config, case.tokens, **case.where)


def measured_left_out(case: Case, peak: DevicePeak) -> dict[str, tuple[float, int]]:
    """Operations that would take too long or too much: their estimated seconds and bytes."""
    sizes = operation_sizes(case.config, case.tokens)
    found = {}
    for each in operations(case.config, case.tokens.phase):
        n_bytes = needed_bytes(each, sizes, itemsize=case.itemsize)
        flops, moved = each.flops.count(sizes), each.moved.count(sizes) * case.itemsize
        seconds = roofline.estimate_seconds(flops, moved, peak)
        if n_bytes > memory_budget() or seconds > LONGEST_SECONDS:
            found[each.name] = seconds, n_bytes
    return found


def measured_steps(case: Case, names: tuple[str, ...]) -> list[Callable[[], object]]:
    """One measurement an operation."""
    return [partial(operation_times, case, name) for name in names]


@lru_cache(maxsize=64)
def measured_table(case: Case, peak: DevicePeak, names: tuple[str, ...]) -> pd.DataFrame:
    """Estimate beside measurement, of the operations that were measured so far."""
    found = {name: operation_times(case, name) for name in names}
    return roofline.roofline(measured_counted(case.config, case.tokens, case.itemsize), peak, found)


def layer_fits(case: Case, peak: DevicePeak) -> bool:
    """Whether one layer can be measured: it fits, and takes no longer than a moment."""
    one = one_layer(case.config)
    rows = measured_table(case, peak, ())
    is_quick = roofline.total_seconds(rows, "estimated_s") <= LONGEST_SECONDS
    return is_quick and _fits(one, case)


def model_fits(case: Case, peak: DevicePeak) -> bool:
    """Whether the whole model can be measured."""
    config = case.config
    if config.n_decoder_layers and case.tokens.phase is Phase.PREFILL:
        return False  # it reads with its encoder too, which is not among these operations
    is_learned = config.position.position_kind is PositionKind.LEARNED
    is_too_long = is_learned and case.tokens.n > config.max_seq_len
    is_quick = (
        model_seconds(measured_table(case, peak, ()), config, "estimated_s") <= LONGEST_SECONDS
    )
    return is_quick and not is_too_long and _fits(config, case)


def _fits(config: ModelConfig, case: Case) -> bool:
    shape = {"batch": case.tokens.batch, "seq_len": case.tokens.n}
    dtype = devices.DTYPES[case.place.dtype]
    return memory_fault(config, **shape, dtype=dtype, budget=memory_budget()) is None


def model_seconds(rows: pd.DataFrame, config: ModelConfig, column: str) -> float:
    """All layers of the stack that is measured, and the logits once."""
    n_layers = config.n_decoder_layers or config.n_layers
    logits = float(rows.loc[rows["operation"] == "unembed", column].sum(skipna=False))
    return n_layers * roofline.total_seconds(rows, column) + logits


@lru_cache(maxsize=64)
def sums(case: Case, peak: DevicePeak, names: tuple[str, ...]) -> pd.DataFrame:
    """Milliseconds of a layer by group: column (estimated_s, measured_s), group, ms."""
    rows = roofline.as_run(measured_table(case, peak, names))
    rows = rows[rows["operation"] != "unembed"]
    parts = [
        (rows[column] * rows["times"] * 1000).groupby(rows["group"], sort=False).sum()
        for column in ("estimated_s", "measured_s")
    ]
    columns = ("estimated_s", "measured_s")
    tables = [
        pd.DataFrame({"column": column, "group": part.index, "ms": part.to_numpy()})
        for column, part in zip(columns, parts, strict=True)
    ]
    return pd.concat(tables, ignore_index=True)


def milliseconds(found: PassTime) -> float:
    """The median."""
    return 1000 * found.times.median


GIGA = 1e9


@lru_cache(maxsize=32)
def load(place: Place) -> float:
    """How busy the machine was then, for each of its CPUs."""
    return peaks.load()


@lru_cache(maxsize=32)
def start(place: Place) -> Times:
    """The smallest operation there is."""
    with cached.turn(place.device):
        return peaks.measure_start(device=place.device, dtype=devices.DTYPES[place.dtype])


class Speed(NamedTuple):
    """All that was measured of the device."""

    products: tuple[MatmulRate, ...]
    moved: tuple[Bandwidth, ...]
    start: Times | None  # None: stopped before
    load: float

    @property
    def peak(self) -> DevicePeak:
        """The roof that they make."""
        assert self.start is not None
        return peaks.device_peak(self.products, self.moved, self.start)


def so_far(found: Sequence[object]) -> Speed:
    """What the steps found before the reader stopped them: no roof yet."""
    return Speed(
        products=tuple(each for each in found if isinstance(each, MatmulRate)),
        moved=tuple(each for each in found if isinstance(each, Bandwidth)),
        start=None,
        load=math.nan,
    )


def speed_steps(place: Place) -> list[Callable[[], object]]:
    """Products of growing squares, arrays of growing size, and the start of an operation."""
    sizes = peaks.matrix_sizes(place.device)
    return [
        *(lambda size=size: product(size, place) for size in sizes),
        *(lambda way=way: traffic(*way, place) for way in peaks.traffics()),
        lambda: start(place),
    ]


def measured_speed(place: Place) -> Speed:
    """What the steps found, once all are done."""
    sizes = peaks.matrix_sizes(place.device)
    products = (product(size, place) for size in sizes)
    return Speed(
        products=tuple(each for each in products if each is not None),
        moved=tuple(traffic(*way, place) for way in peaks.traffics()),
        start=start(place),
        load=load(place),
    )


@lru_cache(maxsize=128)
def product(size: int, place: Place) -> MatmulRate | None:
    """One square; None where a smaller one says that it would take too long."""
    before = [each for each in peaks.matrix_sizes(place.device) if each < size]
    smaller = product(before[-1], place) if before else None
    if before and smaller is None:
        return None
    with cached.turn(place.device):
        dtype = devices.DTYPES[place.dtype]
        return peaks.measure_matmul(size, device=place.device, dtype=dtype, smaller=smaller)


@lru_cache(maxsize=128)
def traffic(way: Traffic, array_bytes: int, place: Place) -> Bandwidth:
    """Bytes moved in one way."""
    with cached.turn(place.device):
        return peaks.measure_bandwidth(way, array_bytes, device=place.device)


def products_table(found: Speed) -> pd.DataFrame:
    """One row a square: size, gflops."""
    rows = [(each.size, each.flops_per_s / GIGA) for each in found.products]
    return pd.DataFrame(rows, columns=["size", "gflops"])


def moved_table(found: Speed) -> pd.DataFrame:
    """One row a way and size: traffic, mib, gigabytes (a second)."""
    rows = [
        (str(each.traffic), each.array_bytes / peaks.MIB, each.bytes_per_s / GIGA)
        for each in found.moved
    ]
    return pd.DataFrame(rows, columns=["traffic", "mib", "gigabytes"])


def best(found: Speed) -> tuple[float, float] | None:
    """What the roof is made of, in the units of the tables; None before all is measured."""
    if found.start is None:
        return None
    return found.peak.flops_per_s / GIGA, found.peak.bytes_per_s / GIGA
