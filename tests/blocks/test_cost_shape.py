"""Which GPT a budget buys: laws against their papers, shapes against what was asked for."""

import math

import numpy as np
import pytest

from blocks import PRESETS
from blocks.cost.budget_shape import (
    Budget,
    BudgetKind,
    Wish,
    by_attention,
    shape_for,
    with_fewest_devices,
)
from blocks.cost.chosen_shape import AttentionShape, chosen_shape, size_of
from blocks.cost.fit import training_need
from blocks.cost.flops import Pass, count_flops
from blocks.cost.loss_fit import Trained, fit_loss, fitted_law
from blocks.cost.loss_front import loss_front, published_rows
from blocks.cost.scaling_laws import (
    BESIROGLU,
    HOFFMANN,
    LAWS,
    PF_DAY,
    Counted,
    batch_tokens,
    learning_rate,
)
from blocks.cost.setup import Setup
from blocks.model.faults import ConfigError

CHINCHILLA = 5.76e23  # FLOPs; Hoffmann et al. 2022, section 4
ONE = Budget(BudgetKind.FLOPS, 1e19, "rtx-4090")


def test_laws_say_what_their_papers_say():
    law = LAWS["besiroglu"]
    assert law.size(CHINCHILLA) == pytest.approx(70e9, rel=0.05)
    assert law.tokens(CHINCHILLA) == pytest.approx(1.4e12, rel=0.06)
    assert BESIROGLU.power == pytest.approx(0.5126, abs=1e-4)  # Besiroglu et al. 2024, section 4
    assert HOFFMANN.power == pytest.approx(0.46, abs=0.005)  # Hoffmann et al. 2022, table 2
    assert LAWS["kaplan"].size(PF_DAY) == pytest.approx(1.3e9)
    for flops in (1e17, 3e20):  # DeepSeek-AI 2024, equation 4 states both
        assert LAWS["deepseek"].tokens(flops) == pytest.approx(5.8316 * flops**0.4757, rel=2e-3)


@pytest.mark.parametrize(
    ("texts", "rate", "n_layers", "d_model"), [(2304, 4.2e-4, 30, 4096), (4608, 3.2e-4, 95, 8192)]
)
def test_the_rule_of_batches_gives_those_of_its_authors(texts, rate, n_layers, d_model):
    """DeepSeek-AI 2024, table 2, and M · D as in its equation 2, with 2 T tokens."""
    work = 72 * n_layers * d_model**2 + 12 * n_layers * d_model * 4096
    assert batch_tokens(work * 2e12) == pytest.approx(4096 * texts, rel=0.1)
    assert learning_rate(work * 2e12) == pytest.approx(rate, rel=0.03)


@pytest.mark.parametrize("fit", [BESIROGLU, HOFFMANN])
def test_the_closed_form_is_where_the_loss_is_least(fit):
    for flops in (1e14, 1e19, CHINCHILLA):
        sizes = fit.scale * flops**fit.power * np.exp(np.linspace(-0.5, 0.5, 100_001))
        losses = fit.floor + fit.a * sizes**-fit.alpha + fit.b * (flops / 6 / sizes) ** -fit.beta
        assert sizes[losses.argmin()] == pytest.approx(fit.scale * flops**fit.power, rel=1e-3)


def test_sizes_are_counted_as_the_papers_count_them():
    gpt2 = PRESETS["gpt2-small"]
    tables = 50257 * 768 + 1024 * 768
    assert size_of(gpt2, Counted.ALL, 1024) == 124_439_808
    assert size_of(gpt2, Counted.INNER, 1024) == 124_439_808 - tables
    work = 72 * 12 * 768**2 + 12 * 12 * 768 * 1024  # DeepSeek-AI 2024, equation 2
    assert size_of(gpt2, Counted.WORK, 1024) == work


def test_shapes_are_legal_near_and_as_devices_like_them():
    asked = [(law, AttentionShape.GQA, flops) for law in LAWS.values() for flops in (1e17, 1e21)]
    asked += [(LAWS["besiroglu"], kind, CHINCHILLA) for kind in AttentionShape]
    for law, kind, flops in asked:
        config = chosen_shape(law.size(flops), law.counted, kind, 32_000, 1024)
        assert size_of(config, law.counted, 1024) == pytest.approx(law.size(flops), rel=0.02)
        if config.d_model >= 512:
            assert config.d_model % 128 == 0 == config.d_ff % 128
            assert config.d_head in (64, 128)
        assert config.is_latent == (kind is AttentionShape.MLA)
        assert (config.n_kv_heads < config.n_heads) == (kind is AttentionShape.GQA)


