"""Ways to attend, against the full one."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import assert_near, draw

from blocks.model.attention import attention_pattern, attention_scores
from blocks.model.attention_kinds import (
    AttentionKind,
    Reach,
    attend_as,
    default_reach,
    feature_map,
    full,
    fused,
    linear,
    mask_of,
    pairs_scored,
    pattern_of,
    strided,
    window,
)

N, D_HEAD = 37, 8
Q, K, V = (draw(2, 3, N, D_HEAD, seed=seed) for seed in range(3))


def masked(mask: torch.Tensor) -> torch.Tensor:
    return attention_pattern(attention_scores(Q, K, mask), mask) @ V


def test_fused_gives_what_full_gives():
    assert_near(fused(Q, K, V), full(Q, K, V))


@pytest.mark.parametrize("kind", AttentionKind)
def test_every_kind_gives_what_its_map_says(kind: AttentionKind):
    reach = Reach(window=5, stride=6)
    assert_near(attend_as(kind, reach)(Q, K, V), pattern_of(kind, reach, Q, K) @ V)


@pytest.mark.parametrize("size", [N, N + 5, 64])
def test_a_window_over_everything_is_full(size: int):
    assert_near(window(Q, K, V, size), full(Q, K, V))
    assert_near(strided(Q, K, V, size), full(Q, K, V))


def test_with_stride_one_everything_is_seen():
    assert_near(strided(Q, K, V, 1), full(Q, K, V))


def test_linear_is_its_quadratic_form():
    q, k = feature_map(Q).double(), feature_map(K).double()
    weights = torch.einsum("bhid,bhjd->bhij", q, k).tril()
    theirs = torch.einsum("bhij,bhjd->bhid", weights / weights.sum(-1, keepdim=True), V.double())
    assert_near(linear(Q, K, V), theirs.float())


@settings(max_examples=30)
@given(n=st.integers(1, 80), size=st.integers(1, 20), kind=st.sampled_from(AttentionKind))
def test_any_length_and_reach(n: int, size: int, kind: AttentionKind):
    q, k, v = (draw(1, 1, n, 4, seed=seed) for seed in range(3))
    reach = Reach(window=size, stride=size)
    found = attend_as(kind, reach)(q, k, v)
    assert found.shape == q.shape and found.isfinite().all()
    assert_near(found, pattern_of(kind, reach, q, k) @ v)


@pytest.mark.parametrize("kind", AttentionKind)
def test_weights_sum_to_one_and_none_looks_ahead(kind: AttentionKind):
    pattern = pattern_of(kind, default_reach(N), Q, K)
    assert_near(pattern.sum(-1), torch.ones_like(pattern.sum(-1)))
    assert (pattern.triu(1) == 0).all()


@given(n=st.integers(1, 80), window=st.integers(1, 100), stride=st.integers(1, 20))
def test_as_many_pairs_are_scored_as_the_mask_holds(n: int, window: int, stride: int):
    reach = Reach(window, stride)
    for kind in {*AttentionKind} - {AttentionKind.LINEAR}:
        assert pairs_scored(kind, reach, n) == mask_of(kind, reach, n).sum()


def test_pairs_are_counted():
    reach = Reach(window=4, stride=6)
    full_pairs = N * (N + 1) // 2
    assert pairs_scored(AttentionKind.FUSED, reach, N) == full_pairs
    assert pairs_scored(AttentionKind.WINDOW, reach, N) == 4 * N - 6
    assert pairs_scored(AttentionKind.LINEAR, reach, N) == N
    assert pairs_scored(AttentionKind.STRIDED, reach, N) < full_pairs


def test_strided_grows_like_n_times_its_root():
    small, large = (pairs_scored(AttentionKind.STRIDED, default_reach(n), n) for n in (1024, 4096))
    assert large / small == pytest.approx(8, rel=0.1)


def test_the_sparse_mask_is_that_of_child_et_al():
    seen = mask_of(AttentionKind.STRIDED, Reach(window=1, stride=3), 8)
    assert seen[7].tolist() == [False, True, False, False, True, True, True, True]
