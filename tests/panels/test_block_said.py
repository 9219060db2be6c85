"""What the panels of a block and of an encoder say: facts filled in by hand, each case read."""

from dataclasses import replace

import pandas as pd
import pytest
import torch
from said_in import in_both

from blocks import ModelConfig
from blocks.inspection.flow_facts import FlowFacts, LayerHeads, Loudest, PredictionFacts, loudest
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from blocks.weights.model_file import Card
from pages.panels import heads
from pages.panels.block import flow
from pages.panels.encoder import layers, prediction

CONFIG = ModelConfig.from_flat({"d_model": 8, "n_heads": 2, "n_layers": 2})
RUN = Run(config=CONFIG, input=Input(tokens=("an", "owl", "an")), mask=MaskConfig(), seed=3)
STAGES = pd.DataFrame(
    {
        "stage": ["embedding", "resid_pre", "attention_norm"],
        "rms": [0.5, 1.0, 2.0],
        "part": ["embedding", "stream", "norm"],
    }
)


def in_english(monkeypatch: pytest.MonkeyPatch, says, *facts) -> str:
    return in_both(monkeypatch, says, *facts)["en"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "on the branch"),
        ({"norm_placement": "post"}, "on the trunk"),
        ({"norm_placement": "sandwich"}, "before it is added"),
        ({"norm_placement": "res_post"}, "reads the unnormalized stream"),
        ({"norm_placement": "parallel"}, "added together"),
        ({"residual": False}, "Without the residual"),
        ({"norm_kind": "none"}, "Without a norm"),
        ({"norm_kind": "batchnorm"}, "running statistics"),
    ],
)
def test_what_flows(monkeypatch: pytest.MonkeyPatch, changes: dict, said: str):
    facts = FlowFacts(replace(RUN, config=CONFIG.replace(**changes)), STAGES)
    both = in_both(monkeypatch, flow.says_flow, facts)
    assert "enters the layer with an RMS of 1.00 and leaves it with an RMS of 2.00" in both["en"]
    assert said in both["en"]
    assert "2.00" in both["zh"] and "Without" not in both["zh"]


def test_a_token_that_outweighs_all_others_is_named_with_the_median(monkeypatch):
    quiet, loud = torch.full((1, 3, 8), 5.0), torch.full((1, 3, 8), 6.0)
    assert loudest(quiet, loud) is None
    loud[0, 1] = 900
    found = loudest(quiet, loud)
    assert found == Loudest(token=1, rms=900.0, median_before=5.0, median_after=6.0)
    both = in_both(monkeypatch, flow.says_flow, FlowFacts(RUN, STAGES, found))
    assert (
        "`owl` contributes most: it leaves with an RMS of 900.00, while the median token "
        "enters with 5.00 and leaves with 6.00." in both["en"]
    )
    assert "中位" in both["zh"]
    apart = in_both(monkeypatch, flow.says_flow, FlowFacts(RUN, STAGES, found, is_apart=True))
    assert "`owl` is left out of these figures: it leaves with an RMS of 900.00." in apart["en"]


def test_running_statistics_that_were_learned_are_not_told_to_be_0_and_1(
    monkeypatch: pytest.MonkeyPatch,
):
    learned = replace(RUN, config=CONFIG.replace(norm_kind="batchnorm"), weights="x")
    said = in_english(monkeypatch, flow.says_flow, FlowFacts(learned, STAGES))
    assert "on the branch" in said and "untrained" not in said


WRITING = pd.DataFrame(
    {
        "stage": ["resid_pre", "attention_out", "feed_forward_out", "resid_post"],
        "rms": [0.5, 0.25, 1.5, 2.0],
        "part": ["embedding", "attention", "feed_forward", "stream"],
        "label": ["embedding", "attention", "feed-forward", "output"],
    }
)


def test_what_adds_most_is_named_where_it_is_added_as_it_is(monkeypatch: pytest.MonkeyPatch):
    said = in_english(monkeypatch, flow.says_flow, FlowFacts(RUN, WRITING))
    assert "The sub-layer that adds the most is feed-forward (RMS 1.50)." in said
    for changes in ({"norm_placement": "sandwich"}, {"residual": False}):
        run = replace(RUN, config=CONFIG.replace(**changes))
        said = in_english(monkeypatch, flow.says_flow, FlowFacts(run, WRITING))
        assert "adds the most" not in said


