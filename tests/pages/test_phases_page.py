"""Phase changes: each question shows its run, moves through it, and trains what does not ship."""

from dataclasses import replace

import numpy as np
import pytest
from opened import opened

from blocks.phases.clock import Change, Clock
from blocks.phases.setups import SETUPS
from blocks.phases.superposition import Toy
from blocks.training.tasks import TaskKind
from pages.figures.drawn_chart import drawn
from pages.panels.phases import branch, circle, grokking, shared, superposition

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


def test_a_circle_is_called_so_where_the_numbers_lie_on_one_and_its_neighbors_are_told():
    facts = shared.facts_of(Clock(kind=TaskKind.MODULAR_ADDITION), 2000)
    said = "Neighbors on the circle differ by 5, because 5 · 12 = 1 · 59 + 1,"
    assert said in circle.says_wobble((facts, 0))
    at_start = shared.facts_of(Clock(kind=TaskKind.MODULAR_ADDITION), 0)
    for scattered in ((facts, facts.keys.index(6)), (at_start, 0)):
        assert "do not lie on a circle" in circle.says_circle(scattered)
        assert "Neighbors" not in circle.says_wobble(scattered)
    other = shared.facts_of(Clock(kind=TaskKind.MODULAR_SUBTRACTION), 2000)
    assert "differ by 17, because 17 · 7 = 2 · 59 + 1," in circle.says_wobble((other, 1))
    assert "differ by 29, because 29 · 2 = 1 · 59 − 1," in circle.says_wobble((other, 0))
    assert drawn(circle.spectrum(other)).parts["layout"]["barmode"] == "stack"
    assert drawn(circle.circle((facts, 0))).parts["layout"]["yaxis"]["scaleanchor"] == "x"


def test_the_angles_of_two_numbers_make_that_of_the_answer():
    for kind, sign in ((TaskKind.MODULAR_ADDITION, 1), (TaskKind.MODULAR_SUBTRACTION, -1)):
        facts = shared.facts_of(Clock(kind=kind), 2000)
        turned = facts.turned(0)
        a, b = np.indices((59, 59))
        off = (turned[a] + sign * turned[b] - turned[(a + sign * b) % 59] + 180) % 360 - 180
        assert turned[0] == 0 and abs(off).mean() < 10  # a quarter turn by chance
        said, made = circle.says_circle((facts, 0)), (turned[[41, 30][::sign]]).round()
        assert f"{made[0]:.0f}°" in said and f"{made[1]:.0f}°" in said
        names = {*drawn(circle.circle((facts, 0))).parts["data"][0]["text"]}
        assert names >= {"0", "41", "30", {1: "12", -1: "48"}[sign]}
    middle = shared.facts_of(Clock(kind=TaskKind.MODULAR_ADDITION), 800)
    first = circle.says_circle((middle, 0)).split(". ")
    assert "of 29 frequencies hold" in first[0] and first[1].startswith("At step 800, they hold")


def test_the_share_of_a_dimension_is_that_of_every_feature():
    facts = superposition.toy_facts(Toy(sparsity=0.9), 0)
    last = facts[1][-1]
    kept = last.dimensionality[last.lengths > superposition.superposition.KEPT_ABOVE]
    least, most = round(100 * kept.min()), round(100 * kept.max())
    said = superposition.says_toy(facts)
    assert f"{least}% to {most}%" in said if least < most else f"has {least}% of" in said
    assert drawn(superposition.polygon(facts)).parts["layout"]["yaxis"]["scaleanchor"] == "x"


def test_a_training_that_is_under_way_shows_its_losses_so_far():
    series = Clock(kind=TaskKind.INDUCTION)
    kept = shared.found(series)[:5]
    chart = shared.so_far(series, kept)
    assert [*chart.rows["step"]] == [*series.setup.steps[:5]]
    assert chart.x.ends == (0, series.setup.steps[-1])
    assert [each.value for each in chart.series] == ["loss", "held_out_loss"]


def test_what_is_not_learned_late_is_said_and_its_end_is_no_single_measurement():
    facts = shared.facts_of(Clock(kind=TaskKind.PARITY), 0)
    said = grokking.says_when(facts)
    mean = facts.table["accuracy"].to_numpy()[-5:].mean()
    assert f"answers {mean:.0%} correctly on average over the last 5" in said
    assert "Nothing is late here, for both shares differ by 5.3 percentage points" in said
    late = shared.facts_of(Clock(kind=TaskKind.MODULAR_SUBTRACTION), 0)
    assert "Nothing is late" not in grokking.says_when(late)


def test_a_branch_says_what_it_has_seen_and_when_each_answers_and_no_cause():
    trunk = Clock(kind=TaskKind.MODULAR_ADDITION)
    base = branch.branch_facts(replace(trunk, change=Change(step=400, weight_decay=0.0)))
    seen = trunk.setup.task.learned_percent
    more = replace(base, change=Change(step=400, learned_percent=90))
    share = round(100 * (1 - 10 / (100 - seen)))
    assert f"learns from {share}% of these questions" in branch.says_branch(more)
    cut = replace(base, change=Change(step=400, head=1), branch=base.trunk)
    at = base.trunk.set_index("step")["accuracy"].ge(0.9).idxmax()
    said = branch.says_branch(cut)
    assert f"at step {at:,}, the branch at step {at:,}" in said
    assert "induction" not in said and "because" not in said
    assert "at step" not in branch.says_branch(replace(cut, change=Change(step=400)))
