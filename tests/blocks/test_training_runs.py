"""Many runs on one device: in turn, bounded, and each for itself."""

import dataclasses
import itertools
import threading
from collections.abc import Iterator

import pandas as pd
import pytest
import torch
from steps import steps
from training_toy import losses, toy_spec
from waiting import PATIENCE, wait

from blocks import ConfigError, build
from blocks.cost.peak_memory import TensorMemory
from blocks.training import masters
from blocks.training.events import Evaluation, Sample, Step
from blocks.training.limits import Limits, limit_faults
from blocks.training.log import Log, Thinned
from blocks.training.loop import Training, train
from blocks.training.runs import Runs
from blocks.training.training_run import RunState, RunView, TrainingRun

LONG = {"n_steps": 20_000, "eval_every": 20_000, "n_eval_batches": 1}


@pytest.fixture
def runs() -> Iterator[Runs]:
    registry = Runs()
    yield registry
    registry.close()


def until_state(run: TrainingRun, *states: RunState) -> None:
    wait(lambda: run.state in states)


def position(runs: Runs, run: TrainingRun) -> int | None:
    place = runs.place(run.id)
    return None if place is None else place.position


def expected_wait(runs: Runs, run: TrainingRun) -> float | None:
    place = runs.place(run.id)
    assert place is not None
    return place.seconds


def started(runs: Runs, step: int = 1, **changes: object) -> TrainingRun:
    """A run that has the device, and would keep it for long."""
    run = runs.start(toy_spec(**LONG | changes))
    wait(lambda: run.step >= step)
    return run


