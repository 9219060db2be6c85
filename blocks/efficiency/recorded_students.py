"""Students of the shipped models, trained beforehand, to be seen at once.

    python -m blocks.efficiency.recorded_students [name ...]

trains them anew: half an hour on a core. On other processors the last digits differ.
"""

import dataclasses
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch
from rich.progress import track

from blocks.efficiency.distillation import Student, Students, StudentSize, Way
from blocks.model.shipped import rows_in, shipped, write_rows
from blocks.training.teaching import Distillation, shipped_teacher
from blocks.weights.pocket import pocket_names

FILE = shipped("runs", "students.json")
DIGITS, N_THREADS = 5, 1


def recorded_students(teacher: str, size: StudentSize, how: Distillation) -> tuple[Student, ...]:
    """The trained students of a shipped model; none where they were taught in another way."""
    is_usual = size is StudentSize.HALF_LAYERS and how == Distillation()
    return _all().get(teacher, ()) if is_usual else ()


@lru_cache(maxsize=1)
def _all() -> Mapping[str, tuple[Student, ...]]:
    rows = rows_in(FILE)
    return {name: tuple(map(_read, row)) for name, row in rows.items()}


def _read(row: Mapping[str, Any]) -> Student:
    lists = {name: tuple(row[name]) for name in ("updates", "losses")}
    return Student(**{**row, **lists, "way": Way(row["way"])})


def _plain(student: Student) -> dict[str, Any]:
    values = dataclasses.asdict(student)
    losses = [round(loss, DIGITS) for loss in student.losses]
    return {
        **values,
        "way": str(student.way),
        "losses": losses,
        "score": round(student.score, DIGITS),
    }


def main(names: tuple[str, ...]) -> None:
    """Train the students of each, and put all into one file."""
    torch.set_num_threads(N_THREADS)
    rows = rows_in(FILE)
    for name in names:
        series = Students(teacher=shipped_teacher(name))
        each = track(series.results(()), total=series.n_steps, description=name)
        rows[name] = [_plain(student) for student in each]
        write_rows(FILE, rows)


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or pocket_names())
