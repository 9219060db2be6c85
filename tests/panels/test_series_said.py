"""What is said of models that were trained beside each other: facts filled in by hand."""

from dataclasses import replace

import pytest
from said_in import in_both

from blocks import ModelConfig
from blocks.inspection.staircase import Stair, StaircaseFacts
from blocks.inspection.trained_lengths import LengthsFacts, ReadOn
from blocks.model.kinds import PositionKind
from blocks.training.recipe import Recipe
from pages.panels.positions import trained_lengths
from pages.panels.training import staircase

CONFIG, RECIPE = ModelConfig(n_layers=2, d_model=64), Recipe(n_steps=600, batch_size=16)
ALIBI = ReadOn(PositionKind.ALIBI, (3.0, 2.9, 2.8, 2.8), (0,) * 4, (0,) * 4, 2)
LEARNED = ReadOn(PositionKind.LEARNED, (3.0, 2.9, 6.0, 8.0), (0,) * 4, (0,) * 4, 2)
LENGTHS = LengthsFacts((ALIBI, LEARNED), 8, 16, 32, CONFIG, RECIPE, (0, 1))
STAIRS = StaircaseFacts(
    (
        Stair("bigram", CONFIG, 9, (2.5, 2.6)),
        Stair("one_head", CONFIG, 9, (2.3, 2.3)),
        Stair("larger", CONFIG, 9, (2.2, 2.1)),
    ),
    RECIPE,
    (0, 1),
    64,
    "of the ",
    "of the implementation",
)


def test_what_longer_texts_do_to_each_encoding(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, trained_lengths.says_lengths, LENGTHS)
    assert "“ALiBi” goes from 2.90 to 2.80" in said["en"] and "from 2.90 to 7.00" in said["en"]
    assert "2.80" in said["zh"] and "ALiBi" in said["zh"]
    how = in_both(monkeypatch, trained_lengths.says_how, LENGTHS)
    assert "600 updates on 16 texts" in how["en"] and "0、1" in how["zh"]


def test_what_each_step_of_the_staircase_brings(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, staircase.says_staircase, STAIRS)
    assert "among 13 equally likely ones (a loss of 2.55 nats" in said["en"]
    assert "After 2 more steps (wider and deeper), it chooses among 9 (2.15 nats)" in said["en"]
    assert (
        "“one head” helps most: it lowers the loss by 0.25" in said["en"] and "2.15" in said["zh"]
    )
    assert "no gain" not in said["en"]
    flat = replace(STAIRS, stairs=(*STAIRS.stairs[:2], replace(STAIRS.stairs[1], name="norm")))
    told = in_both(monkeypatch, staircase.says_staircase, flat)
    assert "The step “norms” alone brings no gain" in told["en"]
    assert "continues `of the`" in in_both(monkeypatch, staircase.says_text, STAIRS)["en"]
    assert "of the implementation" in staircase.what_each_writes(STAIRS).iloc[-1, -1]
    assert "64 characters each" in in_both(monkeypatch, staircase.says_how, STAIRS)["en"]
