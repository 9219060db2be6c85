"""Attention on its page: every step, every head, every extreme."""

import re

import pytest
import torch
from opened import (
    assert_works,
    control,
    figure,
    move,
    noted_runs,
    opened,
    press,
    said,
    settings,
    visit,
    words_in_pictures,
)

from blocks import record
from blocks.observe.run import Run
from pages.server import cached
from pages.state.link_fields.attention import SORTS

ATTENTION = "pages/attention.py"
SMALL = {"d_model": 32, "n_heads": 4, "n_layers": 2}
NO_KEY = {"mask_kind": "causal_padding", "n_padding": 64, "padding_side": "left"}
RANDOM = {"input_kind": "random"}


@pytest.fixture(scope="module")
def at():
    """One reader, who opens link after link."""
    return opened(ATTENTION, **SMALL)


def test_the_first_view_reads_a_trained_model_and_says_so():
    first = opened(ATTENTION, preset=None)
    assert_works(first)
    assert settings(first) == {}
    assert "attends mostly to" in said(first) and "The weights are trained" in said(first)
    headings = [heading.value for heading in first.subheader]
    assert headings == [
        "What does a head do?",
        "How should each score change?",
        "How do scores grow with d?",
        "Why divide by √d?",
        "Which tokens contribute?",
        "Contributions through all layers",
        "Who reads whom?",
        "All heads",
        "What is each head for?",
        "Sharing keys and values",
        "Other attention variants",
        "Switch a part off",
        "Save the results",
    ]
    assert len(first.dataframe[0].value) == 16


def test_the_steps_are_walked_by_a_button_and_kept_in_the_link(at):
    visit(at, **SMALL, attention_step="project", panel="steps")
    assert at.button(key="step_back").disabled
    for step in ("qkv", "scores", "scaled", "mask", "softmax", "mix", "write", "heads"):
        press(at, "step_on")
        assert_works(at)
        assert settings(at).get("attention_step", "project") == step
    assert at.button(key="step_on").disabled
    press(at, "step_back")
    assert settings(at)["attention_step"] == "write"


@pytest.mark.parametrize("step", ["project", "bias", "softmax", "write"])
@pytest.mark.thinned
def test_a_link_opens_at_a_step(at, step: str):
    visit(at, **SMALL, attention_step=step, position_kind="alibi", panel="steps")
    assert_works(at)
    assert control(at, "attention_step").value == step
    drawn = figure(at, "step")
    assert drawn["layout"]["title"]["text"]


def test_a_step_that_the_model_does_not_take_is_not_offered(at):
    visit(at, **SMALL, attention_step="bias", position_kind="rope", panel="steps")
    assert_works(at)
    assert "bias" not in control(at, "attention_step").options
    assert control(at, "attention_step").value == "scaled"


def test_the_scaling_is_switched_off(at):
    visit(at, **SMALL, panel="scaling")
    before = figure(at, "scaled_row")
    move(at, "is_scaled", False)
    assert settings(at)["is_scaled"] == "false"
    assert figure(at, "scaled_row") != before


def test_one_head_and_all_of_them_are_counted(at):
    visit(at, **SMALL)
    assert "other heads" in words_in_pictures(at)
    move(at, "counted", "all_heads")
    assert "other heads" not in words_in_pictures(at)
    assert "output bias" in words_in_pictures(at)


@pytest.mark.parametrize("sort_by", ["layer", "entropy_bits", "first_token"])
def test_the_heads_are_sorted(at, sort_by: str):
    visit(at, **SMALL, sort_heads_by=sort_by, panel="heads")
    assert_works(at)
    rows = figure(at, "head_measures")["data"][0]["text"]
    column = SORTS.index(sort_by) - 1
    numbers = [float(row[column]) for row in rows]
    if sort_by != "layer":
        assert numbers == sorted(numbers, reverse=sort_by != "entropy_bits")


def sharpest(run: Run) -> tuple[int, int, float]:
    """Layer, head and weight where the last token reads most from one other."""
    seen = record(cached.model(run), run.values(), mask=run.build_mask())
    patterns = torch.stack([seen.pattern(layer)[0, :, -1, :-1] for layer in range(2)])
    place = int(patterns.amax(-1).argmax())
    return *divmod(place, run.config.n_heads), float(patterns.max())


def test_a_button_goes_to_the_sharpest_head(monkeypatch: pytest.MonkeyPatch):
    runs = noted_runs(monkeypatch)
    stories = opened(ATTENTION, preset=None)
    press(stories, "sharpest")
    assert_works(stories)
    layer, head, weight = sharpest(runs[-1])
    assert (control(stories, "layer").value, control(stories, "head").value) == (layer, head)
    assert f"({weight:.0%})" in said(stories)
    assert stories.button(key="sharpest").disabled


