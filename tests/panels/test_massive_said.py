"""What the panel on massive activations says: facts filled in by hand, each case read."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from said_in import in_both

from blocks import ModelConfig
from blocks.inspection.massive import MassiveFacts, Rerun, Value, Writers
from blocks.inspection.sinks import Sink, Sinks
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from pages.figures.described import described
from pages.panels.feed_forward import massive, massive_picture
from pages.stage import tokens
from pages.state import sinks

CONFIG = ModelConfig.from_flat({"d_model": 8, "n_heads": 2, "n_layers": 3})
RUN = Run(config=CONFIG, input=Input(tokens=("an", "owl", "an")), mask=MaskConfig(), weights="x")
FACTS = MassiveFacts(
    run=RUN,
    sinks=Sinks((Sink(0, (1, 2), (2,)), Sink(1, (0,), ()))),
    values=np.array([[9, 80, -2], [5000, 3, 2], [2000, 4, -3]], np.float32),
    channels=np.array([[5, 5, 1], [5, 2, 1], [5, 0, 4]]),
    medians=np.array([1, 2, 3], np.float32),
    largest=Value(1, 0, 5, 5000.0),
    followed=(0, 1),
    traces=np.array([[0.5, 9, 5000, 2000], [0.1, 80, 1, 4]], np.float32),
    written=np.array([[1, 7.5], [-9, 5000], [0, -3000]], np.float32),
)


def test_the_largest_value_its_birth_its_end_and_both_generations(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, massive.says_largest, FACTS)
    assert said["en"] == (
        "The largest value of the stream is 5,000, at `an₁` after layer 2, in channel 6: 2,500 "
        "times the median size there (2.00). Layer 2 writes it: attention contributes -9 and the "
        "feed-forward layer 5,000. After layer 3, less than half of it is left. Tokens "
        "with massive activations: `an₁`, `owl` after layers 1 to 3."
    )
    assert "`an₁`" in said["zh"] and "Layer" not in said["zh"]
    apart = replace(FACTS, sinks=Sinks((Sink(0, (2,), ()), Sink(1, (0,), ()))))
    two = in_both(monkeypatch, massive.says_largest, apart)["en"]
    assert two.endswith("in two waves: `owl` after layers 1 to 1; `an₁` after layers 3 to 3.")
    again = replace(FACTS, sinks=Sinks((Sink(0, (0, 2), ()),)))
    twice = in_both(monkeypatch, massive.says_largest, again)
    assert twice["en"].endswith(
        "Tokens with massive activations: `an₁` after layers 1 to 1, 3 to 3."
    )
    assert twice["zh"].endswith("巨量激活的词元：`an₁`（第 1 至 1、3 至 3 层之后）。")
    stays = replace(FACTS, traces=FACTS.traces + np.float32([[0, 0, 0, 900], [0, 0, 0, 0]]))
    assert (
        "It stays until the last layer." in in_both(monkeypatch, massive.says_largest, stays)["en"]
    )
    none = in_both(monkeypatch, massive.says_largest, replace(FACTS, sinks=Sinks()))["en"]
    assert none.endswith("(2.00). No token outweighs the others here, as in most small models.")


def test_the_unit_and_the_loss_without_the_value(monkeypatch: pytest.MonkeyPatch):
    units = pd.DataFrame(
        {"unit": [7], "hidden": [900.5], "elsewhere": [0.02], "weight": [5.0], "written": [4502.5]}
    )
    unit = massive.Unit(Writers(1, units, 5000.0))
    said = in_both(monkeypatch, massive.says_unit, unit)
    assert said["en"] == (
        "Unit 8 of layer 2 is 900.50 at this token and at most 0.02 in magnitude at any other; "
        "it writes 90% of what the feed-forward layer adds there."
    )
    both = Rerun(21820, 6.09, 1, 0.9), Rerun(5630, 6.11, 1, 0.9)
    said = in_both(monkeypatch, massive.says_unit, massive.Unit(unit.writers, *both))["en"]
    assert said.endswith(
        "Without unit 8, the value is 5,630 instead of 21,820, and the loss is 6.11 instead of "
        "6.09 bits per token."
    )
    monkeypatch.setattr(tokens, "label", lambda run, token_id: f"<{token_id}>")
    found = (Rerun(5000, 6, 1, 0.9), Rerun(5100, 6.25, 1, 0.8), Rerun(0, 20, 2, 0.1))
    said = in_both(monkeypatch, massive.says_without, massive.Without(RUN, found))
    assert said["en"] == (
        "Setting this one value to 0 takes the loss from 6.00 to 20.00 bits per token. Setting it "
        "to its mean in texts that begin with other tokens (5,100) gives 6.25 bits."
    )
    assert massive.table_without(massive.Without(RUN, found)).iloc[2].tolist()[1:3] == ["0", 20.0]


def test_the_pictures_tell_their_largest_and_what_a_click_returns():
    picture = massive_picture.largest_values(FACTS, _=str)
    assert "the largest is 5,000 at an₁ after layer 2, in channel 6" in described(picture, _=str)
    assert picture.parts["data"][1]["customdata"][4] == [1, 1]
    chart = massive.way_of_a_channel(FACTS)
    names = [each.look.name for each in chart.series]
    assert names == ["an₁ (1)", "owl (2)", "median size of all values"]
    assert chart.table()["size"].tolist()[:4] == [0.5, 9, 5000, 2000]


def test_sinks_are_named_with_their_places(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sinks, "found_in", lambda run: FACTS.sinks)
    said = in_both(monkeypatch, sinks.says_apart, RUN, True)
    assert (
        said["en"].startswith("These tokens are set apart") and "`an₁` (1), `owl` (2)" in said["en"]
    )
    assert "include them" in in_both(monkeypatch, sinks.says_apart, RUN, False)["en"]
    assert sinks.set_apart(RUN, True) == (0, 1) and sinks.set_apart(RUN, False) == ()
    alone = replace(RUN, input=Input(tokens=("an", "owl")))
    assert sinks.set_apart(alone, True) == ()  # nothing would be left
