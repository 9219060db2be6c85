"""The finished trainings of a sweep as tables: one row a training, one row a setting."""

from collections.abc import Iterable, Mapping

import pandas as pd

from blocks.sweep.outcome import Outcome
from blocks.sweep.point import Point

MEASURES = ("held_out_loss", "loss", "n_parameters", "n_tokens", "flops", "seconds")


def points_table(points: Iterable[Point], found: Mapping[str, Outcome]) -> pd.DataFrame:
    """A row a finished training: its setting, seed, losses in nats, size, cost and key."""
    rows = [
        {
            **dict(point.setting),
            "seed": point.spec.seed,
            "n_steps": point.spec.recipe.n_steps,
            **{name: getattr(found[point.key], name) for name in MEASURES},
            "reason": str(found[point.key].reason),
            "device": found[point.key].device,
            "key": point.key,
        }
        for point in points
        if point.key in found
    ]
    return pd.DataFrame(rows)


def settings_table(points: Iterable[Point], found: Mapping[str, Outcome]) -> pd.DataFrame:
    """A row a setting, the best first: the mean held-out loss over its seeds, least and most."""
    points = [*points]
    table = points_table(points, found)
    if table.empty:
        return table
    names = [*dict.fromkeys(name for point in points for name, _value in point.setting)]
    by = [*dict.fromkeys((*names, "n_steps"))]
    of_settings = table.groupby(by, sort=False, dropna=False, as_index=False)
    found_table = of_settings.agg(
        n_seeds=("seed", "count"),
        held_out_loss=("held_out_loss", "mean"),
        least=("held_out_loss", "min"),
        most=("held_out_loss", "max"),
        n_parameters=("n_parameters", "first"),
        flops=("flops", "first"),
        seconds=("seconds", "mean"),
    )
    return found_table.sort_values("held_out_loss", ignore_index=True)
