"""What each instrument was asked, and what came of it for each model: counts that were made before.

Every page reads from here how often its pictures are right, so nothing heavy is imported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from blocks.model.shipped import rows_in, shipped

FILE = shipped("runs", "instruments.json")
RIGHT = 0.9


class Question(StrEnum):
    """What can be right or wrong."""

    NAMES = "names"  # what is each head called?
    HEADS = "heads"  # without which heads is there no answer?
    TOKENS = "tokens"  # from which tokens is the answer taken?
    LAYER = "layer"  # after which layer is the answer there?
    LEAK = "leak"  # does a token see ahead?


INSTRUMENTS = {
    "head-names": Question.NAMES,
    "logit-lens": Question.LAYER,
    "leak-test": Question.LEAK,
    "ablation": Question.HEADS,
    "patching": Question.HEADS,
    "direct": Question.HEADS,
    "gradient": Question.HEADS,
    "attention": Question.TOKENS,
    "contributions": Question.TOKENS,
    "leave-one-out": Question.TOKENS,
}
CONTROLS = ("shuffled", "random")  # origins of models that know nothing


@dataclass(frozen=True)
class Cell:
    """What one instrument said of one model, all texts of all seeds together."""

    instrument: str
    question: str
    subject: str
    origin: str
    by_seed: tuple[tuple[float, int, int, float], ...]  # found, named, true, found by chance

    def _sum(self, i: int) -> float:
        return float(sum(each[i] for each in self.by_seed))

    @property
    def precision(self) -> float:
        """The share of what it named that is true."""
        return self._sum(0) / self._sum(1) if self._sum(1) else 0.0

    @property
    def recall(self) -> float:
        """The share of what is true that it found."""
        return self._sum(0) / self._sum(2) if self._sum(2) else 1.0

    @property
    def is_silent(self) -> bool:
        """Whether it never named anything."""
        return not self._sum(1)

    @property
    def is_right(self) -> bool:
        """Whether nine of ten that it named are true, and nine of ten that are true were named."""
        return not self.is_silent and min(self.precision, self.recall) >= RIGHT

    @property
    def verdict(self) -> str:
        """Right, wrong or silent."""
        return "silent" if self.is_silent else "right" if self.is_right else "wrong"

    @property
    def scores(self) -> list[float]:
        """Twice what was found, by what was named and what is true (F1), of each seed."""
        return [2 * found / (named + true) for found, named, true, _chance in self._told]

    @property
    def chances(self) -> list[float]:
        """The same of one who draws lots as often."""
        return [2 * chance / (named + true) for _found, named, true, chance in self._told]

    @property
    def _told(self) -> list[tuple[float, int, int, float]]:
        return [each for each in self.by_seed if each[1] + each[2]]


@lru_cache(maxsize=1)
def recorded_cells() -> tuple[Cell, ...]:
    """All of them, as they were measured."""
    return tuple(_read(row) for row in rows_in(FILE))


def _read(row: Sequence[Any]) -> Cell:
    instrument, question, subject, origin, by_seed = row
    return Cell(instrument, question, subject, origin, tuple(tuple(each) for each in by_seed))


@lru_cache(maxsize=16)
def right_in(instrument: str) -> tuple[int, int]:
    """In how many models it was right, and how many it was asked about."""
    told = [
        each
        for each in recorded_cells()
        if each.instrument == instrument and each.origin not in CONTROLS and each.scores
    ]
    return sum(each.is_right for each in told), len(told)
