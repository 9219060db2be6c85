"""What the panels of Compare say: facts filled in by hand, each case read."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from said_in import in_both

from blocks import ModelConfig
from blocks.cost.paired_time import PairTimes
from blocks.cost.pareto import front_facts
from blocks.cost.summary import Summary
from blocks.cost.two_models import PairCounts
from blocks.inspection.two_predictions import TwoPredictions
from blocks.inspection.two_runs import HeadDistances, OneHead, TwoFlows, TwoHeads
from pages.panels.compare import differences, flow, head, heads, prediction, speed, trade_off


def in_english(monkeypatch: pytest.MonkeyPatch, says, *facts) -> str:
    return in_both(monkeypatch, says, *facts)["en"]


def both(name: str, a: float, b: float) -> pd.DataFrame:
    return pd.DataFrame([(name, a, b), ("norm", 1, 1)], columns=["name", "a", "b"])


A = Summary(100, 100, 2e6, 3, 200, 4096, 5, 6, d_model=7, n_layers=8)
B = replace(A, parameters=150, read_flops=4e6, cache_bytes=1024)
COUNTS = PairCounts(
    16, "int4", A, B, both("attention", 99, 149), both("scores", 2e6, 4e6).assign(group="attention")
)


def test_what_b_costs_more(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, differences.says_counts, COUNTS)
    assert said["en"] == (
        "B has 1.5 times the parameters of A (+50); the largest change is in attention "
        "(+50). To read one token of a text of 16 tokens, B needs 2 times the FLOPs of A; the "
        "largest change is in scores Q·Kᵀ (+2 MFLOP). In the KV cache (16 bits), a token "
        "takes 4.1 kB in A and 1.02 kB in B, 0.25 times as much."
    )
    assert "1.5" in said["zh"]
    rows = [("gate_proj", 0, 4e6), ("up_proj", 1e6, 4e6), ("down_proj", 1e6, 4.2e6)]
    several = pd.DataFrame(rows, columns=["name", "a", "b"]).assign(group="feed_forward")
    spread = in_english(monkeypatch, differences.says_counts, replace(COUNTS, operations=several))
    assert "the largest change is in feed-forward (+10.2 MFLOP)" in spread
    alike = replace(COUNTS, b=A, operations=both("scores", 2e6, 2e6).assign(group="attention"))
    assert in_english(monkeypatch, differences.says_counts, alike) == (
        "Both models have 100 parameters. To read one token of a text of 16 tokens, both models "
        "need about 2 MFLOP. Each token takes 4.1 kB of KV cache in both models (16 bits)."
    )
    no_cache = replace(alike, a=replace(A, cache_bytes=0))
    assert "cache" not in in_english(monkeypatch, differences.says_counts, no_cache)


def test_which_settings_differ(monkeypatch: pytest.MonkeyPatch):
    def said(*names: list[str]) -> str:
        return in_english(monkeypatch, differences.says_settings, *names)

    assert said([], []).startswith("A and B are the same")
    assert said(["d_ff"], []) == "Settings that differ (1): d_ff"
    assert said(["d_model"] * 9, ["d_ff"]).endswith(
        ", and 1 more  \nThese change as a consequence: d_ff."
    )


def test_who_is_faster(monkeypatch: pytest.MonkeyPatch):
    slower = PairTimes("cpu", ((1.0, 2.0), (1.0, 2.0), (1.0, 4.0)), flops_ratio=3)
    assert in_english(monkeypatch, speed.says_time, slower) == (
        "Measured here on cpu in 3 alternating rounds; median (quartiles): A 1 s (1 s to 1 "
        "s), B 2 s (2 s to 3 s). B was slower in every round: it took 2 times as "
        "long as A (median). This device is also busy with other work, so the fastest "
        "rounds are the most reliable. Judging by FLOPs alone, B would take 3 times as long as A."
    )
    faster = replace(slower, rounds=((2.0, 1.0), (4.0, 1.0)))
    said = in_english(monkeypatch, speed.says_time, faster)
    assert "faster in every round: it took 0.375" in said and "Other work" not in said
    open_ = replace(slower, rounds=((1.0, 2.0), (2.0, 1.0)))
    assert "0.5 to 2): no clear winner" in in_english(monkeypatch, speed.says_time, open_)
    assert "(3 / 4 tokens)" in in_english(monkeypatch, speed.says_what_is_timed, 3, 4)


def line(*values: float) -> pd.DataFrame:
    return pd.DataFrame({"layer": range(len(values)), "value": values})


def test_where_the_streams_part(monkeypatch: pytest.MonkeyPatch):
    facts = TwoFlows("resid_post", "rms", line(1, 2, 3), line(1, 5, 2, 9))
    assert in_english(monkeypatch, flow.says_flow, facts) == (
        "The stream after the layer, RMS: A goes from 1 to 3, and B from 1 to 2, up to layer 2. A "
        "and B are furthest apart at layer 1. Layers: 2 in A, 3 in B."
    )
    facts = TwoFlows("resid_post", "rms", line(1, 2), line(5, 2))
    assert "furthest apart before the first layer." in in_english(
        monkeypatch, flow.says_flow, facts
    )


def test_how_far_heads_lie_apart(monkeypatch: pytest.MonkeyPatch):
    alike, each = np.array([[0.1, 0.5], [0.2, 0.0]]), np.array([[0.1, 0.3], [0.2, 0.5]])
    facts = HeadDistances(0, 9, alike, each)
    assert in_english(monkeypatch, heads.says_heads, facts) == (
        "Heads of A and B with the same number are 0.200 apart on average (0: identical, 1: "
        "disjoint; 9 queries). The pair furthest apart is layer 1, head 2, at 0.500. In layer 1, "
        "for 1 of 2 heads of A, the nearest head of B has the same number."
    )


def one_head(weights: list[list[float]], labels: tuple[str, ...] = ("a", "b")) -> OneHead:
    return OneHead(labels, np.zeros((2, 2), dtype=np.uint8), np.array(weights))


def test_where_one_head_reads(monkeypatch: pytest.MonkeyPatch):
    first = one_head([[1, np.nan], [0.75, 0.25]])
    facts = TwoHeads(first, one_head([[1, np.nan], [0.25, 0.75]]), 1, 0.4)
    assert np.isnan(facts.difference[0, 1]) and facts.difference[1].tolist() == [-0.5, 0.5]
    assert in_english(monkeypatch, head.says_head, facts) == (
        "`b` (token 2) attends most to `a` in A (0.75) and to `b` in B (0.75). 50% of the "
        "token's attention lies on different keys in A and B; the average over the head's "
        "queries is 40%."
    )
    other = replace(facts, b=one_head([[1, np.nan], [0.25, 0.75]], ("a", "c")))
    assert in_english(monkeypatch, head.says_head, other) == (
        "Token 2 is `b` in A and attends most to `a` (0.75); in B it is `c` and attends most to "
        "`c` (0.75)."
    )
    blind = replace(facts, b=one_head([[1, np.nan], [np.nan, np.nan]]))
    assert "cannot attend to any key" in in_english(monkeypatch, head.says_head, blind)


def test_what_both_expect(monkeypatch: pytest.MonkeyPatch):
    table = pd.DataFrame({"a": [0.5, 0.25], "b": [1e-6, 0.75], "label": ["owl", "fox"]})
    facts = TwoPredictions(table, distance=0.5, agreement=0.1)
    assert in_english(monkeypatch, prediction.says_prediction, facts) == (
        "A's top prediction is `owl` (50%); B's is `fox` (75%). The two distributions differ in "
        "50% of their probability mass; over the whole text, the top predictions agree at 10% of "
        "the positions."
    )
    assert prediction.share(1e-6) == "< 0.001%"
    how = in_english(monkeypatch, prediction.says_how, "AB", 3)
    assert "Predictions of A, B are meaningless because the weights are random (seed 3)." in how


def test_who_lies_on_the_front(monkeypatch: pytest.MonkeyPatch):
    rows = [("b", "B", 2, 1), ("kept:0", "mine", 1, 2), ("preset:x", "Falcon", 3, 3)]
    table = pd.DataFrame([*rows, ("preset:y", "BERT", 0, 9)], columns=["key", "name", "x", "y"])
    facts = front_facts(table, (False, True))
    assert in_english(monkeypatch, trade_off.says_front, facts) == (
        "Pareto front (2 of 3 configurations): `mine`, `Falcon`. B is dominated: `mine` is no "
        "worse on either axis and better on at least one. Configurations not drawn because "
        "they have no value on one of the axes: 1 (an encoder, for example, has no cache)."
    )
    assert facts.better_than("kept:0") == facts.better_than("nobody") == ""
    nobody = front_facts(table[3:], (False, True))
    assert in_english(monkeypatch, trade_off.says_front, nobody).startswith("No configuration")


@pytest.mark.parametrize(("x_more", "y_more"), [(False, True), (True, False)])
def test_each_axis_says_which_of_its_own_ends_is_better(monkeypatch, x_more: bool, y_more: bool):
    ends = {False: "lower is better", True: "higher is better"}
    found = (trade_off.Candidate("b", "B", "b", ModelConfig(), ""),)
    axes = trade_off.Axes("parameters", "d_model", x_more, y_more, 16, "float16")
    layout = in_english(monkeypatch, trade_off.draw_front, found, axes).parts["layout"]
    assert layout["xaxis"]["title"]["text"] == f"parameters · {ends[x_more]}"
    assert layout["yaxis"]["title"]["text"] == f"d_model · {ends[y_more]}"
