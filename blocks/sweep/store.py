"""The finished trainings of all sweeps of a folder: a small file each, found by its key."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from blocks.model.faults import N_, ConfigError, Fault
from blocks.sweep.outcome import Outcome
from blocks.sweep.point import Point

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

UNFINISHED, MOST_UNFINISHED = "unfinished", 500
OF_APP = "sweeps"  # in `BLOCKSCOPE_DATA`


class Store:
    """Several processes may share it; the oldest of more than `most` outcomes are forgotten."""

    def __init__(self, folder: Path, *, most: int = 100_000):
        self.folder, self._most = folder, most
        try:
            (folder / UNFINISHED).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError([_write_fault(folder, error)]) from error

    def get(self, point: Point) -> Outcome | None:
        """What it came to; None where it is not finished, or its file is damaged."""
        with suppress(OSError, ValueError):
            return Outcome.from_json(self.file(point).read_text("utf-8"))
        return None

    def put(self, point: Point, outcome: Outcome) -> None:
        """Keep it, whole or not at all. Raises `ConfigError` where the disk is full."""
        new = self.folder / f".{uuid4().hex}"
        try:
            new.write_text(outcome.to_json(), "utf-8")
            new.replace(self.file(point))
        except OSError as error:
            raise ConfigError([_write_fault(self.folder, error)]) from error
        finally:
            new.unlink(missing_ok=True)
        shutil.rmtree(self.unfinished(point), ignore_errors=True)
        self._forget_oldest()

    def file(self, point: Point) -> Path:
        """Where its outcome is kept."""
        return self.folder / f"{point.key}.json"

    def unfinished(self, point: Point) -> Path:
        """The folder in which it is kept how far it has come."""
        return self.folder / UNFINISHED / point.key

    @contextmanager
    def claimed(self, point: Point) -> Iterator[bool]:
        """Whether nobody else trains it; as long as this lasts, nobody else does.

        The lock is the kernel's: who dies lets go of it.
        """
        file = os.open(self.folder / UNFINISHED / f"{point.key}.lock", os.O_RDWR | os.O_CREAT)
        try:
            yield _is_locked(file)
        finally:
            os.close(file)

    def _forget_oldest(self) -> None:
        files = [*self.folder.glob("*.json")]
        if len(files) > self._most:
            for old in sorted(files, key=_changed_at)[: -self._most]:
                old.unlink(missing_ok=True)
        begun = [each for each in (self.folder / UNFINISHED).iterdir() if each.is_dir()]
        for old in sorted(begun, key=_changed_at)[:-MOST_UNFINISHED]:
            shutil.rmtree(old, ignore_errors=True)


def _changed_at(path: Path) -> float:
    """When; at the beginning of time where others have deleted it meanwhile."""
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _is_locked(file: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _write_fault(folder: Path, error: OSError) -> Fault:
    text = N_("Nothing could be saved in {folder} ({error}): choose another folder")
    return Fault(text, {"folder": folder, "error": error.strerror or str(error)})