@pytest.mark.usefixtures("process_state_kept")
def test_runs_started_at_once_end_one_after_the_other_each_with_its_own_losses(runs: Runs):
    specs = [toy_spec(seed=seed) for seed in range(3)]
    barrier, found = threading.Barrier(3), [None] * 3

    def start(i: int) -> None:
        barrier.wait()
        found[i] = runs.start(specs[i])

    threads = [threading.Thread(target=start, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for run in found:
        until_state(run, RunState.FINISHED)
    assert len({run.id for run in found}) == 3
    for spec, run in zip(specs, found, strict=True):
        assert run.view().curves["loss"].tolist() == losses([*train(spec)])


def test_one_run_at_a_time_first_come_first_served(runs: Runs):
    first = started(runs)
    others = [runs.start(toy_spec(seed=seed)) for seed in (1, 2, 3)]
    assert [position(runs, run) for run in (first, *others)] == [0, 1, 2, 3]
    assert {run.state for run in others} == {RunState.QUEUED}
    runs.stop(others[1].id)
    assert [position(runs, run) for run in others] == [1, None, 2]
    ends: list[str] = []
    for run in (others[0], others[2]):
        runs.stop(first.id)
        until_state(run, RunState.FINISHED)
        ends.append(run.id)
    assert (first.state, others[1].state) == (RunState.STOPPED, RunState.STOPPED)
    assert others[1].step == 0


def test_a_paused_run_gives_the_device_to_the_next_and_goes_on_where_it_was(runs: Runs):
    spec = toy_spec(n_steps=60)
    run = started(runs, n_steps=60, **{"eval_every": 5, "n_eval_batches": 2})
    runs.pause(run.id)
    until_state(run, RunState.PAUSED)
    step = run.step
    assert 0 < step < 60
    other = runs.start(toy_spec(seed=1))
    until_state(other, RunState.FINISHED)
    assert (run.state, run.step) == (RunState.PAUSED, step)
    runs.resume(run.id)
    until_state(run, RunState.FINISHED)
    assert run.view().curves["loss"].tolist() == losses([*train(spec)])


def test_a_pause_is_taken_back_by_a_resume_in_the_same_moment(runs: Runs):
    run = started(runs)
    step = run.step
    runs.pause(run.id)
    runs.resume(run.id)
    wait(lambda: run.step > step + 20)
    assert run.state in (RunState.RUNNING, RunState.QUEUED)


def test_a_queued_run_can_be_paused_and_comes_last_then(runs: Runs):
    started(runs)
    early, late = (runs.start(toy_spec(seed=seed)) for seed in (1, 2))
    runs.pause(early.id)
    assert (early.state, position(runs, late)) == (RunState.PAUSED, 1)
    runs.resume(early.id)
    assert [position(runs, run) for run in (late, early)] == [1, 2]


def test_a_stopped_run_keeps_its_curve_and_its_last_weights(runs: Runs):
    run = started(runs, step=5)
    runs.stop(run.id)
    until_state(run, RunState.STOPPED)
    view = run.view()
    assert view.fault is None
    assert view.curves["step"].tolist() == [*range(1, view.step + 1)]
    assert view.snapshot_steps[-1] == view.step
    runs.stop(run.id)
    runs.resume(run.id)
    assert run.state is RunState.STOPPED


def test_a_paused_run_can_be_stopped(runs: Runs):
    run = started(runs)
    runs.pause(run.id)
    until_state(run, RunState.PAUSED)
    runs.stop(run.id)
    assert run.state is RunState.STOPPED


def test_a_run_that_fails_or_diverges_says_why_and_others_go_on(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
):
    rates = {"learning_rate": 1e6, "norm_kind": "none", "clip_norm": 0.0, "n_steps": 50}
    diverging, good = runs.start(toy_spec(**rates)), runs.start(toy_spec())
    until_state(good, RunState.FINISHED)
    assert diverging.state is RunState.FAILED
    assert "learning_rate" in str(diverging.view().fault)

    def broken(*_: object, **__: object) -> None:
        raise KeyError("a part is missing")

    with monkeypatch.context() as patched:
        patched.setattr(masters, "build", broken)
        failing = runs.start(toy_spec())
        until_state(failing, RunState.FAILED)
    after = runs.start(toy_spec())
    until_state(after, RunState.FINISHED)
    assert "a part is missing" in str(failing.view().fault)


def test_a_model_that_does_not_fit_its_task_fails_with_the_mend(runs: Runs):
    run = runs.start(toy_spec(vocab_size=3))
    until_state(run, RunState.FAILED)
    fault = run.view().fault
    assert fault is not None
    assert "vocab_size" in fault.mend


def test_a_view_does_not_change_and_takes_no_more_steps_later(runs: Runs):
    run = started(runs, step=50)
    view, least = run.view(), steps(run.view)
    kept = dataclasses.replace(view, curves=view.curves.copy())
    wait(lambda: run.step > view.step + 20)
    assert view.step == kept.step
    pd.testing.assert_frame_equal(view.curves, kept.curves)
    assert 0 < view.progress < 1
    assert view.seconds_left > 0
    assert steps(run.view) < 2 * least
    with pytest.raises(dataclasses.FrozenInstanceError):
        view.step = 3  # type: ignore[misc]


def test_readers_see_whole_views_while_a_run_goes_on(runs: Runs):
    run = started(runs)
    views: list[RunView] = []

    def read() -> None:
        views.extend(run.view() for _ in range(60))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert len(views) == 180
    for view in views:
        steps = view.curves["step"].tolist()
        assert steps == [*range(1, len(steps) + 1)]
        assert len(steps) >= view.step > 0


def test_the_model_at_a_step_is_the_model_of_then(runs: Runs):
    run = runs.start(toy_spec())
    until_state(run, RunState.FINISHED)
    assert run.view().snapshot_steps == (0, 1, 2, 3, 4, 6, 8, 10)
    first, last = run.weights(0), run.weights(1000)
    trained = Training(toy_spec())
    assert torch.equal(first["embed.weight"], trained.model.embed.weight)
    assert len([*trained.events()]) > 0
    assert torch.equal(last["embed.weight"], trained.model.embed.weight)


def test_the_wait_is_that_of_the_runs_before(runs: Runs):
    first = started(runs, step=20)
    second, third = (runs.start(toy_spec(seed=seed, n_steps=5000)) for seed in (1, 2))
    waits = [expected_wait(runs, run) for run in (first, second, third)]
    assert waits[0] == 0
    assert 0 < waits[1] <= waits[2]


def test_before_the_first_step_no_wait_is_known(runs: Runs, monkeypatch: pytest.MonkeyPatch):
    may_build = threading.Event()

    def built_late(*args: object, **kwargs: object) -> object:
        may_build.wait(PATIENCE)
        return build(*args, **kwargs)

    monkeypatch.setattr(masters, "build", built_late)
    run, waiting = runs.start(toy_spec()), runs.start(toy_spec())
    assert expected_wait(runs, waiting) is None
    assert run.seconds_left is None
    may_build.set()
    until_state(waiting, RunState.FINISHED)
    assert runs.place(waiting.id) is None


def test_a_run_that_nobody_started_is_not_found(runs: Runs):
    for ask in (runs.get, runs.pause, runs.resume, runs.stop, runs.place):
        with pytest.raises(ConfigError, match="training run nobody does not exist"):
            ask("nobody")


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_steps": 9}, "n_steps (10) exceeds the 9"),
        ({"max_parameters": 1000}, "parameters exceed the 1,000"),
        ({"max_bytes": 1000}, "more than the 1 kB"),
    ],
)
def test_a_spec_beyond_the_limits_is_refused_with_the_number(limits: dict[str, int], said: str):
    with pytest.raises(ConfigError) as error:
        Runs(Limits(**limits)).start(toy_spec())
    assert said in str(error.value)


