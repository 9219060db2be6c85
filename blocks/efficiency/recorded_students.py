"""Students of the shipped models, trained beforehand, to be seen at once.

    python -m blocks.efficiency.recorded_students [name ...]

trains what the file lacks: an hour on a core for all. On other processors the last digits differ.
They are compared by updates, tokens and FLOPs, so it does not matter what else the machine does
meanwhile; those that are compared by time have the number of updates that one processor was
measured to make in it.
"""

import dataclasses
from collections.abc import Container, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from rich.progress import track

from blocks.efficiency.distillation import (
    COUNTED,
    N_UPDATES,
    Size,
    Student,
    Students,
    StudentSize,
    Way,
    calibrated_teacher,
    longer,
)
from blocks.efficiency.recording import record_models
from blocks.efficiency.teaching_time import TeachingTime
from blocks.model.shipped import rows_in, shipped
from blocks.training.teaching import (
    AttentionTarget,
    Distillation,
    Teacher,
    Teaching,
    shipped_teacher,
)

FILE = shipped("runs", "students.json")
DIGITS = 5
USUAL, SIZE = Distillation(), StudentSize.HALF_LAYERS
HOWS = (
    USUAL,
    Distillation(hidden_weight=1.0),
    Distillation(attention_weight=1.0),
    Distillation(attention_weight=1.0, attention_target=AttentionTarget.RELATIONS),
)
"""What a reader meets first, and one thing from inside the teacher beside it."""


def recorded_students(teacher: str, size: Size, how: Distillation) -> tuple[Student, ...]:
    """The trained students of a shipped model; none where they were taught in another way.

    Those that learn alone are the same for every way to teach that costs as many FLOPs.
    """
    found = _all().get(teacher, {})
    if size is not SIZE or _key(how) not in found:
        return ()
    shared = (each for each in found[""] if each.way in COUNTED)
    students = {(each.seed, each.way): each for each in (*shared, *found[_key(how)])}
    return tuple(students[key] for key in sorted(students, key=_place))


def _place(key: tuple[int, Way]) -> tuple[int, int]:
    return key[0], [*Way].index(key[1])


def _key(how: Distillation) -> str:
    """What differs from the usual, for a file."""
    usual = dataclasses.asdict(USUAL)
    changed = {
        name: value for name, value in dataclasses.asdict(how).items() if value != usual[name]
    }
    return ",".join(f"{name}={value}" for name, value in changed.items())


@lru_cache(maxsize=1)
def _all() -> Mapping[str, Mapping[str, tuple[Student, ...]]]:
    return {
        name: {key: tuple(map(_read, students)) for key, students in row.items()}
        for name, row in rows_in(FILE).items()
    }


def _read(row: Mapping[str, Any]) -> Student:
    lists = {name: tuple(row[name]) for name in ("updates", "losses")}
    return Student(**{**row, **lists, "way": Way(row["way"])})


def _plain(student: Student) -> dict[str, Any]:
    values = dataclasses.asdict(student)
    losses = [round(loss, DIGITS) for loss in student.losses]
    if not student.processor:
        del values["processor"]
    return {
        **values,
        "way": str(student.way),
        "losses": losses,
        "score": round(student.score, DIGITS),
    }


def series_of(teacher: Teacher, how: Distillation, known: Container[Way] = ()) -> Students:
    """All students that are not known, and learn otherwise than those of the usual way to teach.

    Alone for as long as the taught ones: of the usual way only.
    """
    model = calibrated_teacher(teacher)
    own, usual = (
        longer(model, SIZE, Teaching(teacher=teacher, how=each), N_UPDATES) for each in (how, USUAL)
    )
    ways = COUNTED if how == USUAL else (Way.TAUGHT, *((Way.ALONE_LONGER,) * (own != usual)))
    unknown = tuple(way for way in ways if way not in known)
    series = Students(teacher=teacher, size=SIZE, how=how, ways=unknown)
    if how != USUAL or Way.ALONE_AS_LONG in known:
        return series
    (time,) = TeachingTime(series).results(())
    return replace(series, time=time)


def measured(name: str) -> dict[str, list[dict[str, Any]]]:
    """The students of a model, by how they were taught; what was trained before stays."""
    teacher, of_model = shipped_teacher(name), rows_in(FILE).get(name, {})
    for how in HOWS:
        before = of_model.get(_key(how), [])
        series = series_of(teacher, how, {row["way"] for row in before})
        of_model[_key(how)] = [*before, *_trained(series, f"{name} {_key(how)}")]
    return of_model


def _trained(series: Students, said: str) -> list[dict[str, Any]]:
    each = track(series.results(()), total=series.n_steps, description=said)
    return [_plain(student) for student in each]


if __name__ == "__main__":
    record_models(FILE, measured)
