"""Phase changes: each question shows its run, moves through it, and trains what does not ship."""

import pytest
from opened import opened

from blocks.phases.clock import Clock
from blocks.phases.setups import SETUPS
from blocks.training.tasks import TaskKind
from pages.panels.phases import grokking, shared

PAGE = "pages/phases.py"


@pytest.mark.parametrize(
    ("panel", "link"),
    [
        ("grokking", {"clock_step": "0"}),
        ("circle", {"key_frequency": "5"}),
        ("induction-head", {"induction_step": "120"}),
        ("superposition", {}),
        ("dictionary", {}),
        ("branch", {}),
    ],
)
def test_a_question_shows_the_run_that_ships(panel: str, link: dict):
    at = opened(PAGE, panel=panel, **link)
    assert not at.exception


def test_each_measure_is_placed_by_the_run_before_the_jump_or_after_it():
    facts = shared.facts_of(Clock(kind=TaskKind.MODULAR_ADDITION), 0)
    assert max(facts.restricted_at, facts.excluded_at, facts.memorized.step) < facts.jump
    said = grokking.says_order(facts)
    for step in (facts.restricted_at, facts.excluded_at):
        assert f"{facts.jump - step} updates before the jump" in said
    assert "after the jump" in grokking._distance(2, 1)
    assert "at the jump" in grokking._distance(0, 0)


def test_what_is_learned_is_said_first_and_what_the_curves_do_by_the_run():
    facts = shared.facts_of(Clock(kind=TaskKind.MODULAR_ADDITION), 0)
    assert "41 + 30 = 71, which is 59 + 12" in grokking.says_when(facts).split(". ")[0]
    assert set(grokking.LEARNS) == set(SETUPS)
    other = shared.facts_of(Clock(kind=TaskKind.MODULAR_SUBTRACTION), 0)  # three in four by then
    assert "grokking" in grokking.says_when(facts) and "grokking" not in grokking.says_when(other)
    shares = facts.table.set_index("step")[["learned_accuracy", "accuracy"]]
    for share in shares:
        start, end, way = facts.stretch(share)
        assert way == end - start == 240
        assert shares[share][start - 80] < 0.1 <= shares[share][start]
        assert shares[share][end - 80] < 0.9 <= shares[share][end]
    low, high = (each.weight_norm for each in facts.norm_turns)
    assert facts.kept[0].weight_norm > high > low > facts.last.weight_norm
