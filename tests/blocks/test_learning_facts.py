"""Facts of a training: its newest evaluation."""

import math
from types import SimpleNamespace

import pandas as pd
import pytest
from toy import toy

from blocks.inspection.learning import learning_facts
from blocks.training.tasks import TaskKind


def view(losses: list[float], kind: TaskKind = TaskKind.SORT) -> SimpleNamespace:
    """What is read of a view of a run."""
    rows = {"step": range(len(losses)), "held_out_loss": losses, "score": 0.5}
    spec = SimpleNamespace(config=toy(vocab_size=8), task=SimpleNamespace(kind=kind))
    ahead = pd.DataFrame(columns=["step", "loss"])
    return SimpleNamespace(spec=spec, evaluations=pd.DataFrame(rows), ahead=ahead)


def test_the_newest_evaluation_is_told():
    facts = learning_facts(view([2.0, 1.0]))
    assert (facts.step, facts.loss, facts.score, facts.is_share) == (1, 1.0, 0.5, True)
    assert facts.bits == pytest.approx(1 / math.log(2)) and facts.perplexity == pytest.approx(
        math.e
    )
    assert facts.guess == math.log(8)
    assert not facts.is_overfitting and not facts.is_guessing
    assert not learning_facts(view([1.0], TaskKind.TEXT)).is_share


def test_overfitting_is_a_loss_that_rises_again():
    assert learning_facts(view([1.0, 1.2])).is_overfitting
    assert not learning_facts(view([1.0, 1.05])).is_overfitting


def test_guessing_is_a_loss_near_that_of_guessing():
    assert learning_facts(view([2.0])).is_guessing
    worse = learning_facts(view([3.0]))
    assert worse.is_worse_than_a_guess and not worse.is_guessing
    assert not learning_facts(view([math.log(8) + 0.001])).is_worse_than_a_guess
    assert learning_facts(view([])).step is None