EXTREMES = [
    {"text": "a", "n_padding": 0},
    {"text": "<b>x</b> $y$ `z` & **k**", "edges": 16, "mask_kind": "none"},
    {**NO_KEY, "token": 0, "attention_step": "softmax", "counted": "all_heads"},
    {"norm_kind": "batchnorm", "training": True, "dropout": 0.5, "dtype": "bfloat16"},
    {"norm_placement": "parallel", "norm_kind": "none", "residual": False, "dtype": "float16"},
    {"norm_placement": "sandwich", "attention_step": "write", "feature": 31, "dtype": "float64"},
    {"attention_only": True, "initialization": "zero_writes", "attention_bias": False},
    {"mask_kind": "sliding_window", "window_size": 1, "norm_placement": "post"},
    {**RANDOM, "batch": 8, "seq_len": 1},
    {"d_model": 1, "n_heads": 1, "attention_step": "scores"},
    {"d_model": 64, "n_heads": 64, "attention_step": "scores"},
    {"d_model": 128, "n_heads": 1, "attention_step": "mix"},
    {"layer": 99, "head": 99, "key": 99, "feature": 9999, "token": 99},
    {"interventions": "head_out.0.1:zero", "counted": "all_heads", "attention_step": "mix"},
]


@pytest.mark.parametrize("link", EXTREMES, ids=str)
@pytest.mark.thinned
def test_the_page_works_at_extremes(at, link: dict):
    visit(at, **{**SMALL, **link})
    assert_works(at)


@pytest.mark.parametrize("step", ["scores", "softmax"])
def test_many_tokens_are_shown_through_a_window_that_is_named(at, step: str):
    visit(at, **SMALL, **RANDOM, seq_len=256, attention_step=step, token=100)
    assert_works(at)
    assert "Tokens 85 to 116 of 256 are shown" in said(at)
    (pinned,) = {shape["y0"] for shape in figure(at, "strip")["layout"]["shapes"][1:]}
    assert pinned == 100 - 84 - 0.5
    move(at, "key", 3)


@pytest.mark.parametrize("preset", ["masked-words", "sort"])
def test_trained_models_are_read(at, preset: str):
    visit(at, preset=preset, layer=1, head=1, attention_step="softmax")
    assert_works(at)
    assert "The weights are trained" in said(at)


def test_an_induction_head_is_named(at):
    visit(at, preset="induction")
    assert_works(at)
    names = [
        name
        for name in at.dataframe[0].value["from the head probe"]
        if name.startswith("induction ")
    ]
    assert len(names) > 1 and all(float(name.split()[1]) > 0.5 for name in names)
    assert f"induction {len(names)}" in said(at)


def n_wires(at) -> int:
    shapes = figure(at, "graph")["layout"]["shapes"]
    return sum(shape["path"].count("C") for shape in shapes)


def test_thinner_wires_carry_more_and_the_table_says_where_a_token_comes_from(at):
    link = {"preset": "stories-en-zh", "d_model": None, "panel": "contribution-graph"}
    carried = []
    for least in (1, 10):
        visit(at, **link, least_share=least)
        assert_works(at)
        found = re.search(r"at least (\d+)% are drawn; together they carry (\d+)% of all", said(at))
        assert int(found[1]) == least
        carried.append((int(found[2]), n_wires(at)))
    assert carried[0] > carried[1] > (0, 0)
    shares = at.table[0].value["share"]
    assert len(shares) == 8 and shares.iloc[0].endswith("%")
    visit(at, **link, token=0)
    assert "takes nothing from any other token" in said(at)


def test_a_text_too_long_for_the_graph_is_said(at, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pages.panels.contribution_graph.MOST_NUMBERS", 1000)
    visit(at, preset="stories-en-zh", panel="contribution-graph")
    assert_works(at)
    assert "shorten the text" in said(at)


def test_training_mode_is_off_in_the_graph(at):
    link = {"panel": "contribution-graph", "n_layers": 2, "dropout": 0.5}
    shapes = []
    for training in (False, True):
        visit(at, **link, training=training)
        assert_works(at)
        shapes.append(figure(at, "graph")["layout"]["shapes"])
    assert shapes[0] == shapes[1] and "evaluation mode" in said(at)


@pytest.mark.parametrize(("n_layers", "is_slider"), [(12, False), (13, True)])
def test_many_layers_are_on_one_line(n_layers: int, is_slider: bool):
    at = opened(ATTENTION, panel="pattern", d_model=16, n_heads=2, n_layers=n_layers, layer=11)
    assert_works(at)
    chosen = control(at, "layer")
    assert (chosen.type == "select_slider") is is_slider and chosen.value == 11
    move(at, "layer", 2)
    assert_works(at)
    assert control(at, "layer").value == 2
