"""Phase changes: each question shows its run, moves through it, and trains what does not ship."""

import pytest
from opened import opened

from blocks.phases.clock import Clock
from blocks.training.tasks import TaskKind
from pages.panels.phases import grokking, shared

PAGE = "pages/phases.py"


@pytest.mark.parametrize(
    ("panel", "link"),
    [
        ("grokking", {"clock_step": "0"}),
        ("circle", {"key_frequency": "5"}),
        ("induction-head", {"clock_step": "120"}),
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
    assert facts.restricted_at < facts.jump < facts.excluded_at
    said = grokking.says_order(facts)
    assert f"{facts.jump - facts.restricted_at} updates before the jump" in said
    assert f"{facts.excluded_at - facts.jump} updates after the jump" in said
    assert "at the jump" in grokking._order(0, 0)
