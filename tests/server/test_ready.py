"""A link that is ready for a class: its run is made once, and kept in every process."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from blocks import ModelConfig
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from blocks.work import Queue
from pages.server import cached, machine, ready

CONFIG = ModelConfig.from_flat({"d_model": 16, "n_heads": 2})
RUN = Run(config=CONFIG, input=Input(tokens=("ready", "猫")), mask=MaskConfig(), seed=77)


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def elsewhere(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    """The queue as another process has it; this one opens the same file."""
    here, there = (Queue(tmp_path / "queue", clock=clock) for _ in range(2))
    monkeypatch.setattr(machine, "queue", lambda: here)
    yield there
    cached.recordings().clear()
    here.close()
    there.close()


def test_what_a_teacher_makes_ready_is_told_to_the_others_and_outlives_other_readers(
    elsewhere: Queue, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cached, "own_runs", lambda: (RUN,))
    monkeypatch.setattr(ready, "listen", lambda: None)
    assert ready.make_ready() == 1
    cached.recordings()._recent.clear()  # as many other readers would
    gc.collect()
    assert cached.is_recorded(RUN)
    assert len(elsewhere.notes(ready.KIND, within=60)) == 1


def test_what_was_made_ready_elsewhere_is_made_here_and_let_go_of_in_time(
    elsewhere: Queue, clock: Clock
):
    elsewhere.note(ready.KIND, "a", {"run": ready.to_line(RUN)})
    elsewhere.note(ready.KIND, "b", {"run": "of another version"})
    assert not cached.is_recorded(RUN)
    ready.take_up()
    cached.recordings()._recent.clear()
    gc.collect()
    assert cached.is_recorded(RUN)
    clock.now += ready.HOURS * 3600
    ready.take_up()
    gc.collect()
    assert not cached.is_recorded(RUN)