HUGE = 10**6


@pytest.mark.parametrize(
    "changes",
    [
        {"n_layers": 1500},
        {"n_layers": HUGE},
        {"n_layers": HUGE, "d_model": 8, "n_heads": 1, "d_ff": 1},
        {"n_layers": 100, "n_experts": 64},
        {"n_layers": HUGE, "n_experts": 64, "d_model": HUGE, "d_ff": HUGE},
        {"d_model": HUGE, "max_seq_len": HUGE, "position_kind": "learned"},
        {"architecture": "encoder-decoder", "n_layers": 2, "n_decoder_layers": HUGE},
    ],
    ids=str,
)
def test_what_is_too_large_is_refused_by_formula_with_the_cause_and_sizes_that_fit(
    changes: dict[str, int], monkeypatch: pytest.MonkeyPatch
):
    def built(*_: object, **__: object) -> None:
        raise AssertionError("a module was built")

    spec = toy_spec(**changes)
    monkeypatch.setattr(torch.nn.Module, "__init__", built)
    with TensorMemory() as memory:
        [fault] = limit_faults(spec, Limits())
        mend = dict(fault.mend)
        config, _mended = spec.config.nearest(**mend)
        assert [*limit_faults(dataclasses.replace(spec, config=config), Limits())] == []
    assert memory.peak_bytes == 0
    assert mend
    assert mend.keys() <= changes.keys()
    assert all(f"{name} {size}" in str(fault) for name, size in mend.items())


def test_many_layers_are_the_cause_named_and_not_the_width():
    [fault] = limit_faults(toy_spec(n_layers=1500, d_model=128), Limits())
    assert [*fault.mend] == ["n_layers"]


def test_the_queue_is_bounded_in_all_and_for_each_owner():
    runs = Runs(Limits(max_queued=3, max_queued_per_owner=2))
    running = runs.start(toy_spec(**LONG), owner="ann")
    wait(lambda: running.step)
    waiting = [runs.start(toy_spec(), owner="ann") for _ in range(2)]
    with pytest.raises(ConfigError, match=r"Your waiting runs: 2 \(at most 2 allowed\)"):
        runs.start(toy_spec(), owner="ann")
    runs.start(toy_spec(), owner="bob")
    with pytest.raises(ConfigError, match="3 runs are already waiting, and at most 3 may wait"):
        runs.start(toy_spec(), owner="eve")
    runs.stop(waiting[0].id)
    runs.start(toy_spec(), owner="eve")
    runs.close()


def test_a_run_is_stopped_at_the_end_of_its_time():
    runs = Runs(Limits(max_seconds=0.2))
    run = runs.start(toy_spec(**LONG))
    until_state(run, RunState.STOPPED)
    assert "0.2 seconds" in str(run.view().fault)
    assert run.step < LONG["n_steps"]
    runs.close()


