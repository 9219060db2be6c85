"""Each column of a table holds what its head names: facts by hand, each with values of its own."""

import numpy as np
import pandas as pd
import pytest
from said_in import in_both

from blocks import ModelConfig
from blocks.cost.attention_time import GrowthFacts, Measured
from blocks.inspection.flow_facts import FlowFacts, LayerHeads
from blocks.inspection.other_attention import KindsFacts
from blocks.inspection.predictions import SurpriseFacts
from blocks.inspection.sharing import Likeness, Shared, SharingFacts
from blocks.model.attention_kinds import AttentionKind
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from pages.panels import heads
from pages.panels.attention import kinds, sharing
from pages.panels.block import flow
from pages.panels.encoder import layers
from pages.panels.gpt import surprise

CONFIG = ModelConfig.from_flat({"d_model": 8, "n_heads": 4})
RUN = Run(config=CONFIG, input=Input(tokens=("an", "owl")), mask=MaskConfig())


def row(monkeypatch: pytest.MonkeyPatch, table, *facts) -> dict[str, object]:
    """The first row of a table in English; in Chinese the same is called otherwise."""
    found = in_both(monkeypatch, table, *facts)
    english, chinese = ([*each.columns] for each in found.values())
    assert len({*english}) == len({*chinese}) == len(english) and english != chinese
    return found["en"].iloc[0].to_dict()


MOMENTS = {"mean": 0.1, "std": 0.2, "min": -0.3, "max": 0.4}


def test_the_moments_of_a_stage(monkeypatch: pytest.MonkeyPatch):
    stages = pd.DataFrame([{"label": "norm", **MOMENTS, "rms": 0.5, "outlier_share": 0.06}])
    found = row(monkeypatch, flow.table, FlowFacts(RUN, stages))
    assert found == {"stage": "norm", **MOMENTS, "RMS": 0.5, "beyond 3 std": "6.00%"}


def test_the_stream_after_a_layer(monkeypatch: pytest.MonkeyPatch):
    stream = pd.DataFrame([{"label": "layer 1", **MOMENTS, "token_norm": 5.0}])
    found = row(monkeypatch, layers.table, FlowFacts(RUN, stream))
    assert found == {"stage": "layer 1", **MOMENTS, "token norm (RMS · √d_model)": 5.0}


def test_the_measures_of_a_head(monkeypatch: pytest.MonkeyPatch):
    measures = {
        "entropy (bits)": ("entropy_bits", 1.5),
        "effective tokens": ("effective_tokens", 2.5),
        "distance (tokens)": ("distance_tokens", 3.5),
        "first token": ("first_token", 0.1),
        "itself": ("same_token", 0.2),
        "previous token": ("previous_token", 0.3),
        "token after an earlier copy of the current one (induction)": ("induction", 0.4),
    }
    head = {"head": 2, "row_sum_min": 0.75, "badge": "", **dict(measures.values())}
    found = row(monkeypatch, heads.table, LayerHeads(RUN, 0, pd.DataFrame([head])))
    shown = {name: value for name, (_column, value) in measures.items()}
    assert {name: found[name] for name in shown} == shown
    assert (found["head"], found["smallest row sum"]) == (3, "0.750")


def test_the_surprise_of_a_token(monkeypatch: pytest.MonkeyPatch):
    tokens = pd.DataFrame([{"position": 1, "bits": 2.0, "probability": 0.25, "rank": 7}])
    found = row(monkeypatch, surprise.table, SurpriseFacts(RUN, tokens, 1))
    assert (found["surprisal (bits)"], found["probability"], found["rank"]) == (2.0, "25%", 7)
    assert (found["position"], found["token"]) == (2, "owl")


def test_a_long_text_begins_with_what_surprised_most(monkeypatch: pytest.MonkeyPatch):
    n = 40
    bits = [1.0, *range(n - 1)]
    tokens = pd.DataFrame({"position": [0] * n, "bits": bits, "probability": 0.25, "rank": 7})
    found = in_both(monkeypatch, surprise.table, SurpriseFacts(RUN, tokens, 1))["en"]
    assert found["surprisal (bits)"].tolist() == sorted(bits, reverse=True)


def test_what_shared_keys_cost(monkeypatch: pytest.MonkeyPatch):
    shared = Shared(CONFIG.replace(n_kv_heads=2), 11, 22, 33, 44_000, Likeness(0.5, 0.25), 0.125)
    found = row(monkeypatch, sharing.table, SharingFacts((shared,), is_logits=False))
    assert found == {
        "kind": "GQA",
        "n_kv_heads": 2,
        "k_proj + v_proj": "11",
        "parameters": "22",
        "cache per token (bytes)": "33",
        "cache at max_seq_len": "44 kB",
        "cosine within a group": "0.500",
        "cosine across groups": "0.250",
        "change in the output": "0.125",
    }


def test_how_far_other_ways_to_attend_are(monkeypatch: pytest.MonkeyPatch):
    n = np.arange(len(AttentionKind))
    errors = pd.DataFrame({"error": 0.1 + n / 100, "moved": 0.5 + n / 100, "pairs": 3 + n})
    facts = KindsFacts(0, 1, errors, np.zeros((1, 1), np.uint8))
    assert row(monkeypatch, kinds.errors_table, facts) == {
        "attention variant": "full attention",
        "error relative to full attention": "10.00%",
        "weight moved to other keys": "50.00%",
        "pairs scored": 3,
    }


def test_how_costs_grow_in_theory_and_as_measured(monkeypatch: pytest.MonkeyPatch):
    lengths = (64, 128, 256, 512)
    found = tuple(Measured(kind, n, n**2 / 64, 1024 * n) for kind in AttentionKind for n in lengths)
    full = row(monkeypatch, kinds.growth_table, GrowthFacts(found))
    assert [*full] == [
        *("attention variant", "time (theory)", "time (measured)"),
        *("memory (theory)", "memory (measured)"),
    ]
    assert "2.0" in full["time (measured)"] and "1.0" in full["memory (measured)"]
