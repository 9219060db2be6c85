"""How much longer an update takes with a teacher: measured, for a student alone in equal time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from blocks.cost.timing import measure_in_rounds
from blocks.efficiency.distillation import Students, TimeRatio, calibrated_teacher, student_spec
from blocks.model.devices import device_name
from blocks.training.loop import Training
from blocks.training.teaching import Teaching

DIGITS, ROUNDS = 2, 20
"""A ratio of times is no more exact, and with fewer rounds it is less."""


@dataclass(frozen=True)
class TeachingTime:
    """The time of an update of these students with their teacher over that of one alone.

    Both are measured in turns, and the fast quantile of each is taken. A series of one value.
    """

    students: Students
    is_timed: bool = True
    n_steps: int = 1

    @property
    def device(self) -> str:
        """The device that it is measured on."""
        return self.students.device

    def results(self, done: Sequence[Any]) -> Iterator[TimeRatio]:
        """The ratio, unless it is known. Raises `ConfigError` beyond the budget."""
        if not done:
            yield self._measured()

    def _measured(self) -> TimeRatio:
        of = self.students
        model = calibrated_teacher(of.pattern or of.teacher)
        teaching = Teaching(teacher=of.teacher, how=of.how)
        specs = [
            student_spec(model, of.size, n_updates=of.n_updates, teaching=each)
            for each in (teaching, None)
        ]
        updates = [Training(spec, budget=of.budget).update for spec in specs]
        taught, alone = measure_in_rounds(updates, self.device, rounds=ROUNDS)
        return TimeRatio(round(taught.fast / alone.fast, DIGITS), device_name(self.device))
