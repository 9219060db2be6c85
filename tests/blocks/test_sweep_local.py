"""Sweeps in processes of this machine: what is left where one dies, and whose turn it is."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from test_sweep import RATES, Here, outcomes, same
from training_toy import toy_spec

from blocks.sweep import LocalEngine, Store, Sweep, local, trained
from blocks.sweep.engine import Began, Retried
from blocks.sweep.job import Done, PointJob
from blocks.training.events import Evaluation
from blocks.work.queue import Lane, Queue


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


class Dying:
    """A worker process in this one; the first of all dies after its second look."""

    n_started = 0

    def __init__(self, _folder: Path, *, gives_way: bool):
        assert gives_way
        Dying.n_started += 1
        self.is_alive, self.leaves_off = True, False

    def wait_until_ready(self) -> None: ...

    def begin(self, job: PointJob) -> None:
        self.told = job.events(lambda: self.leaves_off)

    def events(self) -> Iterator[object]:
        n_looks = 0
        for event in self.told:
            yield event
            n_looks += isinstance(event, Evaluation)
            if n_looks == 2 and Dying.n_started == 1:
                self.is_alive = False
                return

    def leave_off(self) -> None:
        self.leaves_off = True

    def close(self) -> None: ...

    def how_it_ended(self) -> str:
        return "SIGKILL"


def test_a_worker_that_dies_costs_what_came_after_its_checkpoint(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(local, "WorkerProcess", Dying)
    monkeypatch.setattr(Dying, "n_started", 0)
    sweep = Sweep(base=toy_spec(), fields=(RATES,), seeds=(0,))
    engine = LocalEngine(store.unfinished, tmp_path, n_at_once=1, seconds_between=0)
    told = [*trained(sweep, engine, store)]
    tries = [each.event for each in told if isinstance(each.event, Began | Retried)]
    assert tries == [Began("cpu"), Retried("SIGKILL"), Began("cpu")] and Dying.n_started == 2
    steps = [each.event.step for each in told if isinstance(each.event, Evaluation)]
    assert steps == [0, 5, 10, 0, 5, 10]
    other = Store(tmp_path / "other")
    found, alone = outcomes(iter(told)), outcomes(trained(sweep, Here(other), other))
    assert all(same(found[key], alone[key]) for key in alone)


def test_two_readers_take_turns_point_by_point(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    queue, seeds = Queue(), ((0, 1, 2, 3), (4, 5, 6))
    order: list[int] = []

    class Patient(Dying):
        """Trains until the other reader stands in line, or has nothing left."""

        def begin(self, job: PointJob) -> None:
            order.append(job.spec.seed)
            while not queue.waiting(Lane("training", "cpu")) and len(order) < 2 * len(seeds[1]):
                time.sleep(0.01)
            super().begin(job)

    monkeypatch.setattr(local, "WorkerProcess", Patient)
    monkeypatch.setattr(Dying, "n_started", 1)  # none dies

    def read(seeds: tuple[int, ...]) -> None:
        engine = LocalEngine(store.unfinished, tmp_path, n_at_once=1, queue=queue)
        outcomes(trained(Sweep(base=toy_spec(), seeds=seeds), engine, store))

    readers = [threading.Thread(target=read, args=(each,)) for each in seeds]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    whose = [seed in seeds[0] for seed in order[: 2 * len(seeds[1])]]
    assert len(order) == 7 and all(one != other for one, other in pairwise(whose))


@pytest.mark.exhaustive
def test_killed_processes_and_a_closed_sweep_lose_nothing_that_is_finished(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    started: list[int] = []

    class Process(local.WorkerProcess):
        def __init__(self, folder: Path, *, gives_way: bool):
            super().__init__(folder, gives_way=gives_way)
            started.append(self.pid)

    monkeypatch.setattr(local, "WorkerProcess", Process)
    base = toy_spec(n_steps=400, eval_every=5)
    sweep = Sweep(base=base, fields=(RATES,), seeds=(0, 1))
    engine = LocalEngine(store.unfinished, tmp_path, n_at_once=2, seconds_between=0)
    finished: set[str] = set()
    for told in trained(sweep, engine, store):
        if isinstance(told.event, Done):
            finished.add(told.point.key)
            if len(finished) == 2:
                break  # as where the app ends
        if isinstance(told.event, Evaluation) and told.event.step == 50 and len(started) < 4:
            os.kill(started[-1], signal.SIGKILL)
    assert len(started) >= 3
    here, other = Here(store), Store(tmp_path / "other")
    found = outcomes(trained(sweep, here, store))
    assert not finished & here.begun.keys()
    alone = outcomes(trained(sweep, Here(other), other))
    assert found.keys() == alone.keys() and all(same(found[key], alone[key]) for key in alone)
