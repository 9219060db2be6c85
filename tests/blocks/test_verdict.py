"""Two configurations at equal tokens, FLOPs and seconds, and what an interval says of them."""

from dataclasses import replace

import pytest
from training_toy import toy_spec

from blocks.cost.training_cost import training_cost
from blocks.sweep.estimate import update_flops
from blocks.sweep.file import read_sweep, write_sweep
from blocks.sweep.verdict import Answer, Contest, Currency, Verdict, between, contest
from blocks.training.pace import Pace
from blocks.training.spec import TrainingSpec

BASE, WIDE = toy_spec(n_steps=100), toy_spec(n_steps=100, d_model=32)
SEEDS = (0, 1, 2, 3, 4)


def pace_of(spec: TrainingSpec) -> Pace:
    """The wide model is four times as slow."""
    return Pace(0.04 if spec.config.d_model == 32 else 0.01)


@pytest.fixture
def asked() -> Contest:
    return contest(BASE, between(BASE, WIDE), SEEDS, pace_of)


def test_both_spend_as_much_in_each_currency(asked: Contest):
    steps = asked.n_steps
    assert steps[Currency.TOKENS] == 100
    spent = [
        training_cost(spec.config, n * 4 * 12, n=12).exact
        for spec, n in ((BASE, 100), (WIDE, steps[Currency.FLOPS]))
    ]
    assert spent[0] == pytest.approx(spent[1], abs=update_flops(WIDE) / 2)
    assert steps[Currency.SECONDS] == pytest.approx(25, abs=1)
    points = asked.sweep.points({})
    assert len({point.key for point in points}) == len(SEEDS) * (1 + len({*steps.values()}))


# Student 1908, table of the additional hours of sleep by two drugs; R: t.test(..., paired = TRUE).
ONE_DRUG = (0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0)
OTHER_DRUG = (1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4)


def test_the_interval_is_that_of_a_paired_t_test():
    found = Verdict(Currency.TOKENS, (1, 1), OTHER_DRUG, ONE_DRUG)
    assert found.mean == pytest.approx(-1.58, rel=1e-9)
    assert found.mean - found.half_width == pytest.approx(-2.459886, rel=1e-4)
    assert found.mean + found.half_width == pytest.approx(-0.7001142, rel=1e-3)
    assert found.answer is Answer.BETTER
    assert replace(found, base=ONE_DRUG, change=OTHER_DRUG).answer is Answer.WORSE


def test_each_currency_is_judged_by_its_own_trainings(asked: Contest):
    currency_of = {n: currency for currency, n in asked.n_steps.items()}
    more = {Currency.TOKENS: -0.2, Currency.FLOPS: 0.1, Currency.SECONDS: 0.3}
    losses = {}
    for point in asked.sweep.points({}):
        seed = point.spec.seed
        losses[point.key] = 1 + seed / 10
        if point.setting:
            losses[point.key] += more[currency_of[point.spec.recipe.n_steps]] + seed / 1000
    found = {each.currency: each.answer for each in asked.verdicts(losses)}
    worse = dict.fromkeys((Currency.FLOPS, Currency.SECONDS), Answer.WORSE)
    assert found == {Currency.TOKENS: Answer.BETTER, **worse}


def test_one_seed_and_a_divergence_decide_nothing():
    one = Verdict(Currency.TOKENS, (10, 10), (1.0,), (0.5,))
    assert one.answer is Answer.UNDECIDED
    assert replace(one, base=(1.0, 1.0), change=(0.5, float("inf"))).answer is Answer.UNDECIDED


def test_what_is_not_trained_yet_has_no_verdict_and_short_budgets_warm_up_less(asked: Contest):
    assert asked.verdicts({}) == ()
    costly = contest(toy_spec(n_steps=4), {"d_model": 64}, SEEDS, pace_of)
    warmups = {point.spec.recipe.warmup_steps for point in costly.sweep.points({})}
    assert warmups == {2, 0}
    assert read_sweep(write_sweep(costly.sweep)) == costly.sweep
