"""A damaged file is begun anew; one that is locked, or has no room, is told in a sentence."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from blocks.lessons.rooms import Rooms
from blocks.model.faults import ConfigError
from blocks.work import shared_file
from blocks.work.queue import Lane, Queue
from blocks.work.shared_file import ASIDE

LANE = Lane("training", "cpu")


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shared_file, "PATIENCE", 0.01)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "queue.sqlite"


@pytest.fixture
def queue(file: Path) -> Iterator[Queue]:
    found = Queue(file)
    yield found
    found.close()


def damage(file: Path) -> None:
    file.write_bytes(b"no database " * 1000)
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def aside(file: Path) -> Path:
    return file.with_name(file.name + ASIDE)


def test_a_damaged_file_is_set_aside_and_begun_anew(file: Path, queue: Queue):
    damage(file)
    ticket = queue.enter(LANE)
    assert queue.place(ticket).position == 0
    assert aside(file).read_bytes().startswith(b"no database")


def test_rooms_that_are_damaged_are_begun_anew(tmp_path: Path):
    file = tmp_path / "rooms.sqlite"
    damage(file)
    kept = Rooms(file)
    assert kept.lesson_of(kept.open("heads")) == "heads" and aside(file).exists()
    kept._file.close()


def test_what_comes_to_harm_in_use_is_told_once_and_all_processes_go_on_with_one_file(file: Path):
    here, there = Queue(file), Queue(file)
    here.enter(LANE)
    assert there.waiting(LANE) == 0
    for each in (here, there):  # as a process that has just begun
        each._file.close()
    assert damage(file) is None
    here._file._connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
    here._file._opened = here._file._inode()
    with pytest.raises(ConfigError, match="damaged and has been created again"):
        here.enter(Lane("series", "cpu"))
    second = there.enter(Lane("series", "cpu"))
    third = here.enter(Lane("series", "cpu"))
    assert [there.place(second).position, here.place(third).position] == [0, 1]
    here.close()
    there.close()


def test_who_has_set_a_file_aside_takes_the_new_one_from_nobody(file: Path):
    here, there = Queue(file), Queue(file)
    first = here.enter(LANE)
    there.enter(LANE)
    file.replace(aside(file))  # as a third process does
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink()
    here.beat()
    assert there.place(there.enter(LANE)).position == 1
    assert here.place(first).position == 0
    here.close()
    there.close()


def test_a_locked_file_is_a_sentence_and_nobody_s_turn_comes(file: Path, queue: Queue):
    ticket = queue.enter(LANE)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(ConfigError, match=r"Another task is using queue\.sqlite"):
        queue.enter(LANE)
    queue.leave(ticket)
    other.execute("ROLLBACK")
    other.close()
    assert queue.place(queue.enter(LANE)).position == 1  # until the other is forgotten


def test_a_full_disk_is_a_sentence(file: Path, queue: Queue):
    queue.enter(LANE)
    (n_pages,) = queue._file.rows("PRAGMA page_count")[0]
    queue._file.rows(f"PRAGMA max_page_count = {n_pages}")
    with pytest.raises(ConfigError, match=r"cannot use queue\.sqlite \(database or disk is full\)"):
        queue.note("class", "a", {"run": "x" * 100_000})
    queue._file.rows("PRAGMA max_page_count = 1000000")
    queue.note("class", "a", {"run": "x"})
    assert queue.notes("class", within=60) == {"a": {"run": "x"}}


def test_a_file_that_cannot_be_opened_ends_nothing(tmp_path: Path):
    queue = Queue(tmp_path / "no folder" / "queue.sqlite")
    with pytest.raises(ConfigError, match="unable to open"):
        queue.enter(LANE)
    assert queue.waiting(LANE) == 0
    queue.close()
