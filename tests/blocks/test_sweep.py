"""Sweeps: what is trained, once, and what is left where something breaks off."""

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from training_toy import toy_spec

from blocks.model.faults import ConfigError, Fault
from blocks.sweep import Search, Store, Sweep, sweeps, trained
from blocks.sweep.engine import Began, Told, Waits
from blocks.sweep.job import Done, PointJob
from blocks.sweep.outcome import Outcome
from blocks.sweep.point import Point, changed
from blocks.training.events import Ended, Evaluation, Reason
from blocks.training.loop import Training

RATES = ("learning_rate", (1e-3, 1e-2))


class Here:
    """Trains in this process, and counts what it has begun."""

    n_at_once = 1

    def __init__(self, store: Store):
        self.store, self.begun = store, Counter[str]()

    def events(
        self, points: Iterator[Point | None], leaves_off: Callable[[], bool]
    ) -> Iterator[Told]:
        for point in points:
            if leaves_off():
                return
            if point is None:
                continue
            self.begun[point.key] += 1
            job = PointJob(point.spec, self.store.unfinished(point), seconds_between=0)
            for event in job.events(leaves_off):
                yield Told(point, event)


def outcomes(told: Iterator[Told]) -> dict[str, Outcome]:
    return {each.point.key: each.event.outcome for each in told if isinstance(each.event, Done)}


def same(one: Outcome, other: Outcome) -> bool:
    """To the last digit, times aside."""
    curves = one.curve == other.curve and one.reason == other.reason
    return curves and [each[:2] for each in one.looks] == [each[:2] for each in other.looks]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_a_finished_point_is_never_trained_again_and_more_points_are_added(store: Store):
    engine, small = Here(store), Sweep(base=toy_spec(), fields=(RATES,), seeds=(0, 1))
    found = outcomes(trained(small, engine, store))
    more = replace(small, fields=(("learning_rate", (1e-2, 1e-3, 3e-3)),), seeds=(1, 0, 2))
    again = outcomes(trained(more, engine, Store(store.folder)))
    assert len(found) == 4 and len(again) == 9 and {*engine.begun.values()} == {1}
    assert all(again[key] == outcome for key, outcome in found.items())


def test_a_point_is_what_a_training_alone_comes_to(store: Store):
    sweep = Sweep(base=toy_spec(), fields=(("n_layers", (1,)),), seeds=(3,))
    (found,) = outcomes(trained(sweep, Here(store), store)).values()
    alone = Training(toy_spec(seed=3, n_layers=1))
    looks = [event for event in alone.events() if isinstance(event, Evaluation)]
    assert [each.held_out_loss for each in found.looks] == [each.held_out_loss for each in looks]
    assert found.n_parameters == sum(each.numel() for each in alone.model.parameters())
    assert found.n_tokens == 10 * 4 * 12 and found.held_out_loss == looks[-1].held_out_loss


def test_what_is_left_off_goes_on_to_the_same_end(store: Store, tmp_path: Path):
    sweep, n_heard = Sweep(base=toy_spec(), fields=(RATES,), seeds=(0,)), Counter[type]()
    found: list[Told] = []
    for told in trained(sweep, Here(store), store, lambda: n_heard[Evaluation] == 2):
        n_heard[type(told.event)] += 1
        found.append(told)
    assert found[-1].event == Ended(Reason.STOPPED) and not outcomes(iter(found))
    gone_on = outcomes(trained(sweep, Here(store), store))
    other = Store(tmp_path / "other")
    at_once = outcomes(trained(sweep, Here(other), other))
    assert gone_on.keys() == at_once.keys()
    assert all(same(gone_on[key], at_once[key]) for key in at_once)


def test_a_divergence_is_known_and_a_failure_is_tried_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    sweep = Sweep(base=toy_spec(), fields=(("learning_rate", (1e9,)),), seeds=(0,))
    engine = Here(store)
    (found,) = outcomes(trained(sweep, engine, store)).values()
    assert found.reason is Reason.DIVERGED and found.held_out_loss == math.inf
    assert next(iter(trained(sweep, engine, store))).event == Done(found)
    failed = Ended(Reason.OUT_OF_MEMORY, Fault("no room"))
    monkeypatch.setattr(PointJob, "events", lambda *_: iter([failed]))
    other = replace(sweep, fields=(RATES,))
    for _i in range(2):
        assert all(each.event == failed for each in trained(other, engine, store))
    assert sorted(engine.begun.values()) == [1, 2, 2]


