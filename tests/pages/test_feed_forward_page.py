"""The page of the wide layer: every kind of model, both ends of each control, all its ways."""

import re

import pytest
from opened import assert_works, control, figure, move, opened, press, said, settings, visit

from pages.state.link_fields.compare import Kept, text_of

PAGE = "pages/feed_forward.py"
RANDOM = {"input_kind": "random"}
SMALL = {"d_model": 32, "n_heads": 4}
NO_KEY = {"mask_kind": "causal_padding", "n_padding": 64, "padding_side": "left"}


def page(**query):
    return opened(PAGE, **query)


def table(at, column: str):
    """The table that has this column."""
    return next(t.value for t in at.dataframe if column in t.value)


def test_the_first_view_shows_all_parts_of_a_trained_model():
    at = page(preset=None)
    assert_works(at)
    keys = ("bend_curves", "factors", "closed", "layer_units", "activity", "unit_map", "exciting")
    keys += ("ratio_cost", "ratio_written", "routes", "load", "expert_totals")
    assert all(figure(at, key)["data"] for key in (*keys, "reach"))
    assert "Layer 1, trained weights" in said(at)
    assert "This layer is dense" in said(at)


@pytest.mark.parametrize("preset", ["masked-words", "sort", "course"])
@pytest.mark.thinned
def test_each_kind_of_model_is_shown(preset: str):
    assert_works(page(preset=preset))


def test_a_model_of_attention_alone_has_a_way_to_a_wide_layer():
    at = page(preset="induction")
    assert_works(at)
    assert "attention only" in said(at)
    press(at, "with_feed_forward")
    assert_works(at)
    assert settings(at)["attention_only"] == "false" and figure(at, "bend_curves")


CASES = {
    "activations, placements": [
        {"activation": "relu", "norm_placement": "post", "position_kind": "alibi"},
        {"activation": "glu", "norm_placement": "sandwich"},
        {"activation": "reglu", "norm_placement": "parallel"},
        {"activation": "swiglu", "norm_kind": "none"},
    ],
    "no residual": [{"residual": False}],
    "batch norm": [{"norm_kind": "batchnorm", "training": True, "dropout": 0.5}],
    "start": [{"initialization": "zero_writes"}],
    "number formats": [{"dtype": "bfloat16", **RANDOM, "batch": 3, "seq_len": 5}],
    "rows without a key": [{"dtype": "float16", **NO_KEY}],
    "long": [{**RANDOM, "seq_len": 256}],
    "narrow": [{"d_ff": 1}, {"d_model": 1, "n_heads": 1}],
    "one token": [{"text": "a"}, {"text": "a", "n_experts": 4}, {"text": ""}],
    "experts": [
        {"n_experts": 2, "n_active_experts": 1},
        {"n_experts": 8, "n_active_experts": 8, "activation": "swiglu"},
        {"n_experts": 8, "expert_capacity": 0.25, "dtype": "bfloat16"},
        {"n_experts": 4, "expert_capacity": 1.0, **RANDOM, "batch": 2, "seq_len": 7},
        {"n_experts": 4, "norm_placement": "parallel", "training": True, "dropout": 0.1},
    ],
    "views": [{"unit": 10**6, "expert": 63, "token": 10**6, "layer": 9, "n_experts": 2}],
    "Chinese, markup": [{"lang": "zh", "text": "<b>x</b> & <s> `a`", "n_experts": 4}],
}


@pytest.fixture(scope="module")
def at():
    """One reader, who opens link after link."""
    return page(**SMALL)


@pytest.mark.parametrize("links", CASES.values(), ids=CASES)
@pytest.mark.thinned
def test_the_page_runs_at_every_choice_and_both_ends(at, links: list[dict[str, object]]):
    for link in links:
        visit(at, **{**SMALL, **link})
        assert_works(at)


def test_a_gated_layer_shows_gate_value_and_product():
    at = page(panel="gate", **SMALL)
    assert len(figure(at, "factors")["data"]) == 2
    press(at, "with_gate")
    assert settings(at)["activation"] == "swiglu"
    assert len(figure(at, "factors")["data"]) == 3
    assert "the gate is closed in" in said(at)
    rows = table(at, "gate")
    assert (rows["gate"] * rows["value"]).to_numpy() == pytest.approx(rows["hidden"], abs=2e-4)
    press(at, "without_gate")
    assert "gate" not in table(at, "z").columns


def test_relu_has_dead_units_and_says_how_many():
    at = page(panel="dead-units", activation="relu", text="a", **SMALL)
    assert_works(at)
    assert "φ(z) = 0" in said(at)
    assert "of 128 units, 0 (" not in said(at)  # of one token, about half


def test_a_unit_is_chosen_by_number_and_given_back():
    at = page(panel="unit", **SMALL)
    first = control(at, "unit").value
    move(at, "unit", 7)
    assert "Unit 7 is active" in said(at) and settings(at)["unit"] == "6"
    press(at, "strongest_unit")
    assert control(at, "unit").value == first and "unit" not in settings(at)


