"""Four siblings that sort: pre- and post-norm, with and without the residual connection.

    python -m blocks.efficiency.recorded_deletions

trains them anew and deletes their sub-layers in drawn orders: some minutes on a core. On other
processors the last digits differ. Of more than two layers those without the connection learn
nothing in as many updates, and there is nothing to delete.
"""

from collections.abc import Mapping
from functools import lru_cache
from statistics import fmean
from typing import Any, NamedTuple

import torch
from rich.progress import track

from blocks.efficiency.compression import Calibrated
from blocks.efficiency.deletion import N_ORDERS, Change, at_random, measure_change
from blocks.model.kinds import NormPlacement
from blocks.model.shipped import rows_in, shipped, write_rows
from blocks.training.loop import Training
from blocks.training.spec import TrainingSpec
from blocks.weights.model_file import ModelFile
from blocks.weights.pocket import pocket
from blocks.weights.tensors import read_weights

FILE = shipped("runs", "deletions.json")
DIGITS, N_THREADS = 5, 1
TAUGHT_BY, N_LAYERS, N_UPDATES, SEEDS = "sort", 2, 600, (0, 1)
PLACEMENTS = NormPlacement.PRE, NormPlacement.POST


class Sibling(NamedTuple):
    """A model trained as its siblings are; `scores` after 0, 1, … deletions, one row an order."""

    placement: NormPlacement
    is_connected: bool
    seed: int
    scores: tuple[tuple[float, ...], ...]


Kind = tuple[NormPlacement, bool]
"""Where the norm stands, and whether there is a residual connection."""


class SiblingFacts(NamedTuple):
    """All siblings that were trained."""

    siblings: tuple[Sibling, ...]

    @property
    def n_sublayers(self) -> int:
        """How many can be deleted."""
        return len(self.siblings[0].scores[0]) - 1

    @property
    def columns(self) -> dict[Kind, list[tuple[float, ...]]]:
        """For each kind and each number of deletions, 0 first, all scores."""
        rows: dict[Kind, list[tuple[float, ...]]] = {}
        for each in self.siblings:
            rows.setdefault((each.placement, each.is_connected), []).extend(each.scores)
        return {kind: [*zip(*lines, strict=True)] for kind, lines in rows.items()}

    @property
    def means(self) -> dict[Kind, list[float]]:
        """The mean scores."""
        return {kind: list(map(fmean, columns)) for kind, columns in self.columns.items()}

    def after(self, n: int, *, is_connected: bool) -> tuple[float, float]:
        """The least and the largest mean after n deletions, over where the norm stands."""
        found = [line[n] for kind, line in self.means.items() if kind[1] is is_connected]
        return min(found), max(found)


@lru_cache(maxsize=1)
def recorded_deletions() -> SiblingFacts:
    """All siblings that were trained."""
    return SiblingFacts(tuple(map(_read, rows_in(FILE))))


def _read(row: Mapping[str, Any]) -> Sibling:
    return Sibling(
        NormPlacement(row["placement"]),
        row["is_connected"],
        row["seed"],
        tuple(map(tuple, row["scores"])),
    )


def sibling(placement: NormPlacement, is_connected: bool, seed: int) -> Calibrated:
    """Train one, by the recipe of the shipped model that sorts, shortened."""
    teacher = Calibrated(pocket(TAUGHT_BY))
    config = teacher.spec.config.replace(
        n_layers=N_LAYERS, norm_placement=placement, residual=is_connected
    )
    recipe = teacher.spec.recipe.replace(n_steps=N_UPDATES)
    spec = TrainingSpec(config=config, task=teacher.spec.task, recipe=recipe, seed=seed)
    training = Training(spec)
    for _update in range(N_UPDATES):
        training.update()
    file = teacher.file
    tensors = read_weights(training.model)
    return Calibrated(ModelFile(config, file.tokenizer, file.card, tensors))


def scores_of(model: Calibrated) -> list[list[float]]:
    """The score after each deletion, for each drawn order."""
    whole = measure_change(model, Change()).score
    orders = (at_random(model.model, seed) for seed in range(N_ORDERS))
    return [
        [round(each, DIGITS) for each in (whole, *(measure_change(model, c).score for c in order))]
        for order in orders
    ]


def main() -> None:
    """Train and delete, and put all into one file."""
    torch.set_num_threads(N_THREADS)
    kinds = [(p, c, s) for p in PLACEMENTS for c in (True, False) for s in SEEDS]
    rows = [
        {
            "placement": str(placement),
            "is_connected": is_connected,
            "seed": seed,
            "scores": scores_of(sibling(placement, is_connected, seed)),
        }
        for placement, is_connected, seed in track(kinds)
    ]
    write_rows(FILE, rows)


if __name__ == "__main__":
    main()
