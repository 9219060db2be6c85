"""What sweeps say: how time and memory grow beside the FLOPs, and which number format pays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, NamedTuple

import pandas as pd
import torch

from blocks.cost.attention_time import slopes
from blocks.cost.device_peak import load
from blocks.cost.sweep import Point, Sweep, Swept, measure_point
from blocks.cost.timing import REPEATS
from blocks.model.devices import DTYPES

LEVEL = 0.15  # of an exponent: nearer ones are alike


class Reading(StrEnum):
    """What the growth of time means beside that of FLOPs."""

    HEADS = "heads"
    SLOWER = "slower"
    FASTER = "faster"
    ALIKE = "alike"


class Formats(NamedTuple):
    """The longest text that all number formats share: seconds in float32, and speed-ups."""

    n: int
    seconds: float
    speedups: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class SweepFacts:
    """Lines of measurements over the size that doubles.

    `rows`: series, size, flops, seconds, low, high (quartiles), bytes; `exponents`: of
    each column the slope on logarithmic axes, by series, over the largest sizes; `skipped`: of each
    series the first size that was not measured.
    """

    lines: tuple[Sweep, ...]
    rows: pd.DataFrame
    exponents: dict[str, dict[str, float]]
    skipped: tuple[tuple[str, Point], ...]
    load: float
    repeats: int = REPEATS

    @property
    def what(self) -> Swept:
        """The quantity that doubles."""
        return self.lines[0].what

    @property
    def reading(self) -> Reading:
        """Reading of the first line."""
        series = self.lines[0].place.dtype
        beyond = self.exponents["seconds"][series] - self.exponents["flops"][series]
        if self.what is Swept.N_HEADS:
            return Reading.HEADS
        if abs(beyond) <= LEVEL:
            return Reading.ALIKE
        return Reading.FASTER if beyond > 0 else Reading.SLOWER

    @property
    def theory(self) -> pd.Series:
        """Seconds where time grew as FLOPs do, through the largest size of each series."""
        last = self.rows.sort_values("size").groupby("series")[["seconds", "flops"]].last()
        scale = last["seconds"] / last["flops"]
        return self.rows["flops"] * self.rows["series"].map(scale)

    @property
    def formats(self) -> Formats | None:
        """The number formats beside float32; None where they share no size."""
        times = self.rows.pivot(index="size", columns="series", values="seconds").dropna()
        if "float32" not in times or times.empty:
            return None
        longest = times.iloc[-1]
        others = [name for name in self.rows["series"].unique() if name != "float32"]
        ratios = tuple((name, float(longest["float32"] / longest[name])) for name in others)
        return Formats(int(times.index[-1]), float(longest["float32"]), ratios)


@dataclass(frozen=True, eq=False)
class FormulaFacts:
    """FLOPs of one layer over the size that doubles, before anything is measured.

    `rows`: size, flops; `exponent`: the slope on logarithmic axes over the largest sizes, None
    where there is one size alone.
    """

    what: Swept
    rows: pd.DataFrame
    exponent: float | None


def formula_facts(line: Sweep) -> FormulaFacts:
    """Return the FLOPs of a line by formula."""
    rows = pd.DataFrame({"size": line.sizes, "flops": [line.flops(each) for each in line.sizes]})
    by_kind = rows.rename(columns={"size": "seq_len"}).assign(kind="flops")
    return FormulaFacts(line.what, rows, slopes(by_kind, "flops").get("flops"))


def format_facts(n_weights: int, formats: Sequence[str]) -> pd.DataFrame:
    """Return facts of number formats known without measuring (IEEE 754; bfloat16: 8-bit exponent).

    A row a format: format, n_bytes (of the weights), least (above 0, of full precision), largest,
    step (between 1 and the next number).
    """
    found = [(name, DTYPES[name].itemsize, torch.finfo(DTYPES[name])) for name in formats]
    return pd.DataFrame(
        [
            (name, n_weights * size, limits.tiny, limits.max, limits.eps)
            for name, size, limits in found
        ],
        columns=["format", "n_bytes", "least", "largest", "step"],
    )


def steps(lines: Sequence[Sweep]) -> list[tuple[Sweep, int]]:
    """Every size of every line, the lines in turn, so that they grow together."""
    pairs = [(line, size) for line in lines for size in line.sizes]
    return sorted(pairs, key=lambda pair: pair[1])  # stable: lines in their order


def sweep_facts(lines: tuple[Sweep, ...], found: tuple[Point, ...]) -> SweepFacts:
    """The points of the first steps, as far as they are measured."""
    rows: list[tuple[object, ...]] = []
    skipped: dict[str, Point] = {}
    for (line, size), point in zip(steps(lines), found, strict=False):
        series = line.place.dtype
        if point.time is None:
            skipped.setdefault(series, point)
            continue
        times = (point.time.times.median, *point.time.times.quartiles)
        rows.append((series, size, line.flops(size), *times, point.time.peak_bytes))
    columns = ["series", "size", "flops", "seconds", "low", "high", "bytes"]
    table = pd.DataFrame(rows, columns=columns)
    by_kind = table.rename(columns={"series": "kind", "size": "seq_len"})
    measures = ("seconds", "flops", "bytes")
    exponents = {of: slopes(by_kind, of) for of in measures}
    return SweepFacts(lines, table, exponents, tuple(skipped.items()), load())


@dataclass(frozen=True)
class Sweeps:
    """Lines of measurements as one series of points, the lines in turn."""

    lines: tuple[Sweep, ...]
    budget: int
    is_timed: ClassVar[bool] = True

    @property
    def device(self) -> str:
        """The device on which they are measured."""
        return self.lines[0].place.device

    @property
    def n_steps(self) -> int:
        """All sizes of all lines."""
        return len(steps(self.lines))

    def results(self, done: Sequence[Point]) -> Iterator[Point]:
        """Each size, unless those before say that it would take too long."""
        wanted = steps(self.lines)
        before: dict[Sweep, list[Point]] = {line: [] for line in self.lines}
        for (line, _size), point in zip(wanted, done, strict=False):
            before[line].append(point)
        for line, size in wanted[len(done) :]:
            before[line].append(measure_point(line, size, before[line], self.budget))
            yield before[line][-1]
