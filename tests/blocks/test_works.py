"""Series: each made once, in a process or here, in turn, and left off where nobody follows."""

import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from waiting import wait

from blocks import ConfigError, ModelConfig
from blocks.cost.attention_time import GrowthSeries
from blocks.cost.device_speed import SpeedSeries
from blocks.cost.operations import Phase, Tokens
from blocks.cost.paired_time import PairSeries
from blocks.cost.roofline_facts import Case, WholeSeries
from blocks.cost.sweep import Sweep, Swept
from blocks.cost.sweep_facts import Sweeps
from blocks.cost.timing import Place as Where
from blocks.inspection.other_attention import AttentionKind
from blocks.inspection.stack import Stack, StackSeries
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from blocks.training.peeking import PeekingRace, peeking_spec
from blocks.training.race import race_spec
from blocks.training.racer import Race
from blocks.work import Queue, works
from blocks.work.job import Found, Series
from blocks.work.plain import from_line, to_line
from blocks.work.queue import Lane, Place
from blocks.work.works import Progress, Works

CONFIG = ModelConfig.from_flat({"d_model": 16, "n_heads": 2})
TEXT = Input(tokens=("a", "猫\u2028"))
RUN = Run(config=CONFIG, input=TEXT, mask=MaskConfig())


def growth(n: int, seed: int = 0) -> GrowthSeries:
    """So many quick measurements."""
    return GrowthSeries(((AttentionKind.FULL, 4),) * n, 1, 4, "cpu", "float32", seed)


def follow(
    registry: Works,
    series: Series[Any],
    *,
    known: int,
    owner: str = "ann",
    first: int | None = None,
) -> Progress[Any]:
    first = series.n_steps if first is None else first
    return registry.follow(series, first=first, known=known, owner=owner, patience=0.05)


def all_of(registry: Works, series: Series[Any], **how: Any) -> tuple[Any, ...]:
    return wait(lambda: followed_to_the_end(registry, series, **how))


def followed_to_the_end(registry: Works, series: Series[Any], **how: Any) -> tuple[Any, ...]:
    first = how.get("first") or series.n_steps
    found = registry.found(series)[:first]
    more = follow(registry, series, known=len(found), **how) if len(found) < first else None
    found = found if more is None else more.found
    return found if len(found) == first else ()


@pytest.fixture(scope="module")
def queue() -> Iterator[Queue]:
    found = Queue()
    yield found
    found.close()


@pytest.fixture(scope="module")
def there(queue: Queue, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Works]:
    """One process for all tests."""
    folder = tmp_path_factory.mktemp("turns")
    registry = Works(queue, turn=lambda _series: nullcontext(), folder=folder)
    yield registry
    registry.close()


@pytest.fixture
def here(queue: Queue) -> Works:
    return Works(queue, turn=lambda _series: nullcontext())


def test_a_process_is_there_before_anybody_follows(there: Works, here: Works):
    here.prepare("cpu")  # works by itself, and has nothing to prepare
    there.prepare("cpu")
    assert there._processes is not None
    (prepared,) = there._processes._of.values()
    assert prepared.is_alive
    there.prepare("cpu")
    assert there._processes.of("cpu") is prepared


def test_a_process_finds_what_a_thread_does(there: Works, here: Works):
    sizes = {"n_layers": 1, "learning_rate": 1e-3, "warmup_steps": 0, "seed": 0}
    race = Race(tuple(race_spec(CONFIG, name, **sizes) for name in ("pre", "post")), 4, 2)
    found = all_of(there, race)
    losses = [learned.losses for learned in race.learned(found)]
    expected = [learned.losses for learned in race.learned(all_of(here, race))]
    assert [len(each) for each in losses] == [4, 4]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    (last,) = race.results(found[:3])
    np.testing.assert_allclose(last.losses, found[3].losses, rtol=1e-5)


def test_a_stack_reads_the_same_stream_in_a_process(there: Works):
    stack = Stack(RUN, "pre", 2, CONFIG.d_model, "xavier_uniform", 0)
    stream = RUN.record(RUN.build()).tensor("resid_pre", 0)
    (found,) = all_of(there, StackSeries(stack, stream.numpy()))
    pd.testing.assert_frame_equal(found.layers, stack.measure(stream).layers)
    assert StackSeries(stack, stream.numpy()) == StackSeries(stack, np.zeros(1, np.float32))


def test_a_refusal_comes_back_whole_and_is_tried_again(there: Works):
    specs = tuple(peeking_spec("en", sees_ahead=each) for each in (False, True))
    race = PeekingRace(specs, 5, 5, budget=1000)
    for _again in range(2):
        with pytest.raises(ConfigError, match="This training needs about") as caught:
            wait(lambda: follow(there, race, known=0) and False)
        assert caught.value.faults[0].values