def test_how_the_stream_grows(monkeypatch: pytest.MonkeyPatch):
    said = in_english(monkeypatch, layers.says_growth, FlowFacts(RUN, STAGES))
    assert (
        "The stream's RMS is 0.50 after the embedding, 1.00 after layer 1, 2.00 at the end. "
        "Every layer" in said
    )
    post = replace(RUN, config=CONFIG.replace(norm_placement="post"))
    assert "same scale" in in_english(monkeypatch, layers.says_growth, FlowFacts(post, STAGES))


HEADS = pd.DataFrame(
    {
        "head": [0, 1],
        "entropy_bits": [2.0, 0.5],
        "effective_tokens": [4.0, 1.4],
        "name": ["", "induction"],
        "badge": ["", "induction"],
        "badge_score": [0.1, 0.875],
    }
)


def test_the_heads_of_a_layer(monkeypatch: pytest.MonkeyPatch):
    said = in_english(monkeypatch, heads.says_heads, LayerHeads(RUN, 1, HEADS))
    first = "Layer 2. The sharpest is head 2: entropy 0.50 bits, 1.4 effective tokens."
    assert said.startswith(first)
    assert "seed 3" in said
    trained = replace(RUN, weights="x")
    said = in_english(monkeypatch, heads.says_heads, LayerHeads(trained, 1, HEADS))
    assert said.endswith(
        "The weights are trained. Mean weights that stand out: head 2, induction 88%."
    )
    nameless = LayerHeads(trained, 1, HEADS.assign(badge=""))
    assert "On average, no head puts most" in in_english(monkeypatch, heads.says_heads, nameless)
    probed = in_english(monkeypatch, heads.says_heads, LayerHeads(trained, 1, HEADS, True))
    assert probed.endswith("(the head probe), these weights stand out: head 2, induction 88%.")
    resting = HEADS.assign(on_sinks=0.9, entropy_bits=0.0)
    most = LayerHeads(trained, 1, pd.concat([resting, HEADS.assign(on_sinks=0.1)]))
    said = in_english(monkeypatch, heads.says_heads, most)
    assert "Of the heads that do not rest on sinks, the sharpest is head 2: entropy 0.50" in said


def test_one_head_in_a_line(monkeypatch: pytest.MonkeyPatch):
    measures = ("distance_tokens", "first_token", "same_token", "previous_token")
    found = HEADS.assign(**dict.fromkeys(measures, 0.25), row_sum_min=1.0, row_sum_max=1.0)
    said = in_both(monkeypatch, heads.says_measures, LayerHeads(RUN, 0, found), 1, 2)
    assert said["en"].startswith("**Head 2 (induction 0.88)**, averaged over the queries that can ")
    assert said["en"].endswith("Every row sums to 1.000. The pinned token is `an₂`.")
    assert said["zh"].startswith("**2 号头（归纳 0.88）**")
    found = found.assign(row_sum_min=0.5, row_sum_max=2.0)
    said = in_both(monkeypatch, heads.says_measures, LayerHeads(RUN, 0, found), 1, 2)
    assert "The rows sum to between 0.500 and 2.000. " in said["en"]


def test_what_an_encoder_expects(monkeypatch: pytest.MonkeyPatch):
    candidates = pd.DataFrame({"label": ["cat"], "probability": [0.75]})
    random = PredictionFacts(RUN, 1, candidates, "a cat sat", "", None)
    said = in_both(monkeypatch, prediction.says_prediction, random)
    assert said["en"] == (
        "At position 2 the model predicts `cat` (75%). The weights are random (seed 3): these "
        "predictions mean nothing yet."
    )
    assert "`cat`" in said["zh"]
    card = Card(
        task="sort",
        recipe={},
        seed=5,
        n_steps=100,
        seconds=1.0,
        held_out_loss=None,
        score=0.875,
        score_name="accuracy",
    )
    trained = replace(random, hidden="owl", card=card)
    said = in_english(monkeypatch, prediction.says_prediction, trained)
    assert "masked word is `owl`. Taken together, the model's predictions read `a cat sat`." in said
    assert said.endswith("on unseen data: 87.5%.")
    unscored = replace(trained, card=replace(card, score=None))
    said = in_english(monkeypatch, prediction.says_prediction, unscored)
    assert "unseen" not in said
