"""One queue for several processes: first come first served, bounded, and no dead hand on it."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from blocks import ConfigError
from blocks.work import queue as queues
from blocks.work.queue import Lane, Queue, Room
from blocks.work.turns import Turns
from blocks.work.worker_process import ROOT

LANE = Lane("training", "cpu")
ELSEWHERE = """
import sys, pathlib
from blocks.work.queue import Lane, Queue
def entered():
    queue = Queue(pathlib.Path(sys.argv[1]))
    ticket = queue.enter(Lane("training", "cpu"), owner="there")
    print(queue.place(ticket).position, flush=True)
    return queue, ticket
first, ticket = entered()
sys.stdin.readline()
second, _ = entered()
sys.stdin.readline()
first.leave(ticket)
print("left", flush=True)
sys.stdin.readline()
"""


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return time.time() + self.now


def elsewhere(file: Path) -> subprocess.Popen[str]:
    """Another process that takes a place, another one and gives up the first, when it is told."""
    return subprocess.Popen(
        [sys.executable, "-c", ELSEWHERE, str(file)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        bufsize=1,
    )


def test_processes_wait_for_each_other_and_a_killed_one_is_forgotten(tmp_path: Path):
    file, clock = tmp_path / "queue", Clock()
    here, there = Queue(file, clock=clock), elsewhere(file)
    try:
        assert there.stdout is not None and there.stdin is not None
        assert there.stdout.readline() == "0\n"
        mine = here.enter(LANE, seconds_left=lambda: 7.0)
        there.stdin.write("enter\n")
        assert there.stdout.readline() == "2\n"
        assert here.place(mine).position == 1
        there.stdin.write("leave\n")
        assert there.stdout.readline() == "left\n"
        assert here.place(mine) == (0, 0.0)
        assert here.lanes() == {LANE: 2}
        os.kill(there.pid, signal.SIGKILL)
        there.wait()
        last = here.enter(LANE)
        assert here.place(last).position == 2
        clock.now += queues.FORGOTTEN_AFTER
        here.beat()
        assert here.place(last) == (1, 7.0)
    finally:
        there.kill()
        there.communicate()
        here.close()


def test_who_was_taken_for_dead_is_back_in_its_place(tmp_path: Path):
    clock = Clock()
    slow, other = Queue(tmp_path / "queue", clock=clock), Queue(tmp_path / "queue", clock=clock)
    first = slow.enter(LANE)
    clock.now += queues.FORGOTTEN_AFTER + 1
    second = other.enter(LANE)
    assert other.place(second).position == 0
    slow.beat()
    assert [slow.place(first).position, other.place(second).position] == [0, 1]
    slow.close()
    assert other.place(second).position == 0
    other.close()


def test_a_full_queue_says_so_and_nobody_fills_it_alone():
    queue, room = Queue(), Room(in_all=2, of_one=1)
    places = [queue.enter(LANE, owner="ann", room=room) for _ in range(2)]
    with pytest.raises(ConfigError, match="Your waiting runs: 1 "):
        queue.enter(LANE, owner="ann", room=room)
    queue.enter(LANE, owner="bob", room=room)
    with pytest.raises(ConfigError, match="2 runs are already waiting, and at most 2 may wait"):
        queue.enter(LANE, owner="eve", room=room)
    queue.enter(Lane("series", "cpu"), owner="eve", room=room)
    queue.leave(places[0])
    assert queue.enter(LANE, owner="eve", room=room).id > places[1].id
    queue.close()


def test_notes_are_read_by_all_while_they_are_new(tmp_path: Path):
    clock = Clock()
    one, other = (Queue(tmp_path / "queue", clock=clock) for _ in range(2))
    one.note("process", "a", {"readers": 2})
    clock.now += 5
    other.note("process", "b", {"readers": 3})
    assert other.notes("process", within=60) == {"b": {"readers": 3}, "a": {"readers": 2}}
    assert one.notes("process", within=3) == {"b": {"readers": 3}}
    one.close()
    other.close()


def test_one_alone_waits_for_those_who_share_and_keeps_the_next_out(tmp_path: Path):
    turns, told = Turns(tmp_path), list[str]()
    begun = threading.Event()

    def alone() -> None:
        begun.set()
        with turns.alone("cpu"):
            told.append("alone")

    def beside() -> None:
        with turns.beside_others("cpu"):
            told.append("beside")

    with turns.beside_others("cpu"), turns.beside_others("another"):
        one = threading.Thread(target=alone)
        one.start()
        begun.wait()
        assert told == []
    one.join()
    with turns.alone("cpu"):
        other = threading.Thread(target=beside)
        other.start()
        told.append("alone too")
    other.join()
    assert told == ["alone", "alone too", "beside"]
