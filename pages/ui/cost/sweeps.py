"""One size of a layer doubles: measured in steps, kept, and fitted."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from blocks.cost import device_peak, sweep
from blocks.cost.attention_time import slopes
from blocks.cost.operations import Tokens
from blocks.cost.pass_time import PassTime, measure_layer
from blocks.cost.sweep import Swept
from blocks.model import devices
from blocks.model.config import ModelConfig
from blocks.model.faults import Fault
from pages.ui import cached
from pages.ui.cost.device_speed import Place
from pages.ui.settings import memory_budget

MIB, MARGIN = 2**20, 1.5
DTYPES = ("float32", "bfloat16", "float16")


class Sweep(NamedTuple):
    """One line: a layer, what doubles, where, in which direction."""

    config: ModelConfig
    tokens: Tokens
    what: Swept
    is_backward: bool
    place: Place
    seed: int


class Point(NamedTuple):
    """One size of it: measured, or why not (too large for memory, or too long)."""

    size: int
    time: PassTime | None = None
    fault: str = ""
    seconds: float = 0.0


def sizes(wanted: Sweep) -> tuple[int, ...]:
    """The sizes that are legal, ascending."""
    return tuple(sorted(_cases(wanted)))


@lru_cache(maxsize=32)
def _cases(wanted: Sweep) -> dict[int, sweep.Case]:
    return sweep.swept(wanted.config, wanted.tokens, wanted.what)


def steps(all_wanted: tuple[Sweep, ...]) -> list[Callable[[], Point]]:
    """One measurement a size and line, the lines in turn, so that they grow together."""
    return [lambda n=n, wanted=wanted: point(wanted, n) for n, wanted in _ordered(all_wanted)]


def _ordered(all_wanted: tuple[Sweep, ...]) -> list[tuple[int, Sweep]]:
    pairs = [(n, wanted) for wanted in all_wanted for n in sizes(wanted)]
    return sorted(pairs, key=lambda pair: pair[0])  # stable: lines in their order


@lru_cache(maxsize=512)
def point(wanted: Sweep, size: int) -> Point:
    """One size; not measured where those before say that it would take too long."""
    config, tokens = _cases(wanted)[size]
    dtype = devices.DTYPES[wanted.place.dtype]
    fault = sweep.layer_fault(config, tokens, dtype=dtype, budget=memory_budget())
    if fault is not None:
        return Point(size, fault=_needed(fault))
    seconds = _predicted(wanted, size)
    if seconds > sweep.LONGEST_PASS:
        return Point(size, seconds=seconds)
    where = {"device": wanted.place.device, "dtype": dtype, "seed": wanted.seed}
    with cached.turn(wanted.place.device):
        return Point(size, measure_layer(config, tokens, **where, is_backward=wanted.is_backward))


def _needed(fault: Fault) -> str:
    return str(fault.values["need"])


def _predicted(wanted: Sweep, size: int) -> float:
    """Seconds that this size takes where time grows as it last did, and no faster than FLOPs.

    0 where fewer than two smaller sizes say nothing of it.
    """
    before = [point(wanted, each) for each in sizes(wanted) if each < size][-2:]
    if len(before) < 2:
        return 0.0
    smaller, last = ((each.size, _seconds(each)) for each in before)
    growth = MARGIN * max(1.0, last[1] / smaller[1])
    return last[1] * min(growth, flops(wanted, size) / flops(wanted, last[0]))


def _seconds(each: Point) -> float:
    """Measured, or foreseen."""
    return each.seconds if each.time is None else each.time.times.fast


@lru_cache(maxsize=512)
def flops(wanted: Sweep, size: int) -> int:
    """By formula."""
    return sweep.layer_flops(*_cases(wanted)[size], is_backward=wanted.is_backward)


@lru_cache(maxsize=32)
def load(_all_wanted: tuple[Sweep, ...]) -> float:
    """How busy the machine was when they were first shown, for each of its CPUs."""
    return device_peak.load()


def skipped(found: tuple[tuple[str, Point], ...]) -> tuple[tuple[str, Point], ...]:
    """Of each line the first that was not measured."""
    first: dict[str, Point] = {}
    for series, each in found:
        if each.time is None:
            first.setdefault(series, each)
    return tuple(first.items())


def named(all_wanted: tuple[Sweep, ...], found: list[Point]) -> tuple[tuple[str, Point], ...]:
    """Each point with its number format, in the order of the steps."""
    measured = zip(_ordered(all_wanted), found, strict=False)
    return tuple((wanted.place.dtype, each) for (_n, wanted), each in measured)


@lru_cache(maxsize=64)
def table(all_wanted: tuple[Sweep, ...], found: tuple[tuple[str, Point], ...]) -> pd.DataFrame:
    """One row a measured size: series, size, flops, milliseconds, low, high, mebibytes."""
    by_dtype = {wanted.place.dtype: wanted for wanted in all_wanted}
    rows = [
        (
            series,
            each.size,
            flops(by_dtype[series], each.size),
            *(1000 * s for s in (each.time.times.median, *each.time.times.quartiles)),
            each.time.peak_bytes / MIB,
        )
        for series, each in found
        if each.time is not None
    ]
    columns = ["series", "size", "flops", "milliseconds", "low", "high", "mebibytes"]
    return pd.DataFrame(rows, columns=columns)


def exponents(rows: pd.DataFrame, of: str) -> dict[str, float]:
    """The slope of `of` on logarithmic axes, over the three largest sizes of each line."""
    return slopes(rows.rename(columns={"series": "kind", "size": "seq_len"}), of)


def drawn(rows: pd.DataFrame, of: str) -> pd.DataFrame:
    """series, size, value, low, high, theory: FLOPs, scaled to go through the largest size."""
    if of != "milliseconds":
        value = rows["mebibytes"]
        return rows.assign(value=value, low=value, high=value, theory=float("nan"))
    last = rows.sort_values("size").groupby("series")[["milliseconds", "flops"]].last()
    scale = rows["series"].map(last["milliseconds"] / last["flops"])
    return rows.assign(value=rows["milliseconds"], theory=rows["flops"] * scale)
