"""A training started, watched, stopped and found again, and what nobody hopes for."""

import time
from collections.abc import Iterator

import pytest
from opened import (
    assert_works,
    control,
    figure,
    open_title,
    opened,
    press,
    run,
    said,
    visit,
    words_in_pictures,
)
from streamlit.testing.v1 import AppTest

from blocks.training.limits import Limits, unwatched_fault
from blocks.training.pace import Pace
from blocks.training.recipe import RECIPES
from blocks.training.runs import Runs
from blocks.training.training_run import RunState, Status, TrainingRun
from pages.panels.training import heads, setup
from pages.server import runs
from pages.show import layers
from pages.state.values import State
from pages.words.language import LANGUAGES

PAGE = "pages/training.py"

SMALL = {"preset": "fast", "n_layers": 1, "d_model": 16, "n_heads": 2, "batch_size": 2}

SHORT = {**SMALL, "task": "sort", "task_seq_len": 8, "n_steps": 3, "warmup_steps": 0}

LONG = {**SHORT, "n_steps": 20_000}

START = {"panel": "task"}  # which has the button


@pytest.fixture(autouse=True)
def no_thread_stays() -> Iterator[None]:
    yield
    runs.runs().close()
    runs.runs.clear()


def started(**query: object) -> AppTest:
    """A reader who has pressed Start."""
    return press(opened(PAGE, **{**SHORT, **START, **query}), "start_training")


def run_of(at: AppTest) -> TrainingRun:
    """The run that the page's link names."""
    return runs.runs().get(at.query_params["run"])


def wait_for(run_: TrainingRun, *states: RunState, step: int = 0) -> None:
    """Wait until a run is in one of these states (or in any that is not over) and that far."""
    for _ in range(3_000):
        if (run_.state in states or not states) and run_.step >= step:
            return
        time.sleep(0.02)
    raise TimeoutError(run_.status)


def finished(**query: object) -> AppTest:
    """A reader who has seen a training end."""
    at = started(**query)
    wait_for(run_of(at), RunState.FINISHED)
    return run(at)


def test_the_first_screen_says_what_is_learned_and_with_what():
    at = opened(PAGE, **SHORT)
    assert_works(at)
    assert "Sort the letters alphabetically" in said(at)
    assert "vocab_size 27 and max_seq_len 8" in said(at)
    assert not at.button(key="start_training").disabled


@pytest.mark.parametrize("task", ["text", "induction", "copy", "addition", "masked_words"])
@pytest.mark.thinned
def test_every_task_shows_a_row_of_it(task: str):
    at = opened(PAGE, **{**SHORT, "task": task, "task_seq_len": 16})
    assert_works(at)
    assert ":violet-" in said(at)


def test_a_training_runs_to_its_end_and_all_is_shown():
    at = finished(panel="all")
    assert_works(at)
    assert "finished · step 3 of 3" in at.get("progress")[0].proto.text
    assert [len(t["x"]) for t in figure(at, "loss")["data"][:2]] == [3, 3]
    assert figure(at, "score")["data"][0]["y"][-1] == run_of(at).log.scores()["score"].iloc[-1]
    assert len(figure(at, "gradients")["data"]) == 2
    assert "After 3 steps the validation loss is" in said(at)
    assert {"trained_tiles", "head_map", "head_births"} <= keys(at)


def keys(at: AppTest) -> set[str]:
    return {chart.proto.id.rpartition("-")[2] for chart in at.get("plotly_chart")}


def test_a_run_is_found_by_its_link_in_another_session_and_language():
    run_id = run_of(finished()).id
    for lang in LANGUAGES:
        other = opened(PAGE, run=run_id, lang=lang)
        assert_works(other)
        assert "held_out" in run_of(other).log.scores().columns[1]
        assert len(figure(other, "loss")["data"][1]["x"]) == 3


def test_a_training_that_has_ended_shows_first_what_it_wrote_before_and_after():
    first = opened(PAGE, **{**SHORT, **START, "task": "text", "task_seq_len": 16, "n_steps": 4})
    (told,) = (each.value for each in first.markdown if "**Before training**" in each.value)
    run_ = run_of(press(first, "start_training"))
    wait_for(run_, RunState.FINISHED)
    assert " ".join(run_.log.samples[0].text.split()) in told
    at = opened(PAGE, run=run_.id)
    assert_works(at)
    order = ["What it writes", "**After 0 steps**", "**After 4 steps**", "Is it learning?"]
    assert sorted(order, key=said(at).index) == [order[0], order[3], order[1], order[2]]


def test_another_session_sees_nothing_without_the_link():
    run_id = run_of(finished()).id
    other = opened(PAGE, **SHORT)
    assert run_id[:4] not in said(other) + words_in_pictures(other)
    assert "loss" not in keys(other)


