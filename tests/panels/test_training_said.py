"""What the page of trainings says: facts filled in by hand, each case read."""

import math
from dataclasses import replace

import pandas as pd
import pytest
from said_in import in_both

from blocks.inspection.learning import BirthFacts, ExampleFacts, LearningFacts
from blocks.training.events import Sample
from blocks.training.examples import Place
from blocks.training.recipe import RECIPES
from pages.panels.training import setup, shared, watch

LEARNING = LearningFacts(
    step=1200, loss=math.log(2), least_loss=math.log(2), score=0.25, is_share=True, vocab_size=64
)
BIRTHS = BirthFacts(
    pd.DataFrame(
        [(8, 0, 1, 1, 0.75), (0, 0, 1, 1, 0.05), (0, 0, 0, 0, 0.5), (8, 0, 0, 0, 0.25)],
        columns=["step", "layer", "head", "number", "share"],
    ),
    "induction",
    selected=0,
    now=8,
)
COSINE = RECIPES["baseline"].replace(warmup_steps=7, learning_rate=0.5, final_share=0.1)


def learning(facts: LearningFacts) -> str:
    return watch.says_learning(facts, "right")


CASES = [
    (
        learning,
        LEARNING,
        "After 1,200 steps the validation loss is 0.69 nats (1.00 bits), a perplexity of 2.0:"
        " the model is as uncertain as if it chose among 2.0 equally likely tokens "
        "(vocabulary: 64). The score is 25.0% (right).",
    ),
    (learning, replace(LEARNING, is_share=False), "The score is 0.25 (right)."),
    (learning, replace(LEARNING, least_loss=0.1), "overfitting"),
    (learning, replace(LEARNING, loss=4.0, least_loss=4.0), "hardly better than random guessing."),
    (
        learning,
        replace(LEARNING, loss=5.0),
        "148.4. This is worse than a uniform guess over all 64 tokens",
    ),
    (learning, replace(LEARNING, step=None), "over 64 tokens has a loss of 4.16 nats"),
    (
        shared.says_births,
        BIRTHS,
        "highest in layer 1, head 2, where it goes from 5.0% at step 0 to 75% at step 8. Click",
    ),
]
ASKED = ExampleFacts((Place("a"), Place("b", asked=True), Place("c", asked=True)), False)
CASES += [
    (setup.says_example, ASKED, "of 3 tokens; the model has to predict those in violet (2)."),
    (setup.says_example, replace(ASKED, is_of_pairs=True), "in violet, the 2 target tokens"),
    (
        setup.says_example,
        replace(ASKED, places=(Place("a", True, "b"),)),
        "of 1 tokens; at those in violet (1), the model has to predict what follows the arrow.",
    ),
]


@pytest.mark.parametrize(("says", "facts", "part"), CASES)
def test_each_case_is_said_in_both_languages(monkeypatch, says, facts, part: str):
    said = in_both(monkeypatch, says, facts)
    assert part in said["en"]
    assert said["zh"] != said["en"]


@pytest.mark.parametrize(
    ("seconds", "part"), [(12.0, "On this machine, 40 updates take about 12 s"), (120, "2 min")]
)
def test_how_long_it_takes(monkeypatch, seconds: float, part: str):
    said = in_both(monkeypatch, shared.says_seconds, seconds, 40)
    assert part in said["en"] and said["zh"] != said["en"]


def test_the_schedule(monkeypatch):
    said = in_both(monkeypatch, shared.says_schedule, COSINE)["en"]
    assert (
        said.startswith("The learning rate warms up over 7 steps to 0.5 and then")
        and "0.05" in said
    )


def test_one_step_is_no_steps(monkeypatch: pytest.MonkeyPatch):
    said = {n: in_both(monkeypatch, watch.sample_sentence, Sample(n, "")) for n in (1, 2)}
    assert said[1]["en"] == "After 1 step" and said[2]["en"] == "After 2 steps"
    assert said[1]["zh"] == "训练 1 步之后"
