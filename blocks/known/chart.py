"""The test chart: how often each instrument is right, with intervals and with its controls.

    python -m blocks.known.chart

asks all instruments about all models anew, in about two minutes on a core, and keeps the counts. On
other processors a count may differ where two numbers nearly tie.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import torch

from blocks.known.cells import CONTROLS, FILE, INSTRUMENTS, Cell, Question, recorded_cells
from blocks.known.scores import Score, score
from blocks.known.scoring import LAST, LOTS, SEEDS, Hits, of_subject
from blocks.known.subjects import CONTROL_NAMES, Origin, Subject, control, subject
from blocks.known.words import MODELS
from blocks.model.shipped import write_rows
from blocks.training.loop import Training
from blocks.weights.tensors import read_weights

DIGITS = 4


@dataclass(frozen=True, eq=False)
class ChartFacts:
    """All cells: of instruments, of planted wrong ones, and of models that know nothing."""

    cells: tuple[Cell, ...]

    @cached_property
    def shown(self) -> tuple[Cell, ...]:
        """What instruments said of models that know their task."""
        return tuple(each for each in self.cells if not _is_control(each))

    @cached_property
    def scores(self) -> dict[str, Score]:
        """Of each instrument, by its name."""
        return {
            name: score([each for each in self.shown if each.instrument == name])
            for name in INSTRUMENTS
        }

    @cached_property
    def planted(self) -> tuple[Score, ...]:
        """Of answers at random and of the last ones, for each question."""
        return tuple(
            score(found)
            for name in (LOTS, LAST)
            for question in Question
            if (
                found := [
                    each
                    for each in self.cells
                    if (each.instrument, each.question) == (name, question)
                    and each.origin not in CONTROLS
                ]
            )
        )

    @cached_property
    def on_ignorant(self) -> tuple[Score, ...]:
        """Of each instrument on models that know nothing, by the truth of others."""
        return tuple(
            score(found)
            for name in INSTRUMENTS
            if (
                found := [
                    each
                    for each in self.cells
                    if each.instrument == name and each.origin in CONTROLS
                ]
            )
        )

    @property
    def too_good(self) -> tuple[Score, ...]:
        """Controls that do better than chance: what the chart measures is something else then."""
        return tuple(each for each in (*self.planted, *self.on_ignorant) if each.is_above_chance)

    @property
    def n(self) -> int:
        """How many instruments there are."""
        return len(self.scores)

    @property
    def n_above(self) -> int:
        """Those that do better than chance."""
        return sum(each.is_above_chance for each in self.scores.values())

    @property
    def not_above(self) -> tuple[Score, ...]:
        """Instruments whose interval reaches down to chance."""
        return tuple(each for each in self.scores.values() if not each.is_above_chance)

    @property
    def least_stable(self) -> Score:
        """The instrument whose mean score differs most between seeds."""
        return max(self.scores.values(), key=lambda each: each.spread)

    @property
    def trained_points(self) -> float:
        """How far scores of one instrument on one trained model lie apart at most, in points."""
        told = [each.scores for each in self.shown if each.origin == Origin.TRAINED and each.scores]
        return 100 * max(max(scores) - min(scores) for scores in told)

    @property
    def n_controls(self) -> int:
        """How many controls there are."""
        return len(self.planted) + len(self.on_ignorant)

    @property
    def subjects(self) -> list[str]:
        """The models, in the order in which they are asked."""
        return list(dict.fromkeys(each.subject for each in self.shown))

    @property
    def best(self) -> Score:
        """Of those that answer the same question as the worst, the one most often right."""
        rivals = [each for each in self.scores.values() if each.question == self.worst.question]
        return max(rivals, key=lambda each: each.n_right / each.n)

    @property
    def worst(self) -> Score:
        """The one that was right in the smallest."""
        return min(self.scores.values(), key=lambda each: each.n_right / each.n)


def _is_control(cell: Cell) -> bool:
    return cell.instrument in (LOTS, LAST) or cell.origin in CONTROLS


def cells_of(hits: Sequence[Hits]) -> tuple[Cell, ...]:
    """What was said of each model, its texts together and its seeds apart."""

    found: dict[tuple[str, str, str, str], dict[int, list[Hits]]] = {}
    for each in hits:
        key = (each.instrument, each.question, each.subject, each.origin)
        found.setdefault(key, {}).setdefault(each.seed, []).append(each)
    return tuple(
        Cell(*key, by_seed=tuple(_summed(some) for some in by_seed.values()))
        for key, by_seed in found.items()
    )


def _summed(hits: Sequence[Hits]) -> tuple[float, int, int, float]:
    found = round(sum(each.found for each in hits), DIGITS)
    chance = round(sum(each.chance for each in hits), DIGITS)
    return found, sum(each.named for each in hits), sum(each.true for each in hits), chance


def measured(seeds: Sequence[int] = SEEDS, names: Sequence[str] = ()) -> tuple[Cell, ...]:
    """Ask about all models, or those of these names."""
    hits: list[Hits] = []
    for seed in seeds:
        asked = [name for name in (*MODELS, *CONTROL_NAMES) if not names or name in names]
        for name in asked:
            hits += of_subject(asked_model(name, seed), seed)
    return cells_of(hits)


def asked_model(name: str, seed: int) -> Subject:
    """The model that is asked under a seed: of trained ones that of 0 ships, others are made anew.

    The controls are drawn or trained from each seed.
    """
    if name not in MODELS:
        return control(name, seed)
    known = subject(name)
    if known.origin is not Origin.TRAINED or not seed:
        return known
    from blocks.training.shipped_models import POCKET  # builds tokenizers

    training = Training(replace(POCKET[known.program].spec, seed=seed))
    deque(training.events(), maxlen=0)
    return replace(known, file=replace(known.file, tensors=read_weights(training.model)))


@lru_cache(maxsize=1)
def chart_facts() -> ChartFacts:
    """The chart as it was measured before."""
    return ChartFacts(recorded_cells())


def main() -> None:
    """Ask all and keep the counts."""
    torch.set_num_threads(1)
    rows = [
        [each.instrument, each.question, each.subject, each.origin, each.by_seed]
        for each in measured()
    ]
    write_rows(FILE, rows)


if __name__ == "__main__":
    main()
