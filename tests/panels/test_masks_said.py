"""What the panels of masks say: facts filled in by hand, each case read."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn import checked
from said_in import in_both

from blocks import ModelConfig
from blocks.inspection.leaks import LeakFacts, LeakTest
from blocks.inspection.mask_faults import MaskFault
from blocks.inspection.mask_steps import BlindFacts, Cross, Lead, StepFacts
from blocks.model.masks import MaskConfig, MaskKind
from blocks.observe.run import Input, Run
from blocks.training.peeking import Peeking
from blocks.training.recorded import Look
from pages.figures.drawn_chart import drawn
from pages.panels.masks import edges, faults, leaks, peeking, steps

LABELS = ("a", "`b", "c", "d")
RUN = Run(
    config=ModelConfig(d_model=32, n_heads=4, n_layers=2),
    input=Input(tokens=LABELS, token_ids=(0, 1, 2, 3)),
    mask=MaskConfig(mask_kind=MaskKind.CAUSAL),
)
OPEN = np.tri(4, dtype=bool)
EVERYONE = (0, 1, 2, 3)


def leak_facts(**changes) -> LeakFacts:
    """A clean test of all four tokens."""
    clean = {
        "test": LeakTest(run=RUN),
        "forbidden": ~OPEN,
        "n_closed": 6,
        "tokens": EVERYONE,
        "outputs": EVERYONE,
        "moved": OPEN * 2.0,
        "gradient": OPEN * 0.5,
        "mixing": 0.0,
    }
    return LeakFacts(**{**clean, **changes})


LEAKING = np.where(OPEN, 1.0, 0.0)
LEAKING[0, 2] = 0.25
SOME = {"tokens": (0, 3), "outputs": (0, 3), "gradient": OPEN[[0, 3]] * 0.5}
TRAINING = replace(
    RUN, training=True, config=RUN.config.replace(norm_kind="batchnorm", residual=True)
)


@pytest.mark.parametrize(
    ("facts", "english"),
    [
        (leak_facts(), "No leak: every forbidden cell (6 in all) is exactly 0, both when"),
        (leak_facts(gradient=None, outputs=()), "No leak so far: every forbidden cell (6 in all)"),
        (
            leak_facts(moved=OPEN[:, [0, 3]] * 1.0, **SOME),
            "No leak: 2 of 4 tokens were changed, which tests 3 of the 6 forbidden cells, and all",
        ),
        (leak_facts(moved=LEAKING), "Leak: output 1 `` a `` changes by 0.25 when token 3"),
        (leak_facts(moved=LEAKING), "Forbidden cells that are not 0: 1 of 6."),
        (
            leak_facts(moved=LEAKING[:, [2]], tokens=(2,), outputs=(), gradient=None),
            "Tested forbidden cells that are not 0: 1 of 2.",
        ),
        (
            leak_facts(gradient=LEAKING),
            "has a gradient of 0.25 with respect to the input vector of token 3",
        ),
        (leak_facts(moved=np.where(OPEN, 1, np.nan)), "Some forbidden cells (6) are NaN"),
        (leak_facts(forbidden=np.zeros((4, 4), bool)), "Nothing is forbidden here"),
        (leak_facts(moved=LEAKING, mixing=0.5), "same batch changes too, by up to 0.5."),
        (leak_facts(moved=LEAKING, test=LeakTest(run=TRAINING)), "BatchNorm computes the mean and"),
    ],
)
def test_the_verdict(monkeypatch, facts: LeakFacts, english: str):
    said = in_both(monkeypatch, leaks.says_verdict, facts)
    assert english in said["en"].replace("`a`", "`` a ``") and said["zh"] != said["en"]


def test_counts_of_both_notes_agree(monkeypatch):
    some = leak_facts(moved=OPEN[:, [0, 3]] * 1.0, **SOME)
    reach = in_both(monkeypatch, leaks.says_reach, some)["en"]
    assert reach == "6 of 16 output–token pairs are forbidden through all layers."
    assert "of the 6 forbidden" in in_both(monkeypatch, leaks.says_verdict, some)["en"]
    wide = in_both(monkeypatch, leaks.says_reach, leak_facts(n_closed=9))["en"]
    assert "One layer forbids 9 of 16 cells. Through all layers (2)" in wide


def test_how_much_was_tested(monkeypatch):
    assert "Tested so far" not in in_both(monkeypatch, leaks.says_how, leak_facts())["en"]
    some = leak_facts(tokens=(0, 3), outputs=(0,))
    said = in_both(monkeypatch, leaks.says_how, some)["en"]
    assert said.endswith("Tested so far: 2 of 4 tokens changed; gradients of outputs: 1.")
    moving = in_both(monkeypatch, leaks.says_moving, leak_facts())["en"]
    assert moving.startswith("Of the allowed cells, 10 of 10 change, by up to 2.")


def test_why_another_path_is_taken(monkeypatch):
    none = MaskFault.NONE
    assert in_both(monkeypatch, leaks.says_path, RUN, "fused", none)["en"] == ""
    planted = in_both(monkeypatch, leaks.says_path, RUN, "fused", MaskFault.ADDITIVE)["en"]
    assert planted.startswith("The fault is planted between scores and weights")
    dropping = replace(RUN, training=True, config=RUN.config.replace(dropout=0.1))
    said = in_both(monkeypatch, leaks.says_path, dropping, "fused", none)["en"]
    assert said.startswith("Dropout acts on the attention weights")


@pytest.mark.parametrize(
    ("fault", "forbidden", "english"),
    [
        (MaskFault.OFF_BY_ONE, ~OPEN, "In this setting"),
        (MaskFault.ADDITIVE, ~OPEN, "−10,000 is enough"),
        (MaskFault.PADDING_ATTENDED, ~OPEN, "hides no padding"),
        (MaskFault.ADDITIVE, np.zeros((4, 4), bool), "Nothing is forbidden"),
    ],
)
def test_why_a_fault_does_nothing(monkeypatch, fault, forbidden, english: str):
    facts = leak_facts(test=LeakTest(run=RUN, fault=fault), forbidden=forbidden)
    assert english in in_both(monkeypatch, faults.says_no_leak, facts)["en"]


def test_how_large_scores_must_be(monkeypatch):
    said = in_both(monkeypatch, faults.says_lead, Lead(2.0, 9000.0), "float32")["en"]
    assert "by at most 2.00. In float32" in said and "4,500 times as large" in said
    none = in_both(monkeypatch, faults.says_lead, Lead(-1.0, 9000.0), "float32")["en"]
    assert "so −10,000 is enough there at any scale." in none


EVEN = np.where(OPEN, 1 / OPEN.sum(axis=1, keepdims=True), 0).astype(np.float32)
STEPS = StepFacts(LABELS, 0, 1, 2, OPEN, np.zeros((4, 4), np.float32), EVEN)


@pytest.mark.parametrize(
    ("facts", "english"),
    [
        (STEPS, "may attend: 3 of 4. Its largest weight, 0.333, goes to key 1"),
        (STEPS, "would take 38% of this head's weight on average, and at most 75%, at query 1"),
        (replace(STEPS, is_open=np.ones((4, 4), bool)), "attend: 4 of 4. Its largest weight"),
        (replace(STEPS, is_open=np.zeros((4, 4), bool)), "Its row is all zeros"),
        (replace(STEPS, scores=np.full((4, 4), np.inf)), "too large for this number format"),
    ],
)
def test_what_the_mask_changes(monkeypatch, facts: StepFacts, english: str):
    assert english in in_both(monkeypatch, steps.says_steps, facts)["en"]


def test_what_a_fault_does_to_the_weights(monkeypatch):
    said = in_both(monkeypatch, faults.says_weights, STEPS)["en"]
    assert said.startswith("Row sums range from 1.000 to 1.000; 0.0% of the total weight")
    wrong = replace(STEPS, pattern=np.full((4, 4), 0.25))
    assert "37.5% of the total" in in_both(monkeypatch, faults.says_weights, wrong)["en"]
    broken = replace(STEPS, pattern=np.full((4, 4), np.nan))
    assert "NaN" in in_both(monkeypatch, faults.says_weights, broken)["en"]


ROWS = np.stack([np.zeros(4), np.full(4, 0.25), np.full(4, 0.25), np.full(4, np.nan)])
BLIND = BlindFacts(LABELS, 0, 1, 2, True, "float32", ROWS, n_spoiled=3)


@pytest.mark.parametrize(
    ("facts", "english"),
    [
        (BLIND, "cannot attend to any key in this run. Adding −10⁹ wipes out"),
        (BLIND, "every key (4 in all) gets a weight of 0.2500"),
        (BLIND, "From this row of head 2 in layer 1, NaN spreads to other outputs (3 of"),
        (replace(BLIND, is_real=False), "could not."),
        (replace(BLIND, weights=ROWS * np.array([1, 2, 3, 4])), "as if there were no mask"),
        (replace(BLIND, weights=np.full((4, 4), np.nan)), "In float32, −10⁹ is out of range"),
    ],
)
def test_a_query_without_a_key(monkeypatch, facts: BlindFacts, english: str):
    assert english in in_both(monkeypatch, edges.says_blind, facts)["en"]


def test_keys_of_another_sequence(monkeypatch):
    cells = np.ones((4, 5), bool)
    cells[:, 3:] = False
    said = in_both(monkeypatch, edges.says_cross, Cross(cells, cells, cells), 7)["en"]
    assert "(4) attend to the keys of another sequence (5, of which 2" in said
    assert "over the other keys (3)." in said and "(seed 7)" in said


def test_two_curves_a_model_and_the_level_of_guessing():
    rows = [("masked", 1, 7.0), ("masked", 2, 3.0), ("peeking", 1, 7.0), ("peeking", 2, 0.5)]
    table, look = pd.DataFrame(rows, columns=["model", "update", "loss"]), Look(0, 6.9, 0.0, "")
    chart = peeking.losses(Peeking(2, 3.0, 0.5, look, look, table, table[::2], guess=6.9))
    checked(drawn(chart))
    found = [chart.table_of(each)["loss"].tolist() for each in chart.series]
    assert found == [[7, 3], [7, 0.5], [7], [7]]
    assert [each.look.dash for each in chart.series] == ["", "", "dot", "dot"]
    assert len({each.look.name for each in chart.series}) == 4
    assert chart.x.ends == (0, 120) and chart.y.ends[1] > 7 and chart.levels[0].y == 6.9
