"""One change is one change: A and B are counted alike, and what moves along is named."""

import re

import pytest
from opened import BLOCK, assert_works, control, figure, move, opened, said, settings
from streamlit.testing.v1 import AppTest

from blocks import ModelConfig, build
from pages.server import starts
from pages.state.link_fields.compare import Kept, text_of

STORIES = starts.start("stories-en-zh").config
WIDER = STORIES.replace(d_model=192)
A = text_of((Kept("mine", (("preset", "stories-en-zh"),)),))
LINK = {"preset": "stories-en-zh", "d_model": 192, "kept": A}


def n_built(config: ModelConfig) -> tuple[int, int]:
    """The numbers of a model as it is built: in a layer, and in all of it."""
    model = build(config, seed=0)
    layer, whole = (sum(p.numel() for p in m.parameters()) for m in (model.layers[0], model))
    return layer, whole


def line_of_both(at: AppTest) -> str:
    (line,) = (each.value for each in at.caption if "  \nB: " in each.value)
    return line


def counts(text: str) -> list[int]:
    return [int(n.replace(",", "")) for n in re.findall(r"[\d,]+(?= parameters)", text)]


def test_a_trained_block_and_a_random_one_are_counted_as_blocks():
    at = opened(BLOCK, **LINK)
    assert_works(at)
    line = line_of_both(at)
    assert counts(line) == [n_built(STORIES)[0], n_built(WIDER)[0]]
    assert line.count("in this block") == 2


def test_the_parameters_of_both_are_those_of_a_block():
    at = opened(BLOCK, **LINK)
    for key, config in (("parameter_bars_a", STORIES), ("parameter_bars", WIDER)):
        (bars,) = figure(at, key)["data"]
        assert sum(bars["x"]) == n_built(config)[0]


def test_a_whole_model_is_counted_whole():
    at = opened("pages/gpt.py", **LINK)
    assert counts(line_of_both(at)) == [n_built(STORIES)[1], n_built(WIDER)[1]]
    assert line_of_both(at).count("in the whole model") == 2


def test_the_page_that_compares_counts_the_same_blocks():
    text = said(opened("pages/compare.py", **LINK))
    assert "change as a consequence: d_head, d_ff." in text
    for config in (STORIES, WIDER):
        layer, whole = n_built(config)
        assert f"{whole:,} parameters in the whole model, {layer:,} in each block" in text


@pytest.mark.parametrize("page", [BLOCK, "pages/gpt.py"])
def test_what_moved_along_is_named(page: str):
    at = opened(page, **LINK)
    line = line_of_both(at).splitlines()[-1]
    assert "d_model 192 instead of 128" in line
    assert "d_ff 768 instead of 512 as a result" in line
    assert "random weights (seed 0) instead of trained weights" in line
    assert line.endswith("all else is equal.")
    assert "n_layers" not in line
    assert "d_ff follows d_model: 512 → 768" in said(at)


def test_heads_take_keys_and_values_along():
    at = opened(BLOCK, preset="stories-en-zh", n_heads=8)
    assert "n_kv_heads follows n_heads: 4 → 8" in said(at)
    move(at, "n_kv_heads", 2)
    assert "follows n_heads" not in said(at)


def test_nothing_follows_where_nothing_moved():
    assert "follows" not in said(opened(BLOCK, preset="stories-en-zh"))


def test_in_chinese_too():
    at = opened(BLOCK, locale="zh", **LINK)
    line = line_of_both(at)
    assert "d_ff" in line and "follows" not in said(at) and "in this block" not in said(at)


def test_what_runs_is_what_the_control_shows_and_one_click_leads_back():
    at = opened(BLOCK, preset="stories-en-zh", d_model=192)
    assert control(at, "weights").value == "random"
    assert "random (seed 0)" in control(at, "weights").options
    move(at, "weights", "trained")
    assert settings(at) == {}
    assert control(at, "weights").value == "trained"


def test_random_weights_that_were_asked_for_are_left_by_one_click():
    at = opened(BLOCK, preset="stories-en-zh", d_model=192, weights="random", seed=3)
    assert "random (seed 3)" in control(at, "weights").options
    assert "do not fit" not in said(at)
    move(at, "weights", "trained")
    assert settings(at) == {"seed": "3"}


def test_where_trained_weights_cannot_run_no_way_is_offered():
    at = opened("pages/encoder.py", preset="stories-en-zh")
    assert control(at, "weights").value == "random" and control(at, "weights").disabled
