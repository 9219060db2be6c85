"""*Which setting is best?* on the Training page: started, shared by readers, taken away."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from opened import assert_works, opened, press, run, said

from blocks.sweep import Store
from blocks.sweep.engine import Began, Told
from blocks.sweep.job import PointJob
from blocks.sweep.point import Point
from blocks.sweep.sweeps import Sweeps
from pages.panels.training import sweeps
from pages.server import machine

PAGE = "pages/training.py"
SMALL = {"preset": "fast", "n_layers": 1, "d_model": 16, "n_heads": 2, "batch_size": 2}
SHORT = {**SMALL, "task": "sort", "task_seq_len": 8, "n_steps": 3, "warmup_steps": 0}
SWEEP = {**SHORT, "panel": "sweep", "sweep_values": "0.01,0.1", "sweep_seeds": 2}
BEGUN = Counter[str]()


class Here:
    """Trains in this process."""

    n_at_once = 1

    def __init__(self, store: Store):
        self.store = store

    def events(
        self, points: Iterator[Point | None], leaves_off: Callable[[], bool]
    ) -> Iterator[Told]:
        for point in points:
            if point is None or leaves_off():
                continue
            BEGUN[point.key] += 1
            yield Told(point, Began("cpu"))
            job = PointJob(point.spec, self.store.unfinished(point))
            yield from (Told(point, event) for event in job.events(leaves_off))


@pytest.fixture(autouse=True)
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sweeps]:
    store = Store(tmp_path)
    made = Sweeps(store, lambda _device: Here(store), most_points=8)
    monkeypatch.setattr(sweeps, "sweeps", lambda: made)
    monkeypatch.setattr(sweeps, "engine", lambda _device: Here(store))
    monkeypatch.setattr(machine, "folder", lambda: tmp_path)
    BEGUN.clear()
    yield made
    made.close()


def finished(registry: Sweeps) -> None:
    deadline = time.monotonic() + 120
    while not all(going.is_over for going in registry._going.values()):
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.01)


def test_a_sweep_is_started_once_and_shared(registry: Sweeps):
    at = opened(PAGE, **SWEEP)
    assert "4 runs, 1 at a time." in said(at) and "nothing else runs on this machine" in said(at)
    press(at, "start_sweep")
    finished(registry)
    assert_works(run(at))
    assert "Best: **learning_rate" in said(at) and len(BEGUN) == 4
    assert "python -m blocks sweep blockscope-Sweep.toml" in said(at)
    other = opened(PAGE, **SWEEP | {"sweep_values": "0.01,0.1,0.3"})
    assert "2 runs, 1 at a time" in said(other)
    press(other, "start_sweep")
    finished(registry)
    assert len(BEGUN) == 6 and {*BEGUN.values()} == {1}


def test_what_cannot_be_says_the_mend(registry: Sweeps):
    assert "no values" in said(opened(PAGE, **SWEEP | {"sweep_values": ""}))
    assert "n_heads" in said(
        opened(PAGE, **SWEEP | {"sweep_field": "n_heads", "sweep_values": "3"})
    )
    many = opened(PAGE, **SWEEP | {"sweep_seeds": 5})
    assert "10 runs exceed the 8 allowed here" in said(many)


def test_a_change_is_judged_at_equal_tokens_flops_and_time(registry: Sweeps):
    contest = SHORT | {"panel": "verdict", "verdict_changes": "d_model=32", "sweep_seeds": 2}
    at = press(opened(PAGE, **contest), "start_verdict")
    finished(registry)
    assert_works(run(at))
    assert said(at).count("With equal") == 3
    assert "write NAME=VALUE" in said(opened(PAGE, **contest | {"verdict_changes": "d_model"}))