def test_a_start_is_answered_at_once_and_leads_to_the_curves():
    at = opened(PAGE, **{**SHORT, "panel": "recipe"})
    press(at, "start_training")
    assert [toast.value for toast in at.toast] == ["Training started"]
    assert "panel" not in at.query_params and open_title(at) == "Is it learning?"
    wait_for(run_of(at), RunState.FINISHED)


@pytest.mark.parametrize("panel", ["attention", "samples", "model", "task"])
@pytest.mark.thinned
def test_a_link_opens_a_panel_of_a_run(panel: str):
    run_id = run_of(finished()).id
    at = opened(PAGE, run=run_id, panel=panel)
    assert_works(at)
    assert at.query_params["panel"] == panel and "loss" not in keys(at)
    assert [button.key for button in at.button].count("start_training") == 1  # the next one


def test_a_page_that_is_closed_does_not_stop_its_run():
    at = started(n_steps=40)
    run_ = run_of(at)
    del at
    wait_for(run_, RunState.FINISHED)
    assert run_.step == 40


def test_pause_go_on_and_stop():
    at = started(**LONG, panel="all")
    wait_for(run_of(at), step=1)
    press(at, "pause_run")
    wait_for(run_of(at), RunState.PAUSED)
    assert_works(run(at))
    run_of(at).status = Status(RunState.PAUSED, unwatched_fault(Limits()))
    assert "nobody watched for 120 seconds" in run(at).warning[0].value
    press(at, "resume_run")
    wait_for(run_of(at), RunState.RUNNING)
    press(run(at), "stop_run")
    wait_for(run_of(at), RunState.STOPPED)
    assert_works(run(at))
    assert "stopped" in at.get("progress")[0].proto.text
    assert "Open the model as of step" in said(at)


def test_a_rate_of_a_million_ends_the_run_names_it_and_offers_a_smaller_one():
    at = started(learning_rate=1e6, muon_learning_rate=1e6, n_steps=50)
    wait_for(run_of(at), RunState.FAILED)
    assert not run(at).exception
    assert "The loss diverged" in at.warning[0].value
    before = run_of(at).id
    press(at, "start_again_mended")
    assert not at.exception
    assert run_of(at).id != before
    assert run_of(at).spec.recipe.learning_rate == 0.1


def test_many_presses_start_what_is_allowed_and_say_why_no_more():
    at = opened(PAGE, **LONG)
    for _ in range(6):
        press(at, "start_training")
    assert not at.exception
    assert 2 <= len(runs.runs().kept) <= 4
    assert any("Your waiting runs" in info.value for info in at.info)
    assert not run(at).exception


def test_a_run_that_waits_says_its_place():
    first, second = started(**LONG), started(**LONG)
    wait_for(run_of(first), RunState.RUNNING)
    assert_works(run(second))
    assert "number 1 in the queue" in second.get("progress")[0].proto.text


def test_an_unknown_run_in_the_link_is_said():
    at = opened(PAGE, **SHORT, run="nobodyknows")
    assert_works(at)
    assert any("nobodyknows" in info.value for info in at.info)


def test_a_run_that_is_forgotten_is_said(monkeypatch: pytest.MonkeyPatch):
    at = finished()
    forgetful = Runs(Limits(max_kept=0))
    monkeypatch.setattr(runs, "runs", lambda: forgetful)
    assert_works(run(at))
    assert any("no longer available" in info.value for info in at.info)
    monkeypatch.undo()


def test_two_runs_are_laid_over_each_other_by_what_differs():
    at = finished()
    first = run_of(at).id
    visit(at, **SHORT, **START, learning_rate=0.01)
    press(at, "start_training")
    wait_for(run_of(at), RunState.FINISHED)
    visit(at, **SHORT, panel="learning", run=run_of(at).id, compare=first)
    assert_works(at)
    names = [trace["name"] for trace in figure(at, "loss")["data"]]
    assert any("learning_rate 0.01" in name for name in names)
    assert any("learning_rate 0.007" in name for name in names)


def test_the_step_that_is_looked_at_changes_the_heads():
    at = finished(n_steps=8, learning_rate=0.05, muon_learning_rate=0.3)
    link = {**SHORT, "run": run_of(at).id, "panel": "attention"}
    newest = figure(visit(at, **link), "trained_tiles")["data"][0]["z"]
    visit(at, **link, at_step=0)
    assert_works(at)
    assert control(at, "at_step").value == 0
    assert figure(at, "trained_tiles")["data"][0]["z"] != newest


def test_heads_with_a_habit_are_named_and_none_without():
    at = finished(n_steps=1, learning_rate=0.0, muon_learning_rate=0.0)
    visit(at, **SHORT, run=run_of(at).id, panel="attention")
    seen = layers.heads(heads.looked_at(run_of(at), 0, State({})))
    habits = seen[seen["name"] != ""]
    if habits.empty:
        assert "No head has a clear role" in said(at)
    for row in habits.itertuples():
        assert f"layer {row.layer + 1}, head {row.head + 1}:" in said(at)


