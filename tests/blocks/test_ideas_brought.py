"""The steps from GPT-2 to a model of today: one idea each, counted exactly, trained from seeds."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from daily import some_daily

from blocks import ModelConfig
from blocks.cost.parameters import active_parameters, total_parameters
from blocks.inspection.ideas import ideas_facts
from blocks.inspection.settings import differing
from blocks.model.models import count_built
from blocks.model.presets import PRESETS
from blocks.training import evaluation, next_token
from blocks.training.ideas import (
    FILE,
    RECIPE,
    SEEDS,
    SERIES,
    learned_losses,
    published_ideas,
    small_ideas,
)
from blocks.training.sample import continued

PUBLISHED = published_ideas()


@pytest.fixture(scope="module")
def small() -> dict[str, ModelConfig]:
    """The steps as they are trained."""
    return small_ideas()


def test_it_begins_with_gpt2_and_each_step_adds_to_the_one_before(small):
    assert PUBLISHED["gpt2"] == PRESETS["gpt2-small"]
    for ideas in (PUBLISHED, small):
        configs = [*ideas.values()]
        assert all(differing(*pair) for pair in pairwise(configs))


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_counted_is_what_would_be_built(name: str, small):
    for ideas in (PUBLISHED, small):
        assert total_parameters(ideas[name]) == count_built(ideas[name])


def test_counts_of_gpt2_small_with_each_idea():
    facts = ideas_facts()
    found = {idea.name: idea for idea in facts.ideas}
    assert found["gpt2"].parameters == 124_439_808
    assert found["rope"].parameters == 124_439_808 - 1024 * 768
    assert found["gpt2"].kv_bytes == 2 * 12 * 768 * 2
    assert found["gqa"].kv_bytes * 3 == found["swiglu"].kv_bytes
    assert found["mla"].kv_bytes == 12 * (256 + 32) * 2
    assert found["hybrid"].kv_bytes * 4 == found["mla"].kv_bytes
    assert found["mtp"].parameters > found["mtp"].active == found["hybrid"].active
    before, after = PUBLISHED["no_bias"], PUBLISHED["swiglu"]
    assert total_parameters(before) == total_parameters(after)
    dense, fine = PUBLISHED["qk_norm"], PUBLISHED["experts"]
    routers = 11 * 16 * 768  # a token meets as many units as in the dense layer
    assert active_parameters(fine) == active_parameters(dense) + routers
    assert found["experts"].parameters > 2 * found["experts"].active


def test_every_run_that_the_panel_shows_ships_with_its_seed(small):
    assert learned_losses().keys() == small.keys()
    assert all(len(losses) == len(SEEDS) for losses in learned_losses().values())
    assert FILE.stat().st_size < 100_000
    facts = ideas_facts()
    assert facts.seeds == SEEDS and facts.spread > 0
    assert sum(facts.gains.values()) == pytest.approx(facts.ideas[0].loss - facts.ideas[-1].loss)


def two_tokens(*read: Any, seq_len: int, **more: Any) -> list[int]:
    assert seq_len > 2
    return continued(*read, seq_len=3, **more)


@pytest.mark.parametrize("name", some_daily(["gpt2", "mla", "mtp"], daily=["mtp"]))
def test_a_step_trains_as_it_is_written_down(name: str, small, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(next_token, "WRITTEN", 2)  # the loss is asked for: stories are short
    monkeypatch.setattr(evaluation, "continued", two_tokens)
    recipe = RECIPE.replace(n_steps=2, warmup_steps=1, eval_every=2, n_eval_batches=1)
    one = replace(SERIES, configs=lambda: {name: small[name]}, recipe=recipe, seeds=(0,))
    (row,), (again,) = one.trained(), one.trained()
    assert row == again and row["losses"][0] < 10
