"""Why /√d_head: without it, wide heads see one key alone."""

import math

import pytest
import torch

from blocks.inspection.scaling import (
    D_HEADS,
    Divisor,
    ScoreMeasure,
    random_scores_facts,
    random_sharpness,
    sharpness,
)
from blocks.model.masks import causal, everyone

MASK = everyone(16)


def test_even_scores_are_as_spread_as_can_be():
    found = sharpness(torch.zeros(2, 16, 16), MASK)
    assert found.entropy_bits == pytest.approx(4)
    assert found.largest_weight == pytest.approx(1 / 16)
    assert found.slope == pytest.approx(1 - 1 / 16)


def test_one_large_score_is_everything():
    scores = torch.zeros(16, 16)
    scores[:, 3] = 1e4
    found = sharpness(scores, MASK)
    assert (found.entropy_bits, found.largest_weight, found.slope) == (0, 1, 0)


def test_only_queries_with_a_choice_count():
    found = sharpness(torch.zeros(4, 4), causal(4))
    assert found.entropy_bits == pytest.approx((1 + math.log2(3) + 2) / 3)
    assert sharpness(torch.zeros(1, 1), everyone(1)).largest_weight == 1


def test_without_division_the_spread_of_scores_grows_as_the_root_of_the_width():
    table = random_sharpness(MASK, seed=0).set_index(["is_scaled", "d_head"])
    assert table.loc[True]["score_std"].to_numpy() == pytest.approx(1, rel=0.15)
    expected = [d_head**0.5 for d_head in D_HEADS]
    assert table.loc[False]["score_std"].to_numpy() == pytest.approx(expected, rel=0.15)
    entropy = table["entropy_bits"]
    assert entropy[False].is_monotonic_decreasing
    assert entropy[False, 512] < 0.3 < 2.5 < entropy[True].min()
    assert table["largest_weight"][False, 512] > 0.9 > 0.5 > table["largest_weight"][True].max()
    assert table["slope"][False, 512] < 0.1
    assert entropy[True, 1] == entropy[False, 1]


def test_a_seed_is_a_drawing():
    assert random_sharpness(MASK, 1).equals(random_sharpness(MASK, 1))
    assert not random_sharpness(MASK, 1).equals(random_sharpness(MASK, 2))


def test_divided_by_the_width_itself_scores_shrink_until_all_keys_are_alike():
    found = random_scores_facts(0, ScoreMeasure.SPREAD, Divisor.WIDTH)
    assert found.drawn == tuple(Divisor)
    expected = [d_head**-0.5 for d_head in D_HEADS]
    assert found.curve(Divisor.WIDTH).to_numpy() == pytest.approx(expected, rel=0.15)
    largest = random_scores_facts(0, ScoreMeasure.LARGEST, Divisor.ROOT)
    assert largest.drawn == (Divisor.NOTHING, Divisor.ROOT)
    assert largest.curve(Divisor.WIDTH)[512] == pytest.approx(1 / 16, rel=0.15)
    known = random_sharpness(MASK, 0).set_index(["is_scaled", "d_head"])["largest_weight"]
    assert largest.curve(Divisor.ROOT).to_numpy() == pytest.approx(known[True].to_numpy())