def test_the_oldest_ended_runs_are_forgotten_but_none_that_waits():
    runs = Runs(Limits(max_kept=2, max_queued=10))
    found = [runs.start(toy_spec(seed=seed, n_steps=2)) for seed in range(5)]
    until_state(found[-1], RunState.FINISHED)
    wait(lambda: len(runs.kept) == 2)
    assert [run.id for run in runs.kept] == [run.id for run in found[-2:]]
    with pytest.raises(ConfigError, match=r"training run .* does not exist"):
        runs.get(found[0].id)
    assert runs.get(found[4].id) is found[4]
    runs.close()


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timed(clock: Clock) -> Iterator[Runs]:
    """Runs that give way after 100 seconds without a look."""
    registry = Runs(Limits(max_seconds_unwatched=100), clock=clock)
    yield registry
    registry.close()


def test_a_run_that_nobody_watches_gives_way_where_others_wait_and_says_so(
    timed: Runs, clock: Clock
):
    left, next_ = started(timed), timed.start(toy_spec(seed=1))
    clock.now = 100.5
    until_state(left, RunState.PAUSED)
    until_state(next_, RunState.FINISHED)
    assert "nobody watched for 100 seconds while others waited" in str(left.view().fault)
    step = left.step
    timed.resume(left.id)
    wait(lambda: left.step > step + 5)
    assert left.view().fault is None


def test_who_watches_keeps_the_device_and_who_is_alone_too(timed: Runs, clock: Clock):
    run = started(timed)
    clock.now = 1000
    step = run.step
    wait(lambda: run.step > step + 5)
    assert run.state is RunState.RUNNING  # nobody waits
    run.view()
    timed.start(toy_spec(seed=1))
    clock.now += 99
    step = run.step
    wait(lambda: run.step > step + 5)
    assert run.state is RunState.RUNNING


def test_what_was_left_in_the_queue_holds_nobody_up(timed: Runs, clock: Clock):
    first = started(timed)
    left, last = (timed.start(toy_spec(**LONG, seed=seed)) for seed in (1, 2))
    clock.now = 150
    last.view()
    until_state(last, RunState.RUNNING)
    assert [first.state, left.state] == [RunState.PAUSED] * 2


def test_a_stop_counts_more_than_giving_way(timed: Runs, clock: Clock):
    run = started(timed)
    timed.start(toy_spec(seed=1))
    timed.stop(run.id)
    clock.now = 200
    until_state(run, RunState.STOPPED)
    assert run.view().fault is None


def test_closing_leaves_no_worker():
    before = threading.active_count()
    runs = Runs()
    first, second = started(runs), runs.start(toy_spec())
    runs.close()
    assert {first.state, second.state} == {RunState.STOPPED}
    assert threading.active_count() == before


def step_event(step: int) -> Step:
    return Step(step, 1.0, 1e-3, 1.0, 100.0, float(step))


@pytest.mark.parametrize("n_steps", [1, 1999, 2000, 2001, 100_000])
def test_a_log_keeps_few_points_evenly_and_the_newest(n_steps: int):
    thinned: Thinned[Step] = Thinned(2000)
    for step in range(1, n_steps + 1):
        thinned.add(step_event(step))
    steps = [event.step for event in thinned.items()]
    assert len(steps) <= 2000
    assert (steps[0], steps[-1]) == (1, n_steps)
    assert steps == sorted(set(steps))
    gaps = {after - before for before, after in itertools.pairwise(steps[:-1])}
    assert len(gaps) <= 1
    assert n_steps < 2000 or len(steps) >= 999


def test_an_empty_log_has_its_columns():
    log = Log()
    assert list(log.curves().columns) == [field.name for field in dataclasses.fields(Step)]
    assert list(log.scores().columns) == ["step", "held_out_loss", "score", "seconds"]
    assert list(log.layer_gradients().columns) == ["step", "layer", "gradient_norm"]


def test_a_log_tells_layers_apart_and_keeps_the_last_samples():
    log = Log(most_samples=2)
    log.note(Evaluation(3, 1.5, 0.5, 0.1, (0.1, 0.2)))
    for step in range(4):
        log.note(Sample(step, "a"))
    assert log.layer_gradients().to_dict("list") == {
        "step": [3, 3],
        "layer": [0, 1],
        "gradient_norm": [0.1, 0.2],
    }
    assert [sample.step for sample in log.samples] == [2, 3]
