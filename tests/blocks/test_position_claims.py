"""Claims about positions, over random configurations and in cases whose answer is known."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import assert_near, draw, toy

from blocks import ConfigError, build
from blocks.cost.peak_memory import TensorMemory
from blocks.inspection.position_claims import (
    Claim,
    Verdict,
    fitted_shift,
    linear_shift,
    new_order,
    permutation,
    shift_matrix,
    unique,
    verdicts,
)
from blocks.inspection.position_tables import place_codes
from blocks.model.kinds import NormPlacement, PositionKind
from blocks.model.positions import Rope, alibi_slopes, sinusoidal_table
from blocks.weights import load_weights, read_weights

CONFIGS = st.fixed_dictionaries(
    {
        "n_heads": st.sampled_from([1, 2, 4]),
        "n_layers": st.integers(1, 2),
        "d_model": st.sampled_from([8, 16, 24]),
        "norm_placement": st.sampled_from([str(kind) for kind in NormPlacement]),
        "norm_kind": st.sampled_from(["layernorm", "rmsnorm", "none"]),
        "architecture": st.sampled_from(["block", "encoder", "gpt"]),
        "position_kind": st.sampled_from(["none", "sinusoidal", "learned", "alibi", "rope"]),
        "attention_bias": st.booleans(),
    }
)
TOLD = {  # what is true of each kind; None: nothing is said
    PositionKind.NONE: (False, None, None, True, True),
    PositionKind.SINUSOIDAL: (True, True, True, False, False),
    PositionKind.LEARNED: (True, True, False, False, False),
    PositionKind.ROPE: (True, True, True, True, False),
    PositionKind.ALIBI: (True, None, None, True, False),
}


def measured(changes: dict, kind: PositionKind, seed: int, n: int, shift: int):
    config = toy(vocab_size=50, max_seq_len=32, **changes)
    random = torch.Generator().manual_seed(seed)
    is_block = config.architecture == "block"
    tokens = torch.randint(50, (1, 9), generator=random)
    values = draw(1, 9, config.d_model, seed=seed) if is_block else tokens
    model = build(config, seed=seed)
    return verdicts(model, config, kind, values, n=n, shift=shift, token=1, seed=seed)


@settings(max_examples=25)
@given(
    changes=CONFIGS,
    kind=st.sampled_from(list(PositionKind)),
    seed=st.integers(0, 1000),
    n=st.integers(12, 32),
    shift=st.integers(1, 6),
)
def test_claims_hold_over_random_configurations(changes, kind, seed, n, shift):
    found = measured(changes, kind, seed, n, shift)
    assert [verdict.claim for verdict in found] == list(Claim)
    told = list(TOLD[kind])
    if kind is PositionKind.ALIBI:  # a gentle slope and few positions keep its bias small
        told[1] = max(alibi_slopes(changes["n_heads"])) * (n - 1) <= 1
    assert [verdict.holds for verdict in found] == told


@settings(max_examples=10)
@given(changes=CONFIGS, seed=st.integers(0, 1000))
def test_a_causal_mask_tells_order_without_positions(changes, seed):
    order = measured(changes, PositionKind.NONE, seed, 12, 1)[-1]
    assert order.measured < 1e-5 and order.extra > 100 * order.limit


@settings(max_examples=8)
@given(seed=st.integers(0, 1000), shift=st.integers(1, 6))
def test_rope_deviates_by_rounding_only(seed, shift):
    distance = measured({}, PositionKind.ROPE, seed, 32, shift)[3]
    assert distance.measured < 1e-5 and distance.extra < 1e-12


def test_the_matrix_turns_and_turns_back():
    matrix = shift_matrix(Rope(16), 5)
    assert_near(matrix @ matrix.T, torch.eye(16, dtype=torch.float64))
    assert_near(matrix @ shift_matrix(Rope(16), -5), torch.eye(16).double())
    table = sinusoidal_table(40, 16).double()
    assert_near(matrix @ table[7], table[12])


def test_an_odd_width_has_no_exact_matrix():
    config = toy(d_model=7, n_heads=1)
    told = place_codes(config, PositionKind.SINUSOIDAL, 30, draw(8, 7))
    assert linear_shift(config, PositionKind.SINUSOIDAL, told, 3).holds is False


def test_a_fit_is_measured_where_it_was_not_fitted():
    matrix, errors = fitted_shift(sinusoidal_table(60, 8), 2)
    assert errors.abs().max() < 1e-3
    assert_near(matrix, shift_matrix(Rope(8), 2), tolerance=0.05)
    _matrix, errors = fitted_shift(draw(20, 64), 1)  # more features than positions
    assert errors.square().mean() > 0.5


def test_two_equal_rows_are_found():
    rows = draw(6, 4)
    assert unique(rows).holds is True
    rows[4] = rows[1]
    assert unique(rows).holds is False
    assert unique(rows[:1]).holds is None


def test_a_verdict_is_a_number_against_a_limit():
    assert Verdict(Claim.BOUNDED, 1.0, 1.0).holds is True
    assert Verdict(Claim.BOUNDED, 1.1, 1.0).holds is False
    assert Verdict(Claim.UNIQUE, 0.0, 0.0, must_exceed=True).holds is False
    assert Verdict(Claim.SHIFT, None, 1.0).holds is None


def test_one_token_cannot_be_permuted():
    config = toy()
    values = draw(1, 1, 16)
    model = build(config)
    found = verdicts(model, config, PositionKind.NONE, values, n=2, shift=1, token=0, seed=0)
    assert found[-1].measured is None
    assert all(sorted(new_order(n, 0).tolist()) == list(range(n)) for n in (2, 3, 9))
    assert all(not torch.equal(new_order(2, seed), torch.arange(2)) for seed in range(20))


def test_a_text_longer_than_a_learned_table_is_not_permuted():
    config = toy(position_kind="learned", max_seq_len=4)
    values = draw(1, 6, 16)
    model = build(config.replace(position_kind="none"))
    own = build(config)
    found = verdicts(own, config, PositionKind.LEARNED, values, n=4, shift=1, token=0, seed=0)
    assert found[-1].measured is None and found[3].measured is not None
    drawn = config.replace(position_kind="none")
    found = verdicts(model, drawn, PositionKind.LEARNED, values, n=4, shift=1, token=0, seed=0)
    assert found[-1].holds is False


def test_what_a_window_hides_says_nothing_of_distance():
    config = toy(local_window=3, position_kind="rope")
    model, values = build(config), draw(1, 3, 16)
    found = verdicts(model, config, PositionKind.ROPE, values, n=9, shift=1, token=0, seed=0)
    distance = next(each for each in found if each.claim is Claim.DISTANCE)
    assert 0 <= distance.measured <= distance.limit and distance.holds


def test_heads_of_odd_width_cannot_turn():
    config = toy(d_model=6, n_heads=2)
    model, values = build(config), draw(1, 3, 6)
    with pytest.raises(ConfigError, match="odd"):
        verdicts(model, config, PositionKind.ROPE, values, n=4, shift=1, token=0, seed=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_tested_in_float32(dtype: torch.dtype):
    config = toy()
    model, values = build(config, dtype=dtype), draw(1, 5, 16).to(dtype)
    found = verdicts(model, config, PositionKind.ROPE, values, n=16, shift=2, token=0, seed=0)
    assert tuple(verdict.holds for verdict in found) == TOLD[PositionKind.ROPE]


def test_a_large_model_is_not_copied_whole_to_be_read_in_float32():
    sizes = {"architecture": "gpt", "n_layers": 12, "d_model": 64, "vocab_size": 8}
    config = toy(**sizes, max_seq_len=16)
    narrow = build(config, dtype=torch.bfloat16)
    wide, kind = build(config), PositionKind.ROPE
    load_weights(wide, read_weights(narrow))
    ids = torch.arange(6)[None] % 8
    with TensorMemory() as memory:
        found = permutation(narrow, config, kind, ids, seed=0)
    assert found == permutation(wide, config, kind, ids, seed=0)
    assert {each.dtype for each in narrow.parameters()} == {torch.bfloat16}
    assert memory.peak_bytes < sum(each.nbytes for each in wide.parameters()) / 4