def test_a_budget_is_spent_whole_and_not_exceeded():
    for found in by_attention(ONE, Wish(n=1024)):
        assert found.cost.done == pytest.approx(ONE.flops, rel=1e-6) and found.cost.done <= 1e19
    hours = shape_for(Budget(BudgetKind.TIME, 24, "h100-sxm", 8), Wish())
    assert hours.seconds == pytest.approx(24 * 3600, rel=1e-6)
    money = shape_for(Budget(BudgetKind.MONEY, 1000, "h100-sxm", 8, price=2.5), Wish())
    assert money.device_hours * 2.5 == pytest.approx(1000, rel=1e-6)


def test_a_device_holds_as_many_texts_as_is_said_and_no_more():
    found = shape_for(ONE, Wish())

    def need(batch: int) -> int:
        return training_need(found.config, Setup(), batch=batch, n=found.wish.n).total

    assert (
        need(found.texts_at_once)
        == found.need.total
        <= found.memory
        < need(found.texts_at_once + 1)
    )
    large = shape_for(ONE._replace(amount=1e23), Wish())
    assert large.texts_at_once == 0 and large.need.total > large.memory


def test_the_fewest_devices_that_hold_a_training_hold_it_and_one_less_does_not():
    found = shape_for(Budget(BudgetKind.MONEY, 50_000, "a100-sxm-80gb", price=2), Wish(n=512))
    fewest = with_fewest_devices(found)
    assert fewest is not None and fewest.budget.n_devices > 2 and fewest.config == found.config

    def need(n_devices: int) -> int:
        return training_need(found.config, Setup(n_devices=n_devices), batch=1, n=512).total

    held_by = fewest.budget.n_devices
    assert need(held_by) <= found.memory < need(held_by - 1)
    assert fewest.seconds * held_by == pytest.approx(found.seconds, rel=1e-6)
    assert with_fewest_devices(shape_for(ONE, Wish(n=65_536))) is None


def test_what_kernels_that_skip_masked_pairs_would_leave_is_counted_as_serving_counts():
    found, n = shape_for(ONE, Wish(attention=AttentionShape.MLA, n=1024)), 1024
    every, seen = (
        int(count_flops(found.config, Pass(n, n, n, skips_masked=skips))["flops"].sum())
        for skips in (False, True)
    )
    assert not found.cost.recomputed
    assert found.more_unmasked == pytest.approx(every / seen - 1, rel=1e-3)


def test_use_makes_smaller_models_better_at_equal_cost():
    found = loss_front(shape_for(ONE, Wish(served=1e11)))
    rows = found.rows.dropna()
    cost = 6 * found.of_rule * rows["n"] * rows["tokens_served"] + 2 * rows["n"] * 1e11
    assert np.allclose(cost, found.total, rtol=1e-12)
    assert found.best["n"] < found.start["n"]
    assert found.start["loss"] == pytest.approx(found.start["loss_served"], rel=1e-12)
    unused = loss_front(shape_for(ONE, Wish(served=1.0)))
    assert unused.best["n"] == unused.start["n"]


def test_the_front_goes_through_the_gpt_that_was_found():
    """One page, one rule: else a smaller model seems better than it is."""
    here = shape_for(ONE, Wish())
    front = loss_front(here)
    assert here.loss is not None and front.here["loss"] == pytest.approx(here.loss.value, rel=1e-12)
    around = np.interp(here.n_parameters, front.rows["n"], front.rows["loss"])
    assert around == pytest.approx(here.loss.value, rel=1e-4)
    assert front.start["loss"] <= here.loss.value


def test_people_are_told_with_the_sizes_of_their_models():
    found = published_rows().set_index("title")
    assert found.loc["Chinchilla", "tokens"] == 20 * found.loc["Chinchilla", "n"]
    assert math.isclose(found.loc["DeepSeek-V3", "n"], 37.6e9, rel_tol=0.01)  # active ones


def test_a_fit_finds_the_law_that_made_the_losses():
    sizes = [(n, d) for n in (1e7, 1e8, 1e9) for d in (1e8, 1e9, 1e10, 1e11)]
    runs = [Trained(n, d, BESIROGLU.loss(n, d)) for n, d in sizes]
    law = fitted_law(runs, "", "")
    assert law.fit is not None
    assert law.fit.alpha == pytest.approx(BESIROGLU.alpha, rel=1e-2)
    assert law.fit.beta == pytest.approx(BESIROGLU.beta, rel=1e-2)
    assert law.size(CHINCHILLA) == pytest.approx(LAWS["besiroglu"].size(CHINCHILLA), rel=0.05)
    band = law.loss(70e9, 1.4e12)
    assert band is not None and band.least <= band.value <= band.most
    assert band.value == pytest.approx(BESIROGLU.loss(70e9, 1.4e12), rel=1e-3)
    steep = [runs[0]._replace(loss=1.5 * runs[0].loss), *runs[1:]]  # stopped in its first fall
    assert fit_loss(steep).loss(70e9, 1.4e12) == pytest.approx(band.value, rel=1e-3)
    with pytest.raises(ConfigError, match="at least 6"):
        fitted_law(runs[:5], "", "")
