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
    assert max(facts.restricted_at, facts.excluded_at, facts.memorized.step) < facts.jump
    said = grokking.says_when(facts)
    for step in (facts.restricted_at, facts.excluded_at):
        assert f"{facts.jump - step} updates before the jump" in said
    assert "after the jump" in grokking._distance(2, 1)
    assert "at the jump" in grokking._distance(0, 0)
