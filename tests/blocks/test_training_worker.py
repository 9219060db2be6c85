"""Trainings in a process of their own: the same events, and nothing that stays behind."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from training_toy import TASK, losses, toy_config, toy_spec
from waiting import wait

from blocks.model.faults import Fault
from blocks.model.kinds import Architecture
from blocks.training.events import (
    Answer,
    Ended,
    Evaluation,
    Event,
    Reason,
    Sample,
    SnapshotTaken,
    Step,
)
from blocks.training.job import TrainingJob
from blocks.training.log import Log
from blocks.training.loop import train
from blocks.training.recipe import Recipe
from blocks.training.runs import Runs
from blocks.training.snapshots import Snapshots
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind
from blocks.training.training_run import RunState, TrainingRun
from blocks.work import worker_process
from blocks.work.plain import from_line, to_line
from blocks.work.worker_process import WorkerProcess

LONG = {"n_steps": 20_000, "eval_every": 5, "n_eval_batches": 1}


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """One process for all tests that leave it alive; no file of theirs stays behind."""
    registry = Runs(folder=tmp_path_factory.mktemp("turns"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("jobs")))
        yield registry
        pids = [process_of(registry).pid]
        registry.close()
        assert not any(map(is_running, pids))
        assert folders_of_jobs() == []


def folders_of_jobs() -> list[Path]:
    return [*Path(tempfile.gettempdir()).glob("blockscope-*")]


def process_of(runs: Runs) -> WorkerProcess:
    assert runs._processes is not None
    return runs._processes._of["cpu"]


def ended_run(runs: Runs, spec: TrainingSpec) -> TrainingRun:
    run = runs.start(spec)
    wait(lambda: run.state.has_ended)
    return run


def test_a_process_tells_what_a_thread_does(shared: Runs):
    spec = toy_spec()
    thread = Runs()
    here, there = ended_run(thread, spec).view(), ended_run(shared, spec).view()
    thread.close()
    assert there.state is RunState.FINISHED
    assert there.curves["loss"].tolist() == pytest.approx(here.curves["loss"].tolist())
    timed = ["seconds"]
    assert there.evaluations.drop(columns=timed).equals(here.evaluations.drop(columns=timed))
    assert there.samples == here.samples
    assert there.snapshot_steps == here.snapshot_steps


def test_weights_come_back_from_a_process(shared: Runs):
    thread = Runs()
    here, there = (ended_run(runs, toy_spec(seed=1)) for runs in (thread, shared))
    thread.close()
    for step in (0, 4, 10):
        for name, weight in here.weights(step).items():
            torch.testing.assert_close(there.weights(step)[name], weight)


def test_a_fault_comes_back_whole(shared: Runs):
    fault = ended_run(shared, toy_spec(vocab_size=3)).view().fault
    assert fault is not None
    assert fault.mend == {"vocab_size": toy_config().vocab_size}


def test_a_pause_a_resume_and_a_stop_reach_the_process(shared: Runs):
    spec = toy_spec(n_steps=200, eval_every=200, n_eval_batches=1)
    whole = losses([*train(spec)])
    run = shared.start(spec)
    wait(lambda: run.step)
    shared.pause(run.id)
    wait(lambda: run.state is not RunState.RUNNING)
    assert (run.state, run.step < 200) == (RunState.PAUSED, True)
    shared.resume(run.id)
    wait(lambda: run.state is RunState.FINISHED)
    assert run.view().curves["loss"].tolist() == pytest.approx(whole)
    endless = shared.start(toy_spec(**LONG))
    wait(lambda: endless.step)
    shared.stop(endless.id)
    wait(lambda: endless.state is RunState.STOPPED)
    assert endless.snapshots.steps[-1] == endless.step < LONG["n_steps"]


def test_a_killed_process_is_said_the_next_goes_on_and_a_resume_too(shared: Runs):
    run, other = shared.start(toy_spec(**LONG)), shared.start(toy_spec())
    wait(lambda: run.step > 20)
    process = process_of(shared)
    os.kill(process.pid, signal.SIGKILL)
    wait(lambda: other.state is RunState.FINISHED)
    assert process_of(shared) is not process
    fault = run.view().fault
    assert run.state is RunState.PAUSED
    assert "ended (SIGKILL). Press “Resume” to continue from step" in str(fault)
    step = run.step
    assert fault is not None
    assert fault.values["step"] == step
    shared.resume(run.id)
    wait(lambda: run.step > step + 5)
    shared.stop(run.id)
    wait(lambda: run.state is RunState.STOPPED)
    steps = run.view().curves["step"].tolist()
    assert steps == [*range(1, len(steps) + 1)]
    assert list(run.snapshots.steps) == sorted(run.snapshots.steps)


def test_a_job_leaves_off_within_a_step(tmp_path: Path):
    told: list[Event] = []
    for event in TrainingJob(toy_spec(**LONG), tmp_path).events(lambda: len(losses(told)) >= 3):
        told.append(event)
    assert len(losses(told)) == 3
    assert told[-1] == Ended(Reason.STOPPED)


def test_a_process_that_loses_its_server_ends_in_the_middle_of_a_step(
    shared: Runs, monkeypatch: pytest.MonkeyPatch
):
    # Its files go with it, and this server, which is still there, is not to look for them.
    monkeypatch.setattr(TrainingJob, "taken", lambda *_: {})
    monkeypatch.setattr(Snapshots, "keep", lambda *_: None)
    run = shared.start(toy_spec(**LONG))
    wait(lambda: run.step)
    process = process_of(shared)
    process._asks.close()  # as the end of this process would
    wait(lambda: run.state is RunState.FAILED)
    assert process.how_it_ended() == "exit code 0"


@pytest.mark.parametrize("said", ["exit(3)", "print('something else')"])
def test_where_no_process_starts_the_training_goes_on_here(
    said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "no_worker.py").write_text(said)
    monkeypatch.setattr(worker_process, "ROOT", tmp_path)
    monkeypatch.setattr(worker_process, "WORKER", "no_worker")
    runs = Runs(folder=tmp_path)
    runs.warm("cpu")
    assert ended_run(runs, toy_spec()).state is RunState.FINISHED
    runs.close()


FAULT = Fault("{name} is {value}", {"name": "a", "value": 3}, {"a": 0.1})
EVENTS: list[Event] = [
    Step(3, 0.1 + 0.2, 1e-3, float("inf"), 100.0, 1.5),
    Evaluation(3, 1.5, 0.5, 0.1, (0.1, 0.2)),
    Sample(3, "猫 sat\n\u2028", (Answer("a", "b", "猫"),)),
    SnapshotTaken(4),
    Ended(Reason.FINISHED),
    Ended(Reason.DIVERGED, FAULT),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_the_same_after_its_line(event: Event):
    line = to_line(event)
    assert "\n" not in line
    assert from_line(line) == event


@pytest.mark.parametrize(
    "task",
    [
        TASK,
        TaskConfig(kind=TaskKind.ADDITION, seq_len=11, architecture=Architecture.ENCODER_DECODER),
        TaskConfig(kind=TaskKind.TEXT, text="猫\u2028\n" * 20, seq_len=8),
    ],
)
def test_a_job_is_the_same_after_its_line(task: TaskConfig, tmp_path: Path):
    spec = TrainingSpec(config=toy_config(), task=task, recipe=Recipe(n_steps=7, warmup_steps=1))
    asked = TrainingJob(spec, tmp_path, resumes=True)
    assert from_line(to_line(asked)) == asked


def test_a_log_goes_back_and_on_without_a_gap():
    log = Log(most_points=8)
    steps = [Step(step, 1.0, 1e-3, 1.0, 100.0, float(step)) for step in range(1, 21)]
    for step in steps:
        log.note(step)
    log.go_back(20)
    assert log.steps.newest == steps[-1]
    log.go_back(9)
    assert log.steps.newest is not None
    assert log.steps.newest.step == 9
    for step in steps[9:]:
        log.note(step)
    told = [step.step for step in log.steps.items()]
    assert told == sorted(set(told))
    assert told[-1] == 20