def test_who_asks_for_more_waits_for_the_rest_alone(there: Works):
    series = growth(6)
    few = all_of(there, series, first=2)
    assert all_of(there, series)[:2] == few


def test_two_who_ask_for_the_same_share_it_and_other_work_takes_its_turn(
    there: Works, queue: Queue
):
    long, short = growth(100_000), growth(3)
    wait(lambda: follow(there, long, known=0).found)
    for owner in ("ann", "bob"):
        follow(there, long, known=0, owner=owner)
    assert queue.lanes() == {Lane("series", "cpu"): 1}
    assert follow(there, short, known=0, owner="eve").place.position == 1
    there.leave("ann")
    assert follow(there, short, known=0, owner="eve").place.position == 1
    all_of(there, short, owner="bob")  # who is with something else now: nobody follows the first
    assert len(there.found(long)) < long.n_steps


def test_what_nobody_follows_is_left_off_and_goes_on_from_there(
    there: Works, queue: Queue, monkeypatch: pytest.MonkeyPatch
):
    series = growth(100_000, seed=1)
    wait(lambda: len(follow(there, series, known=10).found) > 10)
    monkeypatch.setattr(works, "SECONDS_UNFOLLOWED", 0.0)
    wait(lambda: not queue.lanes())
    found = there.found(series)
    monkeypatch.undo()
    more = wait(
        lambda: len(new := follow(there, series, known=len(found)).found) > len(found) and new
    )
    assert more[: len(found)] == found
    there.leave("ann")
    wait(lambda: not queue.lanes())


def test_a_killed_process_is_said_and_the_next_one_goes_on(there: Works):
    series = growth(100_000, seed=2)
    wait(lambda: follow(there, series, known=0).found)
    assert there._processes is not None
    os.kill(there._processes.of("cpu").pid, signal.SIGKILL)
    with pytest.raises(ConfigError, match=r"ended \(SIGKILL\): try again"):
        wait(lambda: follow(there, series, known=len(there.found(series)) + 1) and False)
    assert all_of(there, growth(2, seed=3))


def test_an_owner_who_changes_his_mind_never_waits_for_himself(there: Works):
    blocker = growth(100_000, seed=4)
    wait(lambda: follow(there, blocker, known=0, owner="bob").found)
    places = [follow(there, growth(2, seed=seed), known=0).place for seed in range(10, 20)]
    assert {place.position for place in places} == {1}
    there.leave("bob")
    there.leave("ann")


SPEC = race_spec(CONFIG, "pre", n_layers=1, learning_rate=1e-3, warmup_steps=0, seed=0)
WHERE = Where("cpu", "float32")
TOKENS = Tokens(Phase.PREFILL, 8)


@pytest.mark.parametrize(
    "series",
    [
        Sweeps((Sweep(CONFIG, TOKENS, Swept.TOKENS, False, WHERE, 0),), 2**30),
        SpeedSeries(WHERE),
        WholeSeries(Case(CONFIG, TOKENS, WHERE, 0), RUN),
        PairSeries(RUN, RUN, 1, 7),
        growth(2),
        Race((SPEC,), 10, 5),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_series_is_the_same_after_its_line(series: Series[Any]):
    again = from_line(to_line(series))
    assert (again, hash(again), type(again)) == (series, hash(series), type(series))
    assert series.n_steps > 0


def test_tables_and_arrays_come_back_and_strangers_do_not():
    table = pd.DataFrame({"layer": [0, 1], "loss": [0.1 + 0.2, float("inf")]})
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    back = from_line(to_line(Found((table, array, Path("a"), Place(1, None)))))
    pd.testing.assert_frame_equal(back.value[0], table)
    np.testing.assert_array_equal(back.value[1], array)
    assert back.value[2:] == (Path("a"), Place(1, None))
    for line in ('{"is a": "os:system"}', '{"is a": "blocks.work.plain:from_line"}', "{", "[{"):
        with pytest.raises(ValueError):
            from_line(line)


def test_who_is_closed_asks_the_queue_no_more(queue: Queue, tmp_path: Path):
    """Its thread waits for a turn; it has left before the queue's file is closed."""
    first = queue.enter(Lane("series", "cpu"), owner="another", seconds_left=lambda: None)
    registry = Works(queue, turn=lambda _series: nullcontext(), folder=tmp_path)
    registry.follow(growth(6), first=6, known=0, owner="a", patience=0)
    registry.close()
    assert queue.lanes() == {Lane("series", "cpu"): 1}
    queue.leave(first)
