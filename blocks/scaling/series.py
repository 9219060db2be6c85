"""Series of small trainings that ship: what they came to, a line for each."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar

from blocks.model.shipped import shipped
from blocks.work.job import Series
from blocks.work.plain import from_line, to_line

FILE = shipped("runs", "scaling.jsonl")
T = TypeVar("T")


@lru_cache
def _recorded() -> dict[Any, tuple[Any, ...]]:
    return dict(map(from_line, FILE.read_text("utf-8").splitlines())) if FILE.exists() else {}


def recorded(series: Series[T]) -> tuple[T, ...]:
    """What it came to; empty where it does not ship."""
    return _recorded().get(series, ())


def write(wanted: Sequence[Series[Any]]) -> None:
    """Train what does not ship yet, and put all into the file."""
    lines = []
    for series in wanted:
        found = [*recorded(series)]
        for value in series.results(found):
            print(value, flush=True)
            found.append(value)
        lines.append(to_line((series, found)))
    FILE.write_text("\n".join(lines) + "\n", "utf-8")
