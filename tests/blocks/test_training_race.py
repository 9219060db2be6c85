"""Placements that are trained side by side."""

import math

import pytest
import torch

from blocks import ModelConfig, build
from blocks.model.placements import PLACEMENTS
from blocks.training.race import GUESS, N_UPDATES, SMOOTH, race_facts, race_spec
from blocks.training.racer import Racer, evaluation

RACE = {"n_layers": 2, "learning_rate": 1e-3, "warmup_steps": 0, "seed": 0}


def test_placements_differ_in_nothing_but_their_norms():
    specs = [race_spec(ModelConfig(), placement, **RACE) for placement in ("pre", "post")]
    assert len({(spec.task, spec.recipe, spec.seed) for spec in specs}) == 1
    pre, post = (build(spec.config, seed=0).state_dict() for spec in specs)
    shared = pre.keys() & post.keys()
    assert len(shared) > 20 and all(torch.equal(pre[name], post[name]) for name in shared)


def test_asking_in_parts_is_asking_at_once():
    spec = race_spec(ModelConfig(), "pre", **RACE)
    at_once, in_parts = Racer(spec, evaluation), Racer(spec, evaluation)
    assert in_parts.losses(2) == at_once.losses(4)[:2]
    assert in_parts.losses(4) == at_once.losses(4)
    assert in_parts.losses(1) == at_once.losses(1)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_every_placement_starts_at_guessing_or_worse(placement: str):
    (loss,) = Racer(race_spec(ModelConfig(), placement, **RACE), evaluation).losses(1)
    assert GUESS - 0.3 < loss < 3 * GUESS


def test_pre_norm_learns():
    losses = Racer(race_spec(ModelConfig(), "pre", **RACE), evaluation).losses(N_UPDATES)
    assert len(losses) == N_UPDATES and losses[-1] < 0.5 * GUESS


def test_what_diverges_ends_early():
    steep = RACE | {"learning_rate": 1e9}
    racer = Racer(race_spec(ModelConfig(), "none", **steep), evaluation)
    losses = racer.losses(N_UPDATES)
    assert len(losses) < N_UPDATES and racer.is_over and all(map(math.isfinite, losses))


def test_the_facts_tell_who_is_stuck_and_who_diverged():
    spec = race_spec(ModelConfig(), "pre", **RACE)
    losses = ([3.0] * 10 + [1.0] * 10, [3.2] * 20, [3.0, 9.0])
    facts = race_facts(("pre", "post", "none"), losses, spec, 20)
    assert dict(facts.losses) == pytest.approx({"pre": 1.0, "post": 3.2, "none": 6.0})
    assert facts.stuck == ("post", "none") and facts.diverged == ("none",)
    assert not facts.is_over and list(facts.curves.columns) == ["placement", "update", "loss"]
    half = facts.curves.query("placement == 'pre' and update == 15")["loss"]
    assert half.item() == pytest.approx((5 * 3.0 + 5 * 1.0) / SMOOTH)