def test_the_time_left_never_grows_between_two_that_end(monkeypatch: pytest.MonkeyPatch):
    clock = [100.0]
    monkeypatch.setattr(sweeps.time, "monotonic", lambda: clock[0])
    first, second, *_ = Sweep(base=toy_spec(), fields=(RATES,), seeds=(0, 1)).planned()
    going = sweeps._Going()
    going.hear(Told(first, Waits(0)))
    clock[0] = 114.0  # a worker has started
    going.hear(Told(first, Began("cpu")))
    assert going.starting == 14 and going.seconds_left(4) is None and not going.waiting
    clock[0] = 124.0
    going.hear(Told(first, Done(None)))
    going.hear(Told(second, Began("cpu")))
    told = []
    for clock[0] in (124.0, 128.0, 134.0, 160.0):
        told.append(going.seconds_left(3))
    assert told == [30, 26, 20, 20]


def test_two_who_share_a_folder_share_the_work(store: Store):
    sweep, engine = Sweep(base=toy_spec(), fields=(RATES,), seeds=(0,)), Here(store)
    first, *_ = sweep.points({})
    other = Here(Store(store.folder))
    with store.claimed(first) as is_ours:
        assert is_ours
        told = trained(sweep, engine, store)
        heard = [next(told)]
        while not isinstance(heard[-1].event, Done):
            heard.append(next(told))
        assert {each.point.key for each in heard} == {sweep.points({})[1].key}
    found = outcomes(trained(sweep, other, other.store)) | outcomes(told)
    assert len(found) == 2 and {*(engine.begun + other.begun).values()} == {1}


def test_successive_halving_keeps_the_best_of_curves_that_do_not_cross():
    rates = tuple(10.0**-i for i in range(9))
    best = rates[4]
    fields = (("learning_rate", rates),)
    sweep = Sweep(base=toy_spec(n_steps=90), fields=fields, seeds=(0, 1), search=Search.HALVING)

    def loss(point: Point) -> float:
        """The further from the best rate and the shorter, the higher."""
        recipe = point.spec.recipe
        away = abs(math.log10(recipe.learning_rate / best))
        return 1 + away + 10 / recipe.n_steps + 0.1 * point.spec.seed

    losses: dict[str, float] = {}
    while new := [each for each in sweep.points(losses) if each.key not in losses]:
        losses |= {each.key: loss(each) for each in new}
    points = sweep.points(losses)
    assert Counter(each.spec.recipe.n_steps for each in points) == {10: 18, 30: 6, 90: 2}
    kept = {each.spec.recipe.learning_rate for each in points if each.spec.recipe.n_steps == 30}
    assert kept == {*rates[3:6]} and points[-1].spec.recipe.learning_rate == best


def test_random_search_draws_the_same_settings_again_and_each_once():
    fields = (("learning_rate", tuple(i / 100 for i in range(1, 50))), ("n_layers", (1, 2, 3)))
    sweep = Sweep(base=toy_spec(), fields=fields, seeds=(0,), search=Search.RANDOM, n_settings=20)
    assert len(sweep.specs) == 20 and sweep.specs == replace(sweep).specs
    assert sweep.specs.keys() != replace(sweep, draw_seed=1).specs.keys()


def test_a_key_says_what_is_trained():
    key = Point(toy_spec()).key
    assert key == Point(toy_spec(), (("seed", 0),)).key
    assert key == Point(toy_spec(weight_decay=0.1, label_smoothing=0)).key
    others = (toy_spec(seed=1), toy_spec(n_layers=1), replace(toy_spec(), device="cuda"))
    assert len({key, *(Point(each).key for each in others)}) == 4
    devices = ("cuda", "cuda:1")
    assert len({Point(replace(toy_spec(), device=each)).key for each in devices}) == 1


def test_a_model_follows_its_task_and_impossible_settings_say_the_mend():
    longer = changed(toy_spec(), {"seq_len": 20, "d_model": 32})
    assert (longer.config.max_seq_len, longer.config.d_model) == (20, 32)
    with pytest.raises(
        ConfigError, match="learnin_rate is not a field of a training run: use learnin"
    ):
        changed(toy_spec(), {"learnin_rate": 1})
    with pytest.raises(ConfigError, match="has no values"):
        Sweep(base=toy_spec(), fields=(("n_layers", ()),))
    with pytest.raises(ConfigError, match="n_heads"):
        Sweep(base=toy_spec(), fields=(("n_heads", (3,)),)).points({})


def test_a_damaged_outcome_is_trained_again_and_the_oldest_are_forgotten(store: Store):
    sweep, engine = Sweep(base=toy_spec(), fields=(RATES,), seeds=(0,)), Here(store)
    outcomes(trained(sweep, engine, store))
    first, second = sweep.points({})
    store.file(first).write_text(store.file(first).read_text()[:-20])
    assert store.get(first) is None and store.get(second) is not None
    outcomes(trained(sweep, engine, store))
    assert sorted(engine.begun.values()) == [1, 2]
    small = Store(store.folder, most=1)
    os.utime(store.file(second), (1, 1))
    small.put(first, store.get(first) or pytest.fail("lost"))
    assert [*store.folder.glob("*.json")] == [store.file(first)]
