"""The runs that ship, so that the page opens with a real result: `python -m blocks.scaling`."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from blocks.model.shipped import rows_in, shipped, write_rows
from blocks.scaling.plan import Measured, Point, measured, points_of, usual_sizes, valley_points
from blocks.training.spec import TrainingSpec

FILE = shipped("runs", "valleys.json")
SEEDS = (0, 1, 2)
LARGER = (1e11,)  # FLOPs of trainings that are foretold
DIGITS = 5


def wanted() -> tuple[Point, ...]:
    """The valleys from each seed, and larger trainings."""
    valleys = (point for seed in SEEDS for point in valley_points(seed))
    return (*valleys, *larger_points())


def larger_points() -> tuple[Point, ...]:
    """Trainings beyond those that the law is fitted to, around the bottom of their valley."""
    return tuple(
        point
        for flops in LARGER
        for seed in SEEDS
        for point in points_of(flops, usual_sizes(flops)[1:-1], seed)
    )


def held_out() -> tuple[Measured, ...]:
    """As many of these as ship."""
    return tuple(run for run in map(recorded().get, larger_points()) if run is not None)


def row_of(run: Measured) -> dict[str, Any]:
    """A run as the file has it, with all that is needed to make it again."""
    kept = {"excess": round(run.excess, DIGITS), "seconds": round(run.seconds, 1)}
    return {"flops": run.point.flops, **kept, "spec": run.point.spec.plain()}


@lru_cache
def recorded() -> dict[Point, Measured]:
    """What ships; runs whose training is no longer that of their point are left out."""
    return {each.point: each for each in map(_read, rows_in(FILE)) if each is not None}


def _read(row: dict[str, Any]) -> Measured | None:
    spec = TrainingSpec.from_plain(row["spec"])
    point = Point(row["flops"], spec.config.d_model, spec.recipe.n_steps, spec.seed)
    return Measured(point, row["excess"], row["seconds"]) if point.spec == spec else None


def known(points: Iterable[Point]) -> tuple[Measured, ...] | None:
    """What these came to; None where one does not ship."""
    found = [recorded().get(point) for point in points]
    return None if None in found else tuple(each for each in found if each is not None)


def write() -> None:
    """Train what does not ship yet, and put all into the file."""
    runs = []
    for point in wanted():
        run = recorded().get(point) or measured(point)
        print(*point, round(run.excess, DIGITS), round(run.seconds, 1), flush=True)
        runs.append(run)
    write_rows(FILE, [row_of(run) for run in runs])
