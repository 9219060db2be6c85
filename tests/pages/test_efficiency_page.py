"""Smaller models on the screen: measured, and then the model of every page."""

from functools import partial

import pytest
from opened import assert_works, opened

from blocks.efficiency.distillation import Students
from pages.panels.efficiency import distillation
from pages.ui import starts

PAGE = "pages/efficiency.py"


@pytest.mark.parametrize("panel", ["frontier", "rounding", "pruning"])
def test_without_trained_weights_there_are_ways_to_some(panel: str):
    at = opened(PAGE, preset="course", panel=panel)
    assert_works(at)
    at.button(key="shrink_sort").click().run()
    assert at.query_params["preset"] == "sort"
    assert_works(at)


def test_every_variant_is_measured_when_it_is_asked_for():
    at = opened(
        PAGE,
        preset="induction",
        panel="frontier",
        measure_variants="true",
        pressed=["measure_variants"],
    )
    assert_works(at)
    assert "times smaller" in at.info[0].value


def test_heads_are_taken_out_one_by_one():
    query = {"taken_out": "heads", "measure_pruning": "true"}
    at = opened(PAGE, pressed=["measure_pruning"], preset="sort", panel="pruning", **query)
    assert_works(at)
    assert "at random" in at.info[0].value


def test_the_rounded_model_is_shown_on_all_pages():
    at = opened(PAGE, preset="sort", panel="rounding", n_bits="3")
    at.button(key="use_rounded").click().run()
    assert at.query_params["preset"] == "sort~int3"
    at = opened("pages/encoder.py", preset="sort~int3", panel="")
    assert_works(at)


@pytest.mark.parametrize(
    ("page", "preset"),
    [
        ("pages/gpt.py", "stories-en-zh~heads1.units50.int4-group32"),
        ("pages/seq2seq.py", "translator~layers1.sparse50"),
        ("pages/efficiency.py", "masked-words~int8"),
    ],
)
def test_a_link_carries_the_recipe(page: str, preset: str):
    at = opened(page, preset=preset, panel="")
    assert_works(at)
    assert at.query_params["preset"] == preset


@pytest.mark.parametrize(
    "preset", ["sort~int9", "sort~heads4", "course~int8", "~int8", "sort~", "sort~~int8", "no~int8"]
)
def test_a_recipe_that_cannot_be_is_no_preset(preset: str):
    assert not starts.is_known(preset)
    assert_works(opened(PAGE, preset=preset, panel=""), warnings=None)


def test_recorded_students_are_there_at_once_and_others_are_trained_when_asked(monkeypatch):
    at = opened(PAGE, preset="sort", panel="distillation")
    assert_works(at)
    assert "of 5 seeds" in at.info[0].value
    at = opened(PAGE, preset="sort", panel="distillation", distil_temperature="8")
    assert "were not trained beforehand" in at.info[0].value
    monkeypatch.setattr(distillation, "Students", partial(Students, n_updates=2))
    query = {"distil_temperature": "8", "train_students": "true", "student_size": "half_both"}
    at = opened(PAGE, pressed=["train_students"], preset="sort", panel="distillation", **query)
    assert_works(at)
    assert "After 2 updates" in at.info[0].value and "of 2 seeds" in at.info[0].value


def test_a_teacher_is_a_model_that_ships_with_us():
    at = opened(PAGE, preset="sort~int4", panel="distillation")
    assert_works(at)
    assert "of 5 seeds" in at.info[0].value  # a variant has the teacher that it was made of
