"""What trained students say about their teacher: curves, bands of seeds, who is better."""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from blocks.cost.parameters import total_parameters
from blocks.efficiency.compression import Calibrated
from blocks.efficiency.distillation import N_HELD_OUT, Size, Student, Way, student_config
from blocks.training.teaching import Distillation

SURE = 0.8
"""Of the seeds: a teacher that is better on fewer is not said to help."""


@dataclass(frozen=True)
class Curve:
    """Held-out losses of one way at each look, in nats: mean, least and most of the seeds."""

    way: Way
    updates: tuple[int, ...]
    mean: tuple[float, ...]
    least: tuple[float, ...]
    most: tuple[float, ...]


@dataclass(frozen=True)
class DistillationFacts:
    """The seeds of which every training is there, in as many ways as of any seed.

    Losses are held out, in nats; parameters are those of the whole model.
    """

    how: Distillation
    students: tuple[Student, ...]
    teacher_loss: float
    teacher_score: float
    n_parameters: int
    n_teacher_parameters: int
    score_name: str
    is_share: bool

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in the order in which they were trained."""
        return tuple(dict.fromkeys(each.seed for each in self.students))

    @property
    def ways(self) -> tuple[Way, ...]:
        """How they learned."""
        present = {each.way for each in self.students}
        return tuple(way for way in Way if way in present)

    @property
    def is_timed(self) -> bool:
        """Whether some learned alone for as long as the taught ones took."""
        return Way.ALONE_AS_LONG in self.ways

    @property
    def processor(self) -> str:
        """Where that time was measured."""
        return self.of(Way.ALONE_AS_LONG)[0].processor

    @property
    def time_ratio(self) -> float:
        """The time of an update with the teacher over that of one alone there."""
        return self.n_updates(Way.ALONE_AS_LONG) / self.n_updates(Way.TAUGHT)

    def of(self, way: Way) -> tuple[Student, ...]:
        """One student a seed."""
        return tuple(each for each in self.students if each.way is way)

    def loss(self, way: Way) -> float:
        """At the end, the mean of the seeds."""
        return fmean(each.losses[-1] for each in self.of(way))

    def score(self, way: Way) -> float:
        """At the end, the mean of the seeds."""
        return fmean(each.score for each in self.of(way))

    def n_updates(self, way: Way) -> int:
        """How long each was trained."""
        return self.of(way)[0].updates[-1]

    def n_better(self, way: Way) -> int:
        """On how many seeds the taught student ends with a lower loss than this one."""
        pairs = zip(self.of(Way.TAUGHT), self.of(way), strict=True)
        return sum(taught.losses[-1] < other.losses[-1] for taught, other in pairs)

    @property
    def share_of_teacher(self) -> float:
        """The student's parameters over its teacher's."""
        return self.n_parameters / self.n_teacher_parameters

    def helps(self, way: Way) -> bool:
        """Whether the teacher is better than this way on enough of the seeds (`SURE`)."""
        return self.n_better(way) >= SURE * len(self.seeds)

    def curve(self, way: Way) -> Curve:
        """The losses of one way over its updates."""
        students = self.of(way)
        columns = [*zip(*(each.losses for each in students), strict=True)]
        return Curve(
            way=way,
            updates=students[0].updates,
            mean=tuple(map(fmean, columns)),
            least=tuple(map(min, columns)),
            most=tuple(map(max, columns)),
        )


def distillation_facts(
    model: Calibrated,
    teacher: Calibrated,
    size: Size,
    how: Distillation,
    found: tuple[Student, ...],
) -> DistillationFacts:
    """What is known after the first trainings of `Students`, of the kind of `model`."""
    n_of = Counter(each.seed for each in found)
    whole = tuple(each for each in found if n_of[each.seed] == max(n_of.values()))
    loss, score = _measured(model, teacher)
    return DistillationFacts(
        how=how,
        students=whole,
        teacher_loss=loss,
        teacher_score=score,
        n_parameters=total_parameters(student_config(model.file.config, size)),
        n_teacher_parameters=total_parameters(teacher.file.config),
        score_name=model.score_name,
        is_share=model.is_share,
    )


@lru_cache(maxsize=8)
def _measured(model: Calibrated, teacher: Calibrated) -> tuple[float, float]:
    """Held-out loss and score of a teacher on the task of its students: the same for them all."""
    examiner = model.examiner
    return examiner.held_out_loss(teacher.model, N_HELD_OUT), examiner.score(teacher.model)
