"""The lessons that there are: ours, and those in a folder that whoever runs the server names."""

import logging
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from blocks.lessons.lesson import Lesson
from blocks.lessons.reading import NOT_UTF_8, read
from blocks.model.faults import ConfigError, Fault
from blocks.model.shipped import shipped

logger = logging.getLogger(__name__)
OURS = shipped("lessons")
ORDER = (
    "tokens",
    "attention-by-hand",
    "scaling",
    "heads",
    "leaking-mask",
    "order",
    "residual",
    "pre-or-post",
    "feed-forward",
    "next-word",
    "induction",
    "induction-over-time",
    "translation",
    "grokking",
    "superposition",
    "believe",
    "circuit",
)
HOMEWORK = "homework-"  # how the names of assignments begin
NAME = re.compile(r"([a-z0-9-]{1,40})\.(en|zh)\.md")


def names(folder: Path = OURS) -> tuple[str, ...]:
    """All lessons of a folder: ours in the order in which they build on each other."""
    matches = (NAME.fullmatch(path.name) for path in sorted(folder.glob("*.md")))
    found = dict.fromkeys(match[1] for match in matches if match)
    lessons = [name for name in found if not name.startswith(HOMEWORK)]
    return (*(n for n in ORDER if n in lessons), *(n for n in lessons if n not in ORDER))


def assignments() -> tuple[str, ...]:
    """What is worked out at home: lessons of one question, whose number a run gives."""
    return tuple(sorted({path.name.partition(".")[0] for path in OURS.glob(f"{HOMEWORK}*.md")}))


def lesson(name: str, language: str, folder: Path = OURS) -> Lesson | None:
    """A lesson in a language, or else in the other; None where there is none that can be read."""
    for each in dict.fromkeys((language, "en", "zh")):
        path = folder / f"{name}.{each}.md"
        if NAME.fullmatch(path.name) and path.is_file():
            found = _read(path, path.stat().st_mtime_ns)
            return found if isinstance(found, Lesson) else None
    return None


def refused(folder: Path) -> Mapping[str, tuple[Fault, ...]]:
    """The files of a folder that cannot be read as lessons, and why: they are left out."""
    paths = (path for path in sorted(folder.glob("*.md")) if NAME.fullmatch(path.name))
    found = {path.name: _read(path, path.stat().st_mtime_ns) for path in paths}
    return {name: faults for name, faults in found.items() if not isinstance(faults, Lesson)}


@lru_cache(maxsize=64)
def _read(path: Path, _changed_at: int) -> Lesson | tuple[Fault, ...]:
    """A lesson, or why it is none, which the log says once."""
    name, language, _suffix = path.name.split(".")
    try:
        return read(path.read_text("utf-8"), id=name, language=language)
    except ConfigError as error:
        faults = error.faults
    except UnicodeDecodeError:
        faults = (Fault(NOT_UTF_8),)
    logger.warning("lesson %s is left out: %s", path, "; ".join(map(str, faults)))
    return faults
