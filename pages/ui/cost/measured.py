"""The operations of one layer, the layer and the model, timed here and kept."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from blocks.cost import roofline
from blocks.cost.device_peak import DevicePeak
from blocks.cost.memory import memory_fault
from blocks.cost.operation_time import measure_operation, needed_bytes
from blocks.cost.operations import Phase, Tokens, operation_sizes, operations
from blocks.cost.pass_time import PassTime, measure_layer, measure_model
from blocks.cost.sweep import one_layer
from blocks.cost.timing import Times
from blocks.model import devices
from blocks.model.config import ModelConfig
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.ui import cached
from pages.ui.cost.device_speed import Place
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
    def where(self) -> dict:
        """Device, number format and seed, for what measures."""
        dtype = devices.DTYPES[self.place.dtype]
        return {"device": self.place.device, "dtype": dtype, "seed": self.seed}


@lru_cache(maxsize=32)
def counted(config: ModelConfig, tokens: Tokens, itemsize: int) -> pd.DataFrame:
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


def left_out(case: Case, peak: DevicePeak) -> dict[str, tuple[float, int]]:
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


def steps(case: Case, names: tuple[str, ...]) -> list[Callable[[], object]]:
    """One measurement an operation."""
    return [lambda name=name: operation_times(case, name) for name in names]


@lru_cache(maxsize=64)
def table(case: Case, peak: DevicePeak, names: tuple[str, ...]) -> pd.DataFrame:
    """Estimate beside measurement, of the operations that were measured so far."""
    found = {name: operation_times(case, name) for name in names}
    return roofline.roofline(counted(case.config, case.tokens, case.itemsize), peak, found)


def layer_fits(case: Case, peak: DevicePeak) -> bool:
    """Whether one layer can be measured: it fits, and takes no longer than a moment."""
    one = one_layer(case.config)
    rows = table(case, peak, ())
    is_quick = roofline.total_seconds(rows, "estimated_s") <= LONGEST_SECONDS
    return is_quick and _fits(one, case)


def model_fits(case: Case, peak: DevicePeak) -> bool:
    """Whether the whole model can be measured."""
    config = case.config
    if config.n_decoder_layers and case.tokens.phase is Phase.PREFILL:
        return False  # it reads with its encoder too, which is not among these operations
    is_learned = config.position.position_kind is PositionKind.LEARNED
    is_too_long = is_learned and case.tokens.n > config.max_seq_len
    is_quick = model_seconds(table(case, peak, ()), config, "estimated_s") <= LONGEST_SECONDS
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
    rows = roofline.as_run(table(case, peak, names))
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
