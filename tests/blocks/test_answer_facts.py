"""Answers that a smaller model loses, against the score that counts the same questions."""

import pytest

from blocks.efficiency.answer_facts import MOST_SHOWN, answer_facts, is_asked_whole
from blocks.efficiency.compression import Calibrated, compress
from blocks.efficiency.frontier import measure_compression
from blocks.efficiency.names import compression_of
from blocks.weights.pocket import pocket


@pytest.fixture(scope="module")
def sort() -> Calibrated:
    return Calibrated(pocket("sort"))


def test_what_is_lost_is_what_the_score_falls_by(sort):
    how = compression_of("int4-group32")
    facts, measured = answer_facts(sort, compress(sort, how)), measure_compression(sort, how)
    assert facts.n_right / facts.n == pytest.approx(measured.score)
    assert facts.n_right_before == facts.n and facts.n_lost == facts.n - facts.n_right > 0
    assert facts.n_gained == 0 and len(facts.lost) == min(facts.n_lost, MOST_SHOWN)
    for lost in facts.lost:
        assert lost.right == "".join(sorted(lost.asked)) != lost.said


def test_a_model_loses_nothing_against_itself(sort):
    facts = answer_facts(sort, sort.file)
    assert (facts.n_lost, facts.n_gained, facts.lost) == (0, 0, ())


@pytest.mark.parametrize(
    ("name", "is_whole"), [("translator", True), ("sort", True), ("stories-en-zh", False)]
)
def test_questions_that_are_right_or_wrong_are_known(name: str, is_whole: bool):
    assert is_asked_whole(Calibrated(pocket(name))) is is_whole
