"""The page of positions: every kind on every model, the claims, and beyond the length."""

import itertools
import re
from types import SimpleNamespace

import pytest
from opened import assert_works, control, figure, move, opened, press, said, settings

from pages.show import steps

POSITIONS = "pages/positions.py"
KINDS = ("none", "sinusoidal", "learned", "rope", "alibi")
QUICK = {"d_model": 16, "n_heads": 2, "trained_len": 8, "n_positions": 16}


def keys(at) -> set[str]:
    """Which charts are drawn."""
    return {re.sub(r"^.*-", "", chart.proto.id) for chart in at.get("plotly_chart")}


def completed(at):
    """The same page when all that it stopped before (on a busy machine) is done."""
    while waiting := [b.key for b in at.button if str(b.key).endswith("_steps_go_on")]:
        press(at, waiting[0])
    return at


def verdicts(at) -> list[str]:
    """The signs of the grid, row by row."""
    rows = figure(at, "claim_grid")["data"][0]["text"]
    return ["".join(cell[0] for cell in row) for row in rows]


def test_the_first_view_tests_the_trained_model():
    at = completed(opened(POSITIONS, preset=None))
    assert_works(at)
    assert control(at, "shown_position").value == "rope"
    assert verdicts(at) == ["✗✓✓✓✓", "–✓✓✓✗", "–✓✗✓–", "✓✗✗✓✓", "✓✗✗✗✗"]
    assert "does worse: running is not generalizing" in said(at)
    assert "“learned” does not work at 256, 512 tokens" in said(at)


def test_every_kind_is_looked_at_on_one_model():
    at = opened(POSITIONS, **QUICK)
    for kind in KINDS:
        move(at, "shown_position", kind)
        shown = {"position_table", "position_curves", "wavelengths", "likeness"} & keys(at)
        assert len(shown) == (0 if kind == "none" else 4)
        assert ("shift_matrix" in keys(at)) == (kind in ("sinusoidal", "learned", "rope"))
        assert ("spread_far" in keys(at)) is True
    assert "Positional encoding of this model: sinusoidal" in said(at)


def test_the_model_is_run_with_the_kind_that_is_looked_at():
    at = opened(POSITIONS, shown_position="alibi", panel="kinds", **QUICK)
    press(at, "use_position")
    assert_works(at)
    assert settings(at)["position_kind"] == "alibi" and "shown_position" not in settings(at)
    assert control(at, "shown_position").value == "alibi"


@pytest.mark.parametrize("preset", ["induction", "sort"])
def test_trained_models_are_told_where_their_table_ends(preset: str):
    at = opened(POSITIONS, preset=preset)
    assert_works(at)
    assert "The learned table has" in said(at)
    assert "loss_far" in keys(at)


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("n_positions", (8, 512)),
        ("position_pair", (0, 7)),
        ("position_shift", (1, 15)),
        ("trained_len", (8, 256)),
    ],
)
@pytest.mark.thinned
def test_each_control_works_at_both_ends(name: str, ends: tuple[int, int]):
    at = opened(POSITIONS, **QUICK)
    for value in ends:
        move(at, name, value)


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "a", "dtype": "bfloat16", "position_kind": "alibi"},
        {"text": "", "shown_position": "learned", "n_positions": 2},
        {"text": "word " * 256, "n_positions": 8},
        {"mask_kind": "causal_padding", "n_padding": 5, "padding_side": "left"},
        {"residual": False, "norm_kind": "none", "initialization": "zero_writes"},
        {"position_kind": "learned", "max_seq_len": 2, "text": "two words"},
        {"position_kind": "learned", "max_seq_len": 12, "text": "two words"},
        {"d_model": 8, "n_heads": 8, "shown_position": "sinusoidal"},
        {
            "input_kind": "random",
            "batch": 3,
            "seq_len": 5,
            "norm_kind": "batchnorm",
            "training": True,
        },
        {"mask_kind": "sliding_window", "window_size": 1},
    ],
)
@pytest.mark.thinned
def test_hard_inputs(changes: dict):
    assert_works(opened(POSITIONS, **(QUICK | changes)))


def test_heads_of_odd_width_are_refused_and_mended():
    at = opened(POSITIONS, **(QUICK | {"n_heads": 16, "shown_position": "rope", "panel": "kinds"}))
    assert_works(at)
    assert "RoPE rotates dimensions in pairs" in said(at)
    press(at, "mend_position")
    assert_works(at)


def test_a_length_that_does_not_fit_is_shortened(monkeypatch):
    monkeypatch.setenv("BLOCKSCOPE_MEMORY_GIB", "0.02")
    at = opened(POSITIONS, **(QUICK | {"trained_len": 256}))
    assert "need about" in said(at)
    press(at, "shorter_length")
    assert_works(at)


def test_the_kind_that_is_looked_at_is_measured_first(monkeypatch):
    begun = itertools.count()
    slow = SimpleNamespace(monotonic=lambda: 3.0 * next(begun))  # stops after one step
    monkeypatch.setattr(steps, "time", slow)
    at = opened(POSITIONS, seed=5, **(QUICK | {"shown_position": "rope"}))
    assert_works(at)
    assert verdicts(at)[0] == "…" * 3 + "✓…"
    assert "RoPE, head 1: in a text of" in said(at)
    monkeypatch.undo()
    at = completed(at)
    assert_works(at)
    assert "…" not in "".join(verdicts(at)) and "Stopped" not in said(at)


def test_random_weights_lead_to_trained_ones():
    at = opened(POSITIONS, **QUICK)
    assert "losses mean nothing yet" in said(at)
    press(at, "open_trained")
    assert control(at, "preset").value == "stories-en-zh"


def test_a_published_shape_made_small():
    at = opened(POSITIONS, preset="gpt2-small", n_layers=2, d_model=32, n_heads=4, trained_len=8)
    assert_works(at)
    assert control(at, "shown_position").value == "learned"