def test_a_text_of_the_readers_stays_in_the_session():
    at = opened(PAGE, **{**SHORT, "task": "text", "corpus": "own", **START})
    assert any("There is no text yet" in info.value for info in at.info)
    assert at.button(key="start_training").disabled
    at.text_area(key="pasted_text").set_value("the cat sat on the mat. " * 60)
    run(at)
    assert_works(at)
    assert "1,440 characters" in said(at)
    assert "the cat" not in str(at.query_params)
    press(at, "start_training")
    wait_for(run_of(at), RunState.FINISHED)
    assert_works(run(at))


BAD = {
    "one character": (b"a", "too few to train on"),
    "binary": (bytes(range(256)) * 100, "not text"),
    "white": (b" \n" * 5000, "too few to train on"),
}


@pytest.mark.parametrize(("raw", "says"), BAD.values(), ids=BAD)
def test_what_is_no_text_is_refused_in_words(raw: bytes, says: str):
    at = uploaded(raw)
    assert not at.exception
    assert any(says in warning.value for warning in at.warning)
    assert at.button(key="start_training").disabled


def test_a_text_in_another_encoding_is_read_and_said():
    at = uploaded(("小猫坐在垫子上。" * 200).encode("gb18030"))
    assert_works(at)
    assert "GB18030" in said(at)
    assert not at.button(key="start_training").disabled


def test_a_text_of_50_megabytes_is_cut_and_said():
    at = uploaded(b"It was a dark night. " * (50 * 2**20 // 21))
    assert_works(at)
    assert "first 1,000,000 of 52,428,7" in said(at)


def uploaded(raw: bytes) -> AppTest:
    """A reader who has brought a file."""
    at = opened(PAGE, **{**SHORT, "task": "text", "corpus": "own", **START})
    at.file_uploader(key="uploaded_text").set_value(("text.txt", raw, "text/plain"))
    return run(at)


def test_a_warm_up_longer_than_the_run_is_said_and_mended():
    at = opened(PAGE, **{**SHORT, "warmup_steps": 100})
    assert_works(at)
    assert at.button(key="start_training").disabled
    press(at, "mend_0")
    assert_works(at)
    assert not at.button(key="start_training").disabled


def test_a_model_that_is_too_large_is_said_before_it_starts():
    at = opened(PAGE, preset="gpt2-small")
    assert_works(at)
    assert any("parameters exceed" in info.value for info in at.info)
    assert at.button(key="start_training").disabled


def test_garbage_in_every_field_still_renders():
    names = ("task", "learner", "corpus", "recipe", "optimizer", "schedule", "n_steps", "run")
    at = opened(PAGE, **dict.fromkeys(names, "<b>"), learning_rate="x", batch_size="-1")
    assert_works(at, warnings=None)
    assert len(at.warning) == len(names) + 2


def test_another_recipe_brings_its_own_knobs():
    at = opened(PAGE, **{**SHORT, "warmup_steps": 1})
    control(at, "recipe").set_value("baseline")
    run(at)
    assert_works(at)
    assert control(at, "optimizer").value == "adamw"
    assert "warmup_steps" not in at.query_params


@pytest.mark.parametrize(("recipe", "task"), [("fast", "sort"), ("baseline", "sort")])
def test_the_fast_recipe_takes_as_many_steps_as_the_task_needs(recipe: str, task: str):
    at = opened(PAGE, recipe=recipe, task=task)
    usual = RECIPES[recipe].n_steps
    assert control(at, "n_steps").value == (1000 if recipe == "fast" else usual)


def test_how_long_it_takes_is_said_before_start():
    at = opened(PAGE, **SHORT)
    assert any(
        "3 updates take about" in c.value and "estimated by timing a few" in c.value
        for c in at.caption
    )


def test_as_many_updates_as_a_minute_holds_are_started_by_one_press(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(setup, "expected_pace", lambda _spec: Pace(0.25))
    at = press(opened(PAGE, **LONG, **START), "one_minute")
    assert at.query_params["n_steps"] == "200"
    assert run_of(at).spec.recipe.n_steps == 200
    assert "one_minute" not in {button.key for button in at.button}


def test_a_run_that_was_told_to_stop_says_so_at_once(monkeypatch: pytest.MonkeyPatch):
    at = started(**LONG)
    run_ = run_of(at)
    wait_for(run_, RunState.RUNNING, step=1)
    monkeypatch.setattr(TrainingRun, "is_stopping", property(lambda self: True))
    run(at)
    assert any("stopping …" in bar.proto.text for bar in at.get("progress"))
    assert "stop_run" not in {button.key for button in at.button}
