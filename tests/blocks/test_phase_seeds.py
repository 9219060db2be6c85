"""What the page of phase changes says of its runs holds for other seeds too: whole trainings."""

import pytest

from blocks.phases.clock import Clock
from blocks.phases.facts import InductionFacts, SumFacts, clock_facts
from blocks.phases.superposition import Dictionary, Toy
from blocks.training.tasks import TaskKind

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(900)]
SEEDS = range(5)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_sum_is_learned_by_heart_first_and_then_on_a_few_circles(seed: int):
    clock = Clock(kind=TaskKind.MODULAR_ADDITION, seed=seed)
    facts = clock_facts(clock, [*clock.results(())], 0)
    assert isinstance(facts, SumFacts) and facts.has_learned
    assert facts.memorized and facts.memorized.accuracy < 0.1
    assert max(facts.restricted_at, facts.excluded_at) < facts.jump
    assert facts.excluded_rise[1] > facts.excluded_rise[0] + 0.5
    assert facts.memorized.step < facts.jump < facts.learned_at
    assert len(facts.keys) <= 6 and facts.key_share() >= 0.8
    assert facts.lost > facts.guess
    assert facts.kept_without_others < facts.whole[-1] + 0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_repetition_rests_on_the_induction_heads_together_and_on_none_alone(seed: int):
    clock = Clock(kind=TaskKind.INDUCTION, seed=seed)
    facts = clock_facts(clock, [*clock.results(())], 0)
    assert isinstance(facts, InductionFacts) and facts.has_learned
    assert abs(facts.formed_at - facts.jump) <= 30
    assert facts.returned("without_found") > 1 and abs(facts.returned("without_one")) < 0.05
    assert facts.diagonal("ov", -1) > 0.8 and facts.diagonal("qk", -1) > 0.6
    removed = facts.removed
    assert removed["previous"][1] > 1 > removed["others"].iloc[-2]


@pytest.mark.parametrize("seed", SEEDS)
def test_sparse_features_share_two_dimensions_as_a_pentagon(seed: int):
    *_, dense = Toy(seed=seed, sparsity=0.0).results(())
    *_, sparse = Toy(seed=seed, sparsity=0.97).results(())
    assert dense.n_kept == 2 and sparse.n_kept == 5
    assert sparse.gaps == pytest.approx([72] * 5, abs=3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_dictionary_finds_all_forty_features_again(seed: int):
    *_, last = Dictionary(seed=seed).results(())
    assert last.n_found == 40
