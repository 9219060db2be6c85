"""What the panels of Parameters say, in both languages, from facts filled in by hand."""

from dataclasses import replace

import pandas as pd
import pytest
from said_in import in_both

from blocks.cost.growth import GrowthFacts
from blocks.cost.variations import ChangesFacts, Variation
from pages.panels.parameters import changes

CHANGED = ChangesFacts(
    total=1000,
    changes=tuple(
        Variation(name, {}, total, total)
        for name, total in {"untied": 1300, "twice_the_heads": 1000, "no_biases": 980}.items()
    ),
)
OVER = {
    size: pd.DataFrame(
        {
            size: [8, 64],
            "embeddings": [0.5, 0.02],
            "attention": [0.2, 0.3],
            "feed_forward": [0.3, 0.68],
            "rest": [0.0, 0.0],
        }
    )
    for size in ("d_model", "n_layers")
}


def test_the_changes(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, changes.says_changes, CHANGED)
    assert said["en"] == (
        "The number of heads changes nothing: heads share the same matrices. Biases and norms "
        "together are 2.0% of the model. Weight tying saves 300 parameters: vocab_size · d_model."
    )
    assert "2.0%" in said["zh"] and "300" in said["zh"]
    norms = replace(CHANGED, changes=(Variation("no_norms", {}, 900, 900),))
    said = in_both(monkeypatch, changes.says_changes, norms)["en"]
    assert said == "All norms together are 10% of the model."


def test_the_growth(monkeypatch: pytest.MonkeyPatch):
    facts = GrowthFacts(OVER, {"d_model": 8, "n_layers": 8})
    said = in_both(monkeypatch, changes.says_growth, facts)
    assert said["en"].startswith("Here embeddings hold 50%, attention 20%, feed-forward 30%.")
    assert "at d_model 64 embeddings hold 2.0%, and with 64 layers" in said["en"]
    assert "50%" in said["zh"]
    bare = {size: table.assign(embeddings=0.0) for size, table in OVER.items()}
    said = in_both(monkeypatch, changes.says_growth, replace(facts, over=bare))["en"]
    assert said.endswith("feed-forward 30%.")