def test_the_width_sweep_is_exact():
    at = page(panel="width", **SMALL)
    rows = table(at, "d_ff / d_model")
    d = 32
    assert rows["d_ff / d_model"].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert rows["parameters"].tolist() == [2 * d * d * r + d * r + d for r in range(1, 9)]
    assert rows["FLOPs per token"].tolist() == [4 * d * d * r for r in range(1, 9)]


def test_what_does_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch):
    at = page(panel="width", **SMALL)
    monkeypatch.setattr("pages.panels.feed_forward.width.memory_budget", lambda _device: 60_000)
    visit(at, seed=5, panel="width", **SMALL)
    assert_works(at)
    assert "need more memory" in said(at)
    assert len(table(at, "d_ff / d_model")) < 8


def test_experts_are_tried_limited_and_left_again():
    at = page(panel="experts", **SMALL)
    press(at, "try_experts")
    assert_works(at)
    assert settings(at)["n_experts"] == "8"
    assert "The router is a linear layer without bias" in said(at)
    assert "There is no capacity limit" in said(at)
    press(at, "with_capacity")
    assert settings(at)["expert_capacity"] == "1.0" and "assignments dropped:" in said(at)
    load = table(at, "mean router score")
    assert load["processed"].max() <= 3 and load["times chosen"].sum() == 2 * 12  # ⌈2 · 12 / 8⌉
    press(at, "one_active")
    assert table(at, "mean router score")["times chosen"].sum() == 12
    press(at, "dense_again")
    assert_works(at)
    assert "n_experts" not in settings(at)


def test_the_cost_of_experts_is_a_panel_of_its_own():
    at = page(panel="expert-cost", n_experts=8, expert_capacity=1.0, **SMALL)
    assert_works(at)
    assert "Each token uses" in said(at) and figure(at, "expert_totals")["data"]
    assert len(table(at, "FLOPs per token")) == 3
    assert "dropped by expert_capacity" in said(at)
    visit(at, panel="experts", n_experts=8, **SMALL)
    assert "Each token uses" not in said(at)
    assert "attention only" in said(page(panel="expert-cost", preset="induction"))


def test_the_sidebar_has_the_controls_of_experts_only_where_there_are_some():
    at = page(panel="experts", **SMALL)
    assert control(at, "n_experts").value == 1
    move(at, "n_experts", 4)
    move(at, "n_active_experts", 4)
    move(at, "expert_capacity", 0.5)
    move(at, "n_experts", 1)
    with pytest.raises(StopIteration):
        control(at, "n_active_experts")


def test_too_many_active_experts_are_mended():
    at = page(n_experts=2, n_active_experts=4, **SMALL)
    assert_works(at, warnings=1)
    assert settings(at)["n_experts"] == "2" and "n_active_experts" not in settings(at)


def test_an_expert_without_tokens_says_so_and_leads_to_a_busy_one():
    link = {"n_experts": 16, "n_active_experts": 1, "text": "a", "panel": "activation", **SMALL}
    at = page(**link, expert=0)
    for expert in range(16):
        visit(at, **link, expert=expert)
        if "No token of this input was routed" in said(at):
            break
    assert_works(at)
    press(at, "busiest_expert")
    assert_works(at)
    assert figure(at, "bend_curves")


def test_position_by_position_is_measured():
    at = page(panel="positions", position_kind="none", **SMALL)
    rows = table(at, "after shuffling")["after shuffling"].tolist()
    assert rows == ["same outputs", "same outputs", "different outputs"]
    assert "it treats tokens as a set" in said(at)
    assert "Feed-forward outputs that changed: 1 of 12" in said(at)
    visit(at, panel="positions", mask_kind="none", position_kind="rope", **SMALL)
    assert "since RoPE gives it position information" in said(at)


def test_one_token_has_no_other_order():
    assert "A single token cannot be reordered" in said(page(panel="positions", text="a", **SMALL))


def test_the_text_with_its_experts_is_text():
    at = page(n_experts=4, text="<script>alert(1)</script>", **SMALL)
    assert_works(at)
    (text,) = (each.proto.body for each in at.get("html"))
    ours = r'<span style="[^"<>]*">|</span>|</?small>|</?s>'
    assert "&lt;" in text and "<" not in re.sub(ours, "", text)


def test_a_of_other_sizes_stands_beside_with_its_own_numbers():
    other = {"preset": "course", "d_model": "16", "n_heads": "4", "activation": "relu"}
    kept = text_of((Kept("A", tuple(other.items())),))
    at = opened("pages/feed_forward.py", kept=kept, **{**SMALL, "n_layers": 1})
    assert_works(at)
    d = 16
    n_parameters = [2 * d * d * r + d * r + d for r in range(1, 9)]
    assert figure(at, "ratio_cost_a")["data"][0]["y"] == n_parameters
    active, of_a = (figure(at, key)["data"][2]["y"] for key in ("layer_units", "layer_units_a"))
    assert active != of_a


def test_a_of_attention_alone_leaves_the_pictures_to_b():
    kept = text_of((Kept("A", (("preset", "induction"),)),))
    at = opened("pages/feed_forward.py", kept=kept, panel="dead-units", **SMALL)
    assert_works(at)
    assert figure(at, "activity") and "lacks this layer" in said(at)
