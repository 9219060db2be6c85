"""What the panels of Cost say, in both languages, from facts filled in by hand."""

from dataclasses import replace

import pandas as pd
import pytest
from said_in import in_both

from blocks import ModelConfig
from blocks.cost.crossover import CrossoverFacts
from blocks.cost.fit import Setup
from blocks.cost.passes import Operation, PassKind
from blocks.cost.step import Decoding, PassTotal, StepFacts
from pages.panels.cost import flops

STEP = StepFacts(
    config=ModelConfig(),
    setup=Setup(),
    operations=(
        Operation("scores", "attention", "", "", 10**9, 2 * 10**9, 10**9),
        Operation("up_proj", "feed_forward", "", "", 10**9, 2 * 10**9),
    ),
    passes=(),
    chosen=PassTotal(PassKind.TRAINING, 6 * 10**9, 4),
    n_parameters=10**9,
    n_active=250 * 10**6,
    decoding=None,
)


def test_the_step(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, flops.says_flops, STEP)
    assert said["en"].startswith(
        "6 GFLOP in total: 1.5 GFLOP for each of 4 tokens, 1.00 times the estimate "
        "6 FLOPs per active parameter (250,000,000 per token). Attention between tokens "
        "(scores and weighted sum) is 50% of it."
    )
    assert said["en"].endswith("backward pass: fused attention does not store the scores.")
    assert "6 GFLOP" in said["zh"] and "250,000,000" in said["zh"]
    one = replace(
        STEP,
        chosen=PassTotal(PassKind.DECODE, 10**9, 1),
        operations=(Operation("up_proj", "feed_forward", "", "", 10**9),),
        n_active=10**9,
    )
    said = in_both(monkeypatch, flops.says_flops, one)["en"]
    assert said.startswith("1 GFLOP per token, 0.50 times the estimate 2 FLOPs per parameter.")
    assert said.endswith("is 0% of it.")


def test_decoding(monkeypatch: pytest.MonkeyPatch):
    facts = Decoding(n=512, batch=4, read=10**12, written=2 * 10**9, device="H100", could=591.0)
    said = in_both(monkeypatch, flops.says_decoding, facts)
    assert "takes 1 TFLOP, generating one more 2 GFLOP: 500 times less" in said["en"]
    assert "serves at most 8 FLOPs, while in the same time H100 could do 591" in said["en"]
    assert "500" in said["zh"]


def test_the_crossover(monkeypatch: pytest.MonkeyPatch):
    facts = CrossoverFacts(100, 384.0, 64, 0.2, is_causal=True, formula="", growth=pd.DataFrame())
    said = in_both(monkeypatch, flops.says_crossover, facts)
    assert "equal at n = 384, 6.00 times d_model. At your n = 100" in said["en"]
    assert "is 20% of a layer's FLOPs" in said["en"] and said["en"].endswith("to 768.")
    assert "384" in said["zh"] and "20%" in said["zh"]
    seeing = replace(facts, is_causal=False)
    assert "Masked" not in in_both(monkeypatch, flops.says_crossover, seeing)["en"]
