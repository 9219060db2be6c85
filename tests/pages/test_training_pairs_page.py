"""Trainings of encoder–decoders on their page: set, watched, opened elsewhere."""

from collections.abc import Iterator

import pytest
from opened import assert_works, control, figure, move, opened, press, run, said, visit
from streamlit.testing.v1 import AppTest
from test_training_page import keys, run_of, wait_for

from blocks.model.kinds import Architecture
from blocks.training.training_run import RunState
from pages.server import runs
from pages.words.language import LANGUAGES

PAGE = "pages/training.py"
TINY = {"preset": "fast", "n_layers": 1, "n_decoder_layers": 1, "d_model": 16, "n_heads": 2}
SHORT = {**TINY, "task": "translation", "task_seq_len": 8, "batch_size": 2, "n_steps": 3}
SHORT |= {"warmup_steps": 0}
LETTERS = ["copy", "reverse", "sort", "addition"]


@pytest.fixture(autouse=True)
def no_thread_stays() -> Iterator[None]:
    yield
    runs.runs().close()
    runs.runs.clear()


def finished(**query: object) -> AppTest:
    """A reader who has seen a training end."""
    at = press(opened(PAGE, **{**SHORT, "panel": "task", **query}), "start_training")
    wait_for(run_of(at), RunState.FINISHED)
    return run(at)


def test_a_translation_is_offered_as_it_is_learned_in_a_minute():
    at = opened(PAGE, task="translation", preset=None)
    assert_works(at)
    shown = {name: control(at, name).value for name in ("n_steps", "batch_size", "task_seq_len")}
    assert shown == {"n_steps": 300, "batch_size": 64, "task_seq_len": 15}
    assert "encoder–decoder · n_layers 4 + 2" in said(at)
    assert ":violet-" in said(at)
    assert control(at, "n_decoder_layers").value == 2
    assert not at.button(key="start_training").disabled


@pytest.mark.parametrize("task", LETTERS)
@pytest.mark.thinned
def test_questions_are_learned_by_an_encoder_decoder_too(task: str):
    at = opened(PAGE, **{**SHORT, "task": task, "learner": "encoder-decoder"})
    assert_works(at)
    assert "violet" in said(at)
    assert "encoder–decoder" in said(at)
    move(at, "learner", "gpt")
    assert "encoder–decoder ·" not in said(at)


def test_the_learner_brings_its_own_rows_and_updates():
    at = opened(PAGE, task="sort", preset=None, panel="task")
    assert control(at, "batch_size").value == 12
    move(at, "learner", "encoder-decoder")
    assert control(at, "batch_size").value == 64
    assert control(at, "n_steps").value == 600
    move(at, "task", "translation")
    assert control(at, "n_steps").value == 300
    move(at, "task", "stories")
    assert control(at, "batch_size").value == 12


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.thinned
def test_translations_stand_beside_the_right_ones_and_all_is_shown(lang: str):
    at = finished(lang=lang, panel="all")
    assert_works(at)
    assert {"loss", "score", "linked_births", "tiles_cross", "two_text_map"} <= keys(at)
    *tables, _of_the_staircase = (table.value for table in at.table)
    assert len(tables) == len(run_of(at).log.samples)
    answers = run_of(at).log.samples[-1].answers
    assert len(tables[0]) == len(answers) == 6
    assert answers[0].right


def test_the_link_of_the_model_leads_to_the_page_of_two_texts():
    at = finished()
    run_id = run_of(at).id
    other = opened("pages/seq2seq.py", preset=f"run:{run_id}")
    assert_works(other)
    assert run_of(at).spec.config.architecture is Architecture.ENCODER_DECODER


def test_the_kept_step_changes_where_the_decoder_looks():
    at = finished(n_steps=8, learning_rate=0.05, muon_learning_rate=0.3)
    link = {**SHORT, "run": run_of(at).id, "panel": "attention"}
    newest = figure(visit(at, **link), "tiles_cross")["data"][0]["z"]
    visit(at, **link, at_step=0)
    assert_works(at)
    assert figure(at, "tiles_cross")["data"][0]["z"] != newest
    births = figure(at, "linked_births")["data"]
    assert len(births) == 2
    assert all(0 <= share <= 1 for line in births for share in line["y"])


def test_a_training_too_large_for_the_memory_is_refused_with_sizes_that_fit():
    at = opened(PAGE, **{**SHORT, "batch_size": 4096, "d_model": 192, "task_seq_len": 15})
    assert_works(at)
    assert at.button(key="start_training").disabled
    assert any("of activations" in info.value for info in at.info)
