"""What a training will take, from a few of its own updates."""

import dataclasses

import pytest
from training_toy import toy_spec

from blocks.training import pace
from blocks.training.pace import Pace, measured_pace
from blocks.training.recipe import Recipe

RECIPE = Recipe().replace(n_steps=100, eval_every=50, n_eval_batches=6, warmup_steps=0)


def test_updates_and_held_out_losses_are_counted():
    assert Pace(2.0).seconds(RECIPE) == 2.0 * (100 + 3 * 2)


@pytest.mark.parametrize("seconds", [5.0, 60.0, 600.0])
def test_what_there_is_time_for_takes_no_longer(seconds: float):
    found = Pace(0.5)
    n_steps = found.n_steps(RECIPE, seconds)
    assert found.seconds(RECIPE.replace(n_steps=n_steps)) <= seconds + found.update * 3


def test_a_moment_is_trained_and_no_more(monkeypatch: pytest.MonkeyPatch):
    made = []

    class Noted(pace.Training):
        def __init__(self, spec):
            super().__init__(spec)
            made.append(self)

    monkeypatch.setattr(pace, "Training", Noted)
    assert measured_pace(toy_spec(n_steps=1000, warmup_steps=0)).update > 0
    assert pace.N_LEAST <= made[0].step <= pace.N_TIMED


def test_a_large_update_is_timed_with_fewer_rows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pace, "MOST_WORK", 1.0)
    spec = toy_spec(batch_size=8)
    assert pace._rows(spec) == 1
    monkeypatch.setattr(pace, "MOST_WORK", float("1e18"))
    assert pace._rows(spec) == 8


def test_a_training_of_one_update_has_a_pace_too():
    spec = toy_spec(n_steps=1, warmup_steps=0, eval_every=1)
    assert measured_pace(dataclasses.replace(spec, seed=3)).update > 0
