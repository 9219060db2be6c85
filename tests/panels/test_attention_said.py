"""What the panels of attention say: facts filled in by hand, each case read."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import torch
from drawn import checked
from said_in import in_both

from blocks import ModelConfig
from blocks.cost.attention_time import GrowthFacts, Measured
from blocks.inspection import head_facts
from blocks.inspection.contribution import Contribution, ContributionFacts, SinkFacts
from blocks.inspection.contribution_graph import ContributionGraph, GraphFacts
from blocks.inspection.head_facts import AllHeads, HeadFacts, Sharpest, Window
from blocks.inspection.head_probe import KINDS, HeadProbe, ProbeFacts
from blocks.inspection.head_steps import Around, AttentionSteps, HeadSteps
from blocks.inspection.other_attention import KindsFacts
from blocks.inspection.scaling import (
    Divisor,
    RandomScoresFacts,
    ScalingFacts,
    ScoreMeasure,
    Sharpness,
)
from blocks.inspection.score_gradient import ScoreGradient
from blocks.inspection.sharing import Likeness, Shared, SharingFacts
from blocks.model.attention_kinds import AttentionKind
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from pages.figures.chart import Chart
from pages.figures.drawn_chart import drawn
from pages.panels import contribution_graph
from pages.panels.attention import (
    all_heads,
    arithmetic,
    contribution,
    gradient,
    kinds,
    pattern,
    probe,
    random_scores,
    scaling,
    shared,
    sharing,
    steps,
)

CONFIG = ModelConfig.from_flat({"d_model": 4, "n_heads": 2, "d_head": 2, "max_seq_len": 8})
TOKENS = ("the", "owl", "the")
RUN = Run(config=CONFIG, input=Input(tokens=TOKENS), mask=MaskConfig(), seed=3)
PAIR = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
WEIGHTS = np.array([[1, np.nan, np.nan], [0.25, 0.75, np.nan], [0.9, 0.06, 0.04]])
MASKED = np.where(np.isnan(WEIGHTS), np.nan, PAIR @ PAIR.T / 2)
LAYER = cast(
    AttentionSteps, SimpleNamespace(head_out=torch.ones(2, 3, 2), out_weight=torch.ones(2, 2, 4))
)
STEPS = HeadSteps(
    *(PAIR, PAIR, PAIR, PAIR @ PAIR.T, PAIR @ PAIR.T / 2, None, None, MASKED, None),
    *(WEIGHTS, PAIR, None),
    out_weight=np.ones((2, 4)),
    written=np.ones((3, 4)),
    around=Around(np.ones((3, 4)), np.ones((4, 2)), PAIR, np.ones((3, 4)), np.ones((3, 4))),
    layer=LAYER,
)
HEAD = HeadFacts(RUN, 1, 0, 2, STEPS, "softmax", key=1)
BLIND = replace(HEAD, steps=replace(STEPS, masked=STEPS.masked * np.nan, pattern=WEIGHTS * np.nan))


def in_english(monkeypatch: pytest.MonkeyPatch, says, *facts) -> str:
    return in_both(monkeypatch, says, *facts)["en"]


def test_the_first_step_and_the_last_are_written_out(monkeypatch: pytest.MonkeyPatch):
    first, last = (replace(HEAD, step=step, feature=1) for step in ("project", "heads"))
    said = in_english(monkeypatch, arithmetic.written_out, first)
    assert "(x · W_Q)[1] = 1.000 × 1.000 + 1.000 × 1.000 + 1.000 × 1.000 + 1.000 × 1.000" in said
    assert "= **4.000**; plus the bias −3.000: **1.000**" in said
    said = in_english(monkeypatch, arithmetic.written_out, last)
    assert "**7** → write[1]" in said
    assert "(Concat · W_O)[1] = Σ over the heads = 2.000 + 2.000 = **1.000**" in said


def test_where_a_head_reads(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, steps.says_reads, HEAD)
    assert said["en"] == (
        "In layer 2, head 1, `the₂` (position 3) attends mostly to `the₁` (90%), `owl` (6.0%). "
        "The weights are random (seed 3): no role has been learned."
    )
    assert "`the₂`" in said["zh"] and "90%" in said["zh"]
    trained = replace(HEAD, run=replace(RUN, weights="x"))
    assert in_english(monkeypatch, steps.says_reads, trained).endswith("weights are trained.")
    assert "its row is all zeros" in in_english(monkeypatch, steps.says_reads, BLIND)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("qkv", "three vectors of 2 numbers"),
        ("scores", "query of `the₂` with all keys are its scores, which range from 1.000 to 2.000"),
        ("scaled", "Divided by √2, the scores of `the₂` range from 0.500 to 1.000"),
        ("mask", "hides 0 of 3 keys"),
        ("mask", "The mask acts on other rows: for `the₁`, for example, it hides 2 keys."),
        ("softmax", "weights (0.040 to 0.900) that sum to 1.000"),
        ("mix", "a vector of norm 1.414"),
        ("write", "maps 2 numbers to d_model = 4: this head adds a vector of norm 2.000"),
    ],
)
def test_what_a_step_does(monkeypatch: pytest.MonkeyPatch, step: str, said: str):
    both = in_both(monkeypatch, steps.says_step, replace(HEAD, step=step))
    assert said in both["en"] and both["zh"] != both["en"]


def test_a_sign_that_is_read_in_bytes_is_explained(monkeypatch: pytest.MonkeyPatch):
    run = replace(RUN, input=replace(RUN.input, tokens=("哭 1/3", "哭 2/3", "哭 3/3")))
    said = in_both(monkeypatch, steps.says_step, replace(HEAD, run=run, step="qkv"))
    assert "no token for `哭`" in said["en"] and "1/3" in said["zh"]


def test_what_is_not_drawn(monkeypatch: pytest.MonkeyPatch):
    assert in_english(monkeypatch, steps.says_drawn, HEAD) == ""
    part = Window(0, 1, 3)
    said = in_english(monkeypatch, shared.says_window, HEAD, part)
    assert said.startswith("Tokens 1 to 1 of 3 are shown") and "receive 90% of its weight" in said


@pytest.mark.parametrize(
    ("d_head", "d_model", "cut"),
    [
        (2, 4, set()),
        (2, 128, {"project", "write", "heads"}),
        (128, 4, {"project", "qkv", "scores", "mix", "gate", "write", "heads"}),
    ],
)
def test_features_are_left_out_where_a_step_draws_them(
    monkeypatch: pytest.MonkeyPatch, d_head: int, d_model: int, cut: set[str]
):
    config = CONFIG.replace(d_head=d_head, d_model=d_model)
    head = replace(
        HEAD, run=replace(RUN, config=config), steps=replace(STEPS, q=np.ones((3, d_head)))
    )
    said = {
        step: in_english(monkeypatch, steps.says_drawn, replace(head, step=step))
        for step in head_facts.STEPS
    }
    assert {step for step in said if "first 64 features" in said[step]} == cut


def test_a_class_is_told_what_it_would_misread(monkeypatch: pytest.MonkeyPatch):
    wide = replace(STEPS.around, concat=np.ones((3, 576)))
    config = CONFIG.replace(d_head=64, d_model=576)
    head = replace(
        HEAD,
        run=replace(RUN, config=config),
        steps=replace(STEPS, q=np.ones((3, 64)), around=wide),
        apart=(0,),
    )
    said = {
        step: in_english(monkeypatch, steps.says_at_the_wall, replace(head, step=step))
        for step in ("scaled", "mask", "heads")
    }
    assert said == {
        "scaled": "Each matrix has its own color scale.",
        "mask": "",
        "heads": "Only 4 heads and 64 features are drawn.",
    }
    masked = in_english(monkeypatch, steps.says_drawn, replace(head, step="mask"))
    assert "scale is that of the scores before the mask" in masked
    assert in_english(monkeypatch, steps.says_at_the_wall, replace(HEAD, step="scaled")) == ""


def test_a_cell_in_numbers(monkeypatch: pytest.MonkeyPatch):
    lines = in_english(monkeypatch, arithmetic.written_out, HEAD).split("  \n")
    assert lines[5].startswith(":orange[▸ **Softmax over each row** →]")
    assert "q(`the₂`) = (1.000, 1.000); k and v likewise" in lines[1]
    assert "q(`the₂`) · k(`owl`) = 1.000 × 0 + 1.000 × 2.000 = **2.000**" in lines[2]
    assert "2.000 / √2 = 2.000 / 1.414 = **1.000**" in lines[3]
    assert "lets this score through unchanged: 1.000" in lines[4]
    masked = in_english(monkeypatch, arithmetic.written_out, replace(HEAD, query=0))
    assert "the score becomes −∞" in masked and "no weight at all" in masked
    assert "row is all zeros" in in_english(monkeypatch, arithmetic.written_out, BLIND)


@pytest.mark.parametrize(("step", "n_lines"), [("qkv", 2), ("softmax", 6), ("write", 8)])
def test_a_cell_is_in_numbers_up_to_its_step(
    monkeypatch: pytest.MonkeyPatch, step: str, n_lines: int
):
    said = in_english(monkeypatch, arithmetic.written_out, replace(HEAD, step=step))
    lines = said.split("  \n")
    assert len(lines) == n_lines and "▸" in lines[-1]
    assert [line[:7] for line in lines[:-1]] == [f"**{i}** →" for i in range(n_lines - 1)]


def test_the_model_s_own_ways_are_named(monkeypatch: pytest.MonkeyPatch):
    config = CONFIG.replace(n_kv_heads=1, qk_norm=True, position_kind="rope")
    facts = replace(HEAD, run=replace(RUN, config=config))
    said = in_english(monkeypatch, arithmetic.written_out, facts)
    assert "MQA: this head uses key/value head 1 of 1. q and k are normalized" in said
    assert "RoPE has rotated" in said


def test_the_way_to_the_sharpest_head(monkeypatch: pytest.MonkeyPatch):
    said = in_english(monkeypatch, shared.says_sharpest, Sharpest(0, 1, 1, 0.5), TOKENS)
    assert said == "Strongest attention: layer 1, head 2 (50% on owl)"
    beyond = in_both(monkeypatch, shared.says_sharpest, Sharpest(0, 1, 1, 0.5, True), TOKENS)
    assert beyond["en"] == ("Strongest apart from sinks: layer 1, head 2 (50% on owl)")
    assert beyond["zh"] != beyond["en"]


def test_which_token_is_read_most(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, pattern.says_most_read, HEAD)
    assert ", `the₁` receives the most attention: 2.1 out of a total weight of 3." in said["en"]
    assert "`the₁`" in said["zh"]
    monkeypatch.setattr(shared, "head_facts", lambda *_at: HEAD)
    lines = in_english(monkeypatch, pattern.says_lines, RUN, 1, 0, 2, 4)
    assert "For each token, at most the 4 largest weights are shown; those below" in lines


def scaled(head: HeadFacts) -> ScalingFacts:
    table = pd.DataFrame(
        {"d_head": [1, 512, 512], "is_scaled": [False, False, True], "score_std": [1, 22.6, 1]}
    )
    return ScalingFacts(head, Sharpness(2, 0.4, 0.5), Sharpness(1, 0.8, 0.125), table, True)


def test_what_the_division_does(monkeypatch: pytest.MonkeyPatch):
    said = in_english(monkeypatch, scaling.says_division, scaled(HEAD))
    assert "with at least two allowed keys, would be 80%" in said
    assert "entropy would go from 2.00 to 1.00 bits" in said and "0.50 to 0.12" in said
    assert "22.6 at 512" in in_english(monkeypatch, scaling.says_random, scaled(HEAD))
    alone = replace(HEAD, run=replace(RUN, input=Input(tokens=("a",))))
    assert "single token" in in_english(monkeypatch, scaling.says_division, scaled(alone))


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        (ScoreMeasure.SPREAD, "standard deviation is 2 at d = 4, 8 at 64 and 22.6 at 512"),
        (ScoreMeasure.LARGEST, "largest of 16 weights is 2 on average at d = 4"),
        (ScoreMeasure.SLOPE, "over 16 keys, is 2 at d = 4"),
    ],
)
def test_how_scores_grow_is_said_of_what_is_measured(
    monkeypatch: pytest.MonkeyPatch, measure: ScoreMeasure, said: str
):
    rows = [{"d_head": d, "divisor": "root", measure: y} for d, y in ((4, 2), (64, 8), (512, 22.6))]
    facts = RandomScoresFacts(pd.DataFrame(rows), measure, Divisor.ROOT, 0)
    found = in_english(monkeypatch, random_scores.says_growth, facts)
    assert found.startswith("When scores are divided by √d, ") and said in found


def added(weight: list[float], norm: list[float], head: int | None = 0, **more: float):
    keys = pd.DataFrame({"weight": weight, "norm": norm, "share": [0.2, 0.2, 0.1], "value_norm": 1})
    parts = {"rest": 0.3, "bias": 0.2, "out_norm": 1.0, "bias_norm": 0.5} | more
    return ContributionFacts(RUN, 0, head, 2, Contribution(keys.assign(is_seen=True), **parts))


def test_which_key_adds_most(monkeypatch: pytest.MonkeyPatch):
    says = contribution.says_contribution
    said = in_both(monkeypatch, says, added([0.6, 0.3, 0.1], [2.0, 1.0, 1.0]))
    assert said["en"] == (
        "`the₁` has the largest weight (60%) and contributes the most (50% of the summed vector "
        "lengths). This head contributes 50% of what attention adds here. "
        "The output bias, which comes from no token, contributes 20%."
    )
    assert "60%" in said["zh"]
    apart = replace(added([0.6, 0.3, 0.1], [2.0, 3.0, 1.0]), apart=(0,))
    assert in_english(monkeypatch, says, apart).startswith(
        "60% of the weight rests on sinks, which are left out of what follows. `owl` has the "
        "largest weight (30%) and contributes the most (75% of the summed vector lengths)."
    )
    other = in_english(monkeypatch, says, added([0.6, 0.3, 0.1], [1, 3, 0], None, bias_norm=0))
    assert (
        "but `owl` contributes the most: 75% of the summed vector lengths with a weight of 30%"
        in other
    )
    assert "This head" not in other and "bias" not in other
    assert "adds nothing" in in_english(monkeypatch, says, added([1, 0, 0], [0] * 3, out_norm=0))
    assert "cannot attend" in in_english(monkeypatch, says, added([0, 0, 0], [0] * 3))
    assert "sum to 100%" in in_english(
        monkeypatch, contribution.says_shares, added([1] * 3, [1] * 3)
    )


def test_heads_that_rest_on_the_first_token(monkeypatch: pytest.MonkeyPatch):
    table = pd.DataFrame(
        {"layer": [0, 1], "head": [1, 0], "weight": [0.4, 0.9], "value_ratio": [0.5, 0.25]}
    )
    both = SinkFacts(table.assign(is_sink=True), (0, 0))
    said = in_english(monkeypatch, contribution.says_sinks, both)
    assert "2 of 2 heads use the first token as an attention sink," in said
    assert "most clearly layer 2, head 1 (weight 90%, ‖v·W_O‖ ratio 0.25); layer 1, head 2" in said
    none = SinkFacts(table.assign(is_sink=False), (0, 0))
    said = in_english(monkeypatch, contribution.says_sinks, none)
    assert "closest is layer 2, head 1: weight 90%, ‖v·W_O‖ ratio 0.25." in said


HEADS = pd.DataFrame(
    {
        "layer": [0, 1],
        "head": [1, 0],
        "entropy_bits": [0.5, 2.0],
        "previous_token": [0.1, 0.3],
        "name": ["induction", ""],
        "badge": ["induction", ""],
        "badge_score": [0.8, 0.4],
    }
)


def test_the_table_says_which_numbers_are_the_probes_and_which_the_texts(monkeypatch):
    found = HEADS.assign(**dict.fromkeys(all_heads.MEASURES, 0.5))
    first = SinkFacts(pd.DataFrame({"value_ratio": [1, 2], "is_sink": [True, False]}), (0, 0))
    monkeypatch.setattr(all_heads.layers, "named_heads", lambda run: found)
    monkeypatch.setattr(all_heads, "sink_facts", lambda *at: first)
    monkeypatch.setattr(all_heads.probed, "names_by_probe", lambda run: True)
    table = all_heads.table(RUN)
    assert table["from the head probe"].tolist() == ["induction 0.80", ""]
    assert {"first token, in this text", "induction, in this text"} < {*table.columns}
    monkeypatch.setattr(all_heads.probed, "names_by_probe", lambda run: False)
    assert {"name", "first token"} < {*all_heads.table(RUN).columns}


def test_all_heads(monkeypatch: pytest.MonkeyPatch):
    said = in_english(monkeypatch, all_heads.says_heads, AllHeads(HEADS, "layer", (0, 0)))
    assert "The sharpest of the 2 heads is layer 1, head 2 (0.50 bits on average)" in said
    assert "Number of heads with over half of their weight on one kind of position" in said
    assert "kind of position: induction 1. The head closest" in said
    assert said.endswith(
        "previous-token head is layer 2, head 1 (30% of its weight on the previous token)."
    )
    named = AllHeads(HEADS.assign(badge="previous_token"), "layer", (0, 0))
    assert "closest" not in in_english(monkeypatch, all_heads.says_heads, named)
    nameless = AllHeads(HEADS.assign(badge=""), "layer", (0, 0))
    assert "so none is named" in in_english(monkeypatch, all_heads.says_heads, nameless)
    alone = in_english(monkeypatch, all_heads.says_heads, AllHeads(HEADS[:1], "layer", (0, 0)))
    assert alone.startswith("The only head has an entropy of") and "sharpest" not in alone
    resting = HEADS.assign(on_sinks=0.9, entropy_bits=0.0)
    most = AllHeads(pd.concat([resting, resting, HEADS.assign(on_sinks=0.1)]), "layer", (0, 0))
    said = in_both(monkeypatch, all_heads.says_heads, most)
    assert (
        "Apart from the heads that rest on sinks (4 of 6; the columns of sinks are left blank), "
        "the sharpest is layer 1, head 2 (0.50 bits on average)" in said["en"]
    )
    assert "4" in said["zh"]
    probed = in_both(monkeypatch, all_heads.says_heads, replace(named, is_probed=True))
    assert "When random tokens are read twice" in probed["en"] and "随机词元" in probed["zh"]
    many = AllHeads(pd.concat([HEADS] * 40), "layer", (0, 0))
    assert "The first 32 of 80 heads" in in_english(monkeypatch, all_heads.says_colors, many)


def test_what_random_tokens_show(monkeypatch: pytest.MonkeyPatch):
    heads = pd.DataFrame({"layer": [0, 1], "head": [1, 0], **dict.fromkeys(KINDS, 0.1)})
    heads = heads.assign(induction=[0.2, 0.9], name=["", "induction"], score=[0.2, 0.9])
    found = HeadProbe(heads, np.array([9.0, 8.0, 8.5, 7.0, 1.0, 2.0, 3.0]))
    off, bits = ((1, 0),), np.full(7, 6.0)
    facts = ProbeFacts(found, "induction", off, ((1, 1),), bits, bits - 4, (0, 0))
    said = in_both(monkeypatch, probe.says_probe, facts)
    assert said["en"] == (
        "4 random tokens are read twice. Heads that put over half of their weight on the token "
        "after the earlier copy of the current one (induction heads): 1 of 2, namely layer 2, "
        "head 1 (0.90). The surprisal is 2.0 bits per token in the second copy and 8.5 in the "
        "first. With these heads (1) switched off, it is 6.0 bits per token in the second copy; "
        "with other heads of the same layers (1) switched off instead, as a control, it is 2.0."
    )
    assert "6.0" in said["zh"]
    none = replace(facts, kind="same_token", off=(), without=None, without_others=None)
    said = in_english(monkeypatch, probe.says_probe, none)
    assert "None of the 2 heads puts over half" in said and "the closest is layer 1, head 2" in said
    assert "Heads with other names: induction (1)." in said
    bare = replace(none, probe=replace(found, heads=heads.assign(name="")))
    assert "No head gets any of the five names" in in_english(monkeypatch, probe.says_probe, bare)
    for_text = replace(bare, in_text=(("same_token", 6),))
    said = in_both(monkeypatch, probe.says_probe, for_text)
    assert "In your own text alone, “All heads” names some: itself (6)." in said["en"]
    assert "“所有头”" in said["zh"] and "自身（6）" in said["zh"]
    assert "自身" in probe.scores(for_text).layout.title.text


def test_keys_that_are_shared(monkeypatch: pytest.MonkeyPatch):
    alike = (Likeness(None, 0.5), Likeness(0.9, 0.5))
    rows = tuple(
        Shared(CONFIG.replace(n_kv_heads=2 // i), 8 // i, 100 - i, 16 // i, 0, alike[i - 1], 0.25)
        for i in (1, 2)
    )
    said = in_english(monkeypatch, sharing.says_sharing, SharingFacts(rows, is_logits=False))
    assert "From MHA to MQA, the cache per token shrinks from 16 to 8 bytes" in said
    assert "99 to 98 parameters; n_heads stays 2." in said
    assert "0.900 within a group and 0.500 across groups" in said and "by 25.0%" in said
    bits = in_english(monkeypatch, sharing.says_sharing, SharingFacts(rows[:1] * 2, True))
    assert "0.25 bits (KL" in bits and "cosine" not in bits
    assert "seed 3" in in_english(monkeypatch, sharing.says_pooled, RUN)


def test_other_ways_to_attend(monkeypatch: pytest.MonkeyPatch):
    errors = pd.DataFrame({"error": [0, 1e-7, 0.1, 0.2, 0.7], "pairs": [10, 10, 4, 5, 3]})
    facts = KindsFacts(0, 1, errors, np.zeros((1, 1), np.uint8))
    said = in_english(monkeypatch, kinds.says_errors, facts)
    assert "Head 2 of layer 1" in said and "(error 1e-07)" in said
    assert "of the other variants, window is closest (error 10.0%, 40% of the pairs" in said
    assert "linear furthest (error 70.0%)" in said


def test_how_costs_grow(monkeypatch: pytest.MonkeyPatch):
    found = tuple(Measured(kind, 64, 2.0 + i, 1024) for i, kind in enumerate(AttentionKind))
    said = in_both(monkeypatch, kinds.says_growth, GrowthFacts(found))
    assert (
        "n = 64: full attention is fastest (2.0 ms) and linear slowest (6.0 ms, 3 times"
        in said["en"]
    )
    assert "6.0" in said["zh"]


def graph(
    token: int, sources: np.ndarray, least: float = 0.02, elsewhere: float = 0.0
) -> GraphFacts:
    of_none = np.full(sources.shape[:2], elsewhere)
    shares = ContributionGraph(sources, 1 - of_none - sources.sum(-1), of_none)
    return GraphFacts(RUN, shares, token, least)


def test_how_long_a_text_has_a_graph(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(contribution_graph, "MOST_NUMBERS", 6 * RUN.config.d_model)
    assert not contribution_graph.fits(RUN)
    said = in_both(monkeypatch, contribution_graph.says_too_large, RUN)
    assert "for at most 2 tokens, but this text has 3" in said["en"] and "2" in said["zh"]


def test_where_a_token_comes_from(monkeypatch: pytest.MonkeyPatch):
    sources = np.zeros((1, 3, 3))
    sources[0, 1, 0], sources[0, 2, :2] = 0.25, (0.5, 0.125)
    says = contribution_graph.says_sources
    said = in_both(monkeypatch, says, graph(2, sources))
    assert said["en"] == (
        "After the last layer, 38% of the vector of `the₂` is its own, 50% comes from `the₁` and "
        "12% from `owl`. The token takes in the most from other tokens in "
        "layer 1."
    )
    assert "`the₂`" in said["zh"]
    assert in_english(monkeypatch, says, graph(1, sources)).startswith(
        "After the last layer, 75% of the vector of `owl` is its own and 25% comes from `the₁`."
    )
    assert "takes nothing" in in_english(monkeypatch, says, graph(0, sources))
    four = np.zeros((1, 4, 4))
    four[0, 3, :3] = 0.5, 0.125, 0.0625
    said_of_four = in_both(monkeypatch, lambda: contribution_graph._says_rest(graph(3, four)))
    assert said_of_four["en"] == "6.2% comes from 1 more token."
    assert "6.2%" in said_of_four["zh"] and "come" not in said_of_four["zh"]
    with_biases = graph(3, four, elsewhere=0.125)
    said = in_english(monkeypatch, contribution_graph._says_rest, with_biases)
    assert said.endswith("12% comes from biases, not from any token.")
    named = with_biases.own + sum(share for _token, share in with_biases.sources)
    assert named + with_biases.unnamed[1] + with_biases.of_no_token == pytest.approx(1)
    drawn = in_english(monkeypatch, contribution_graph.says_drawn, graph(2, sources, 0.2))
    assert drawn.endswith(
        "are drawn; together they carry 86% of all that tokens take from one another."
    )


def test_nine_heads_stand_side_by_side():
    assert sharing.n_drawn(CONFIG.replace(d_model=36, n_heads=9, n_kv_heads=3)) == 9
    assert sharing.n_drawn(CONFIG.replace(d_model=64, n_heads=16, n_kv_heads=8)) == 12


def test_each_map_is_named_by_the_keys_that_its_head_reads_with(monkeypatch: pytest.MonkeyPatch):
    config = ModelConfig.from_flat({"d_model": 8, "n_heads": 4})
    rows = tuple(
        Shared(config.replace(n_kv_heads=n), 0, 0, 0, 0, Likeness(None, 0.5), 0.0)
        for n in (4, 2, 1)
    )
    facts = SharingFacts(rows, is_logits=False)
    named = in_english(monkeypatch, sharing.tile_names, facts, 4)
    reads = [hover.rpartition(" ")[2] for hover in named["hover"]]
    assert reads == [*"1234", *"1122", *"1111"]  # neighbours share
    assert named["hover"][6] == "GQA, head 3: uses key/value head 2"
    bold = ["<b>MHA</b>", "<b>GQA</b>", "<b>MQA</b>"]
    assert named["label"].tolist() == [
        *(bold[0], "kv 2", "kv 3", "kv 4"),
        *(bold[1], "", "kv 2", ""),
        *(bold[2], "", "", ""),
    ]
    assert named["head"].tolist() == [*range(12)]


def gradient_of(of_scores: list[float], **changes: Any) -> ScoreGradient:
    row = np.array(of_scores)
    found = ScoreGradient(
        *(replace(RUN, config=CONFIG.replace(**changes)), 0, 1, 2, 1, 0.5, 3, True),
        weights=np.array([0.9, 0.06, 0.04]),
        values=PAIR,
        of_out=np.array([0.25, -0.5]),
        of_weights=np.array([0.1, -2.0, 0.0004]),
        of_scores=row,
        autograd=row,
    )
    return found


def test_the_backward_pass_of_a_score_is_written_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gradient.tokens, "label", lambda _run, _id: "owl")
    facts = gradient_of([0.1, -0.12, 0.02])
    said = in_both(monkeypatch, gradient.says_gradient, facts)
    assert "(∂L/∂S = −0.12)" in said["en"] and "sum to 0" in said["en"] and "−0.12" in said["zh"]
    written = in_english(monkeypatch, gradient.written_out, facts)
    assert "= 0.25 × 0 + −0.5 × 2 = **−1**" in written
    assert "0.06 × (−2 − (" in written and "autograd finds −0.12" in written
    sink = gradient_of([0.1, -0.12, 0.0], attention_sink=True)
    assert "sum to 0" not in in_english(monkeypatch, gradient.says_gradient, sink)
    nothing = gradient_of([0.0, 0.0, 0.0])
    assert "No score in this row" in in_english(monkeypatch, gradient.says_gradient, nothing)


def sharp(is_scaled: bool) -> pd.DataFrame:
    found = {"d_head": [1, 2, 4, 8], "entropy_bits": 2.0, "largest_weight": 0.4}
    return pd.DataFrame(found).assign(is_scaled=is_scaled)


def random_scores_of(measure: ScoreMeasure, divisor: Divisor) -> Chart:
    rows = [
        {"d_head": d, "divisor": each, measure: 1.0}
        for each in Divisor
        for d in (2**i for i in range(10))
    ]
    return random_scores.curves(RandomScoresFacts(pd.DataFrame(rows), measure, divisor, 0))


GROWN = GrowthFacts(
    tuple(Measured(kind, n, n, n**2) for kind in AttentionKind for n in (128, 256)), "peak_bytes"
)
SCALED = replace(scaled(HEAD), random=pd.concat(map(sharp, (True, False))))
PROBED = HeadProbe(pd.DataFrame({"layer": [0], "head": [1]}), np.array([9.0, 8.0, 2.0]))
CHARTS = {
    "random": random_scores_of(ScoreMeasure.SPREAD, Divisor.WIDTH),
    "row": scaling.row(SCALED),
    "curves": scaling.curves(SCALED),
    "growth": kinds.growth(GROWN),
    "pairs": kinds.pairs(kinds.pairs_facts(512)),
    "gradients": gradient.gradients(gradient_of([0.1, -0.12, 0.02])),
    "contributions": contribution.contributions(added([0.6, 0.3, 0.1], [2.0, 3.0, 1.0])),
    "surprisal": probe.surprisal(ProbeFacts(PROBED, "x", (), (), None, None, (0, 0))),
}


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_each_chart_can_be_drawn(chart: Chart):
    checked(drawn(chart))


def test_a_divisor_that_is_not_chosen_yet_is_not_drawn():
    (alone,) = random_scores_of(ScoreMeasure.SLOPE, Divisor.NOTHING).series
    names = [each.look.name for each in CHARTS["random"].series]
    assert names == ["not divided", "divided by √d", "divided by d"]
    assert alone.look.name == names[0]


def test_both_ways_are_drawn_against_d_head():
    chart = CHARTS["curves"]
    found = [chart.table_of(each)["d_head"].tolist() for each in chart.series]
    assert found == [[1, 2, 4, 8], [2]] * 4
    assert sum(each.in_legend for each in chart.series) == 3


def test_bars_of_sinks_are_faint_and_no_axis_reaches_for_them():
    facts = replace(added([0.5, 0.3, 0.2], [2.0, 1.0, 1.0]), apart=(0,))
    weights, lengths, shares = contribution.contributions(facts).series
    chart = contribution.contributions(facts)
    assert chart.x[0].ends[1] == pytest.approx(1.28 * 0.3)
    rows = chart.table_of(weights)
    assert rows["bar"].tolist() == [0.3, 0.3, 0.2] and rows["said"].tolist()[0] == "50.0%"
    first, second, third = weights.look.color
    assert first != second == third and weights.click == ("number",)
    assert chart.table_of(lengths)["kind"].tolist() == ["apart", "key", "key", "bias"]
    assert chart.table_of(shares)["kind"].tolist()[3:] == ["rest", "bias"]


def test_each_way_has_its_line_and_its_exponent():
    full = CHARTS["growth"].series[0]
    assert CHARTS["growth"].table_of(full)["value"].tolist() == [2**14 / 1e6, 2**16 / 1e6]
    assert full.look.name == "full attention: n<sup>2.00</sup>"
    alone = kinds.growth(replace(GROWN, found=GROWN.found[::2]))
    assert "sup" not in alone.series[0].look.name
