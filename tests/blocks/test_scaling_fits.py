"""Laws fitted to runs: surfaces of known truth are found again, bands cover, files are checked."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch

from blocks.corpora.grammar import Grammar
from blocks.corpora.markov import MarkovSource, markov_source
from blocks.cost.loss_fit import Trained
from blocks.cost.scaling_laws import LossFit
from blocks.model.faults import ConfigError
from blocks.model.presets import PRESETS
from blocks.model.randomness import generator
from blocks.scaling.band import fitted
from blocks.scaling.critical_batch import Reached, fit_of, noise_of
from blocks.scaling.lab import PredictFacts, predict_facts, valley_facts
from blocks.scaling.plan import BATCH, SEQ_LEN
from blocks.scaling.projection import fit_law
from blocks.scaling.repeated import (
    MUENNIGHOFF,
    Learned,
    RepeatedData,
    expected_worth,
    learned,
    worth,
)
from blocks.scaling.series import recorded
from blocks.scaling.story_entropy import story_entropy
from blocks.scaling.table import read_runs
from blocks.scaling.transfer import (
    OPTIMIZERS,
    CoordinateCheck,
    Scheme,
    Tried,
    best_rates,
    shipped_searches,
    slope,
    widths_of,
)
from blocks.scaling.valleys import line_through, valleys
from blocks.training.recipe import OptimizerKind

CHINCHILLA = LossFit(1.69, 406.4, 410.7, 0.34, 0.28)  # Hoffmann et al. 2022, equation 10
MANY = b"N,D,loss\n" + b"1,1,1\n" * 501
SMALL = LossFit(2.5, 40, 400, 0.7, 0.7)


def surface(law: LossFit, budgets, sizes, noise: float = 0.0, seed: int = 0) -> list[Trained]:
    """Runs of a law: `sizes` is what to do of a budget, or one list for all."""
    random = np.random.default_rng(seed)
    found = []
    for flops in budgets:
        for n in sizes(flops) if callable(sizes) else sizes:
            loss = law.loss(n, flops / 6 / n) * (1 + noise * random.standard_normal())
            found.append(Trained(n, flops / 6 / n, loss))
    return found


def around_the_bottom(flops: float) -> np.ndarray:
    return 6e3 * (flops / 1e10) ** 0.5 * np.geomspace(1 / 3, 3, 6)


def test_a_surface_without_noise_is_found_again_and_parabolas_are_biased():
    runs = surface(CHINCHILLA, np.geomspace(6e18, 3e21, 5), np.geomspace(1e8, 2e10, 9))
    law = fit_law(runs)
    assert (law.alpha, law.beta) == pytest.approx((0.34, 0.28), rel=1e-4)
    assert (law.floor, law.a, law.b) == pytest.approx((1.69, 406.4, 410.7), rel=1e-3)
    line = line_through(valleys(runs))
    assert line is not None
    assert abs(line.power - CHINCHILLA.power) > 0.01 > 100 * abs(law.power - CHINCHILLA.power)


def test_no_constant_is_below_0():
    runs = surface(LossFit(0.0, 40, 400, 0.3, 0.3), (1e9, 1e10, 1e11), around_the_bottom)
    law = fit_law(runs)
    assert law.floor == pytest.approx(0, abs=1e-3) and min(law.floor, law.a, law.b) >= 0


def test_bands_cover_the_truth_and_larger_runs():
    budgets, seeds = np.geomspace(2e9, 3e10, 4), range(6)
    covered = {"floor": 0, "power": 0, "larger": 0}
    for seed in seeds:
        fit = fitted(surface(SMALL, budgets, around_the_bottom, 0.003, seed), n_fits=20)
        (larger,) = surface(SMALL, (1e11,), (2e4,), 0.003, seed + 100)
        covered["floor"] += fit.floor.least <= SMALL.floor <= fit.floor.most
        covered["power"] += fit.power.least <= SMALL.power <= fit.power.most
        covered["larger"] += PredictFacts(fit, (larger,)).n_inside
    assert min(covered.values()) >= 4  # of 6, where 5.4 are expected


def test_each_budget_is_foretold_by_cheaper_ones_alone():
    budgets = [
        surface(SMALL, (flops,), around_the_bottom) for flops in (1e9, 3e9, 1e10, 3e10, 1e11)
    ]
    facts = predict_facts(budgets)
    assert [len(each.fit.runs) for each in (*facts.earlier, facts)] == [18, 24]
    assert facts.inside_of_all[1] == 12 and abs(facts.misses[1]) < 1e-4


def test_facts_of_valleys_agree_with_the_law():
    runs = surface(SMALL, np.geomspace(2e9, 3e10, 4), around_the_bottom)
    facts = valley_facts(runs)
    assert len(facts.valleys) == facts.n_inside == 4
    assert np.allclose(facts.table["loss"], facts.table["said"], rtol=1e-5)
    flops = facts.budgets[1]
    assert facts.fit.best_size(flops).value == pytest.approx(SMALL.scale * flops**SMALL.power, 1e-2)


def test_the_dearest_runs_are_counted_on_either_side_of_the_law():
    runs = surface(SMALL, np.geomspace(2e9, 3e10, 4), around_the_bottom)
    worse = [Trained(run.n, run.d, 1.01 * run.loss) for run in runs[-2:]]
    facts = valley_facts([*runs, *worse])
    law, most = facts.fit.law, max(6 * run.n * run.d for run in runs)
    dearest = [run for run in facts.runs if 6 * run.n * run.d == pytest.approx(most, rel=0.1)]
    above = sum(run.loss > law.loss(run.n, run.d) for run in dearest)
    assert facts.above == (above, len(dearest)) and above >= 2 and facts.n_seeds == 1


def test_too_few_runs_are_refused():
    with pytest.raises(ConfigError, match="five parameters"):
        fit_law(surface(SMALL, (1e9, 1e10), (1e3, 2e3)))


def test_a_table_is_read_with_tokens_or_flops():
    assert read_runs(b"N,D,loss\n10,20,3\n").runs == (Trained(10, 20, 3),)
    read = read_runs("Params;Compute;Val_Loss\n10;1_200;3\nx;1;1\n5;-1;2\n".encode("utf-8-sig"))
    assert read.runs == (Trained(10, 20, 3),) and read.n_left_out == 2


@pytest.mark.parametrize(
    "raw", [b"", b"a,b\n1,2", b"N,loss\n1,2", b"N,D,loss\n" + b"1,1,1\n" * 501]
)
def test_a_table_that_cannot_be_read_says_why(raw: bytes):
    with pytest.raises(ConfigError):
        read_runs(raw)


def test_the_entropy_of_a_source_is_that_of_its_rows():
    """Held by hand for two symbols: the next one depends on the one before alone."""
    stay = 0.9
    one = np.array([[stay, 1 - stay], [1 - stay, stay]])
    source = MarkovSource(np.broadcast_to(one, (2, 2, 2)))
    assert np.allclose(source.pairs, one / 2)
    rate = -(stay * math.log(stay) + (1 - stay) * math.log(1 - stay))
    assert source.entropy_rate == pytest.approx(rate) == source.entropy_after_one
    assert source.entropy_of_one == pytest.approx(math.log(2))


def test_drawn_text_has_the_entropy_that_is_told():
    source, n = markov_source(), 4000
    rows = source.draw(n, 17, generator(0))
    likely = source.expected(rows[:, :-1]).gather(-1, rows[:, 1:, None])[..., 0]
    nats = -likely.log().mean(1)
    spread = float(nats.std()) / math.sqrt(n)
    assert float(nats.mean()) == pytest.approx(source.least_loss(16), abs=4 * spread)
    pairs = torch.bincount(rows[:, 8] * source.n_symbols + rows[:, 9], minlength=4096) / n
    assert np.abs(pairs.numpy() - source.pairs.ravel()).sum() < 0.6  # 4,000 draws of 4,096 cells


def test_the_entropy_of_a_story_is_that_of_all_stories():
    """Every choice of a small grammar is written out, with how often each text is told."""
    people = ({"": "A", "they": "x"}, {"": "B", "they": "x"}, {"": "C", "they": "y"})
    plain = ({"": "1"}, {"": "2"}, {"": "3"})
    grammar = Grammar(
        words={"person": people, "thing": plain, "colour": plain},
        categories={"hero": "person", "friend": "person", "thing": "thing", "colour": "colour"},
        plots=(
            (
                ("{hero} {thing}.",),
                ("", "{hero:they} {colour}."),
                ("{friend} {colour}!", "{friend}"),
            ),
            (("{friend} saw {hero}.", "{hero} met {friend}."), ("{colour} {thing}.",)),
        ),
        separator=" ",
        held_out_every=4,
    )
    told: Counter[str] = Counter()
    for plot in grammar.plots:
        for templates in product(*plot):
            for hero, friend, thing, colour in product(range(3), repeat=4):
                if hero != friend and not grammar.is_held_out(hero, thing):
                    words = {"hero": hero, "friend": friend, "thing": thing, "colour": colour}
                    parts = [grammar._fill(each, words) for each in templates if each]
                    told[" ".join(parts)] += 1 / math.prod(map(len, plot))
    likely = np.array([*told.values()]) / sum(told.values())
    assert story_entropy(grammar) == pytest.approx(-(likely * np.log(likely)).sum())


def test_the_noise_scale_of_a_quadratic_is_found():
    """Gradients of |θ − x|² / 2 with x ~ N(0, 2² · 1): |G|² = |θ|² and tr(Σ) = 2² · n exactly."""
    n, small = 50, 8
    drawn = 2 * torch.randn(4000, small, n, generator=generator(0))
    found = noise_of((torch.ones(n) - drawn).mean(1), small)
    assert found.signal == pytest.approx(n, rel=0.01)
    assert found.scale == pytest.approx(4, rel=0.02)


def test_the_critical_batch_of_exact_updates_is_found():
    found = [Reached(size, 40 + 3000 / size, 0.01, 60.0) for size in (4, 32, 256)]
    assert fit_of([*found, Reached(2, math.inf, 0.01, 60.0)]).critical == pytest.approx(75)


def test_what_repeated_text_is_worth_is_read_off_fresh_text():
    """Losses that fall as a power of the tokens, of repeated text as of so many fresh ones."""
    once = [Learned(1, n, 9 * n**-0.4) for n in (512, 128, 256)]
    again = [Learned(2, 256, 9 * 500**-0.4), Learned(4, 128, 9 * 384**-0.4)]
    assert worth([*once, *again]) == pytest.approx({2: 500 / 256, 4: 3})
    assert expected_worth(1) == 1 and expected_worth(1e9) == pytest.approx(1 + MUENNIGHOFF)


def test_recorded_trainings_come_out_the_same_again():
    """The cheapest of two series: of other code their records would be those of yesterday."""
    cheapest = recorded(RepeatedData())[-1]
    again = learned(cheapest.epochs, cheapest.unique // BATCH // SEQ_LEN, 0)
    assert again.excess == pytest.approx(cheapest.excess, rel=0.01)
    search = shipped_searches()[0]
    assert next(search.results(())).loss == pytest.approx(recorded(search)[0].loss, rel=0.01)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_update_under_mup_does_the_same_at_every_width(optimizer: OptimizerKind):
    config = PRESETS["course"].replace(d_model=16, n_heads=2, d_ff=32, n_layers=1)
    check = CoordinateCheck(config, optimizer)
    found = [*check.results(())]
    for scheme in Scheme:
        of = [each for each in found if each.scheme is scheme]
        slopes = [slope(widths_of(config), [each.logits[-1] for each in of])]
        slopes.append(slope(widths_of(config), [each.stream[-1] for each in of]))
        assert (max(map(abs, slopes)) < 0.1) is (scheme is Scheme.MUP)


def test_the_best_rate_is_that_of_the_least_loss():
    tried = [Tried(Scheme.MUP, 8, rate, loss) for rate, loss in ((1, 3), (2, 1), (4, math.inf))]
    assert best_rates(tried, Scheme.MUP) == {8: 2} and best_rates(tried, Scheme.STANDARD) == {}
