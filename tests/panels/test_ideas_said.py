"""What the panel of ideas says: facts filled in by hand."""

from dataclasses import replace

import pytest
from drawn import checked
from said_in import in_both

from blocks import ModelConfig
from blocks.inspection.ideas import Idea, IdeasFacts
from blocks.training.recipe import Recipe
from pages.figures.drawn_chart import drawn
from pages.panels.parameters import ideas

FACTS = IdeasFacts(
    ideas=(
        Idea("gpt2", 100, 100, 8, 1000, (1.0, 1.1)),
        Idea("rope", 90, 90, 8, 1000, (0.7, 0.8)),
        Idea("mla", 300, 95, 2, 1500, (0.7, 0.75)),
    ),
    small=ModelConfig(n_layers=2, d_model=72),
    recipe=Recipe(n_steps=150, batch_size=16),
    seeds=(0, 1),
    seq_len=64,
)


def test_the_whole_way_and_what_is_clear(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, ideas.says_ideas, FACTS)
    assert "parameters change by a factor of 3.0" in said["en"]
    assert "0.95; the KV cache changes by a factor of 0.25" in said["en"]
    assert (
        "up to 0.100 nats between seeds. Single ideas that lower the loss by more than that: "
        "RoPE (−0.300)."
    ) in said["en"]
    assert "3.0 倍" in said["zh"] and "RoPE" in said["zh"]
    up = replace(FACTS.ideas[2], losses=(1.2, 1.25))
    said = in_both(monkeypatch, ideas.says_ideas, replace(FACTS, ideas=(*FACTS.ideas[:2], up)))
    assert "training length: MLA (+0.475)." in said["en"] and "MLA (+0.475)" in said["zh"]
    wide = replace(FACTS, ideas=(replace(FACTS.ideas[0], losses=(0.5, 1.6)), *FACTS.ideas[1:]))
    assert "No single idea" in in_both(monkeypatch, ideas.says_ideas, wide)["en"]


def test_what_was_counted_and_trained(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, ideas.says_how, FACTS)
    assert "2 layers and d_model 72" in said["en"] and "150 updates of 16 sequences" in said["en"]
    assert "seeds 0, 1" in said["en"] and "种子 0" in said["zh"]


def test_a_step_shows_its_change():
    rows = ideas.table(FACTS)
    assert rows.iloc[1, 1] == "90 (−10)" and rows.iloc[1, 3] == "8"


def test_its_charts_have_every_step_and_every_seed():
    costs, losses = ideas.costs(FACTS), ideas.losses(FACTS)
    assert all(checked(drawn(each)) for each in (costs, losses))
    assert len(costs.table()) == 4 * len(FACTS.ideas)
    _band, _mean, seeds = losses.series
    assert len(losses.table_of(seeds)) == sum(len(idea.losses) for idea in FACTS.ideas)
