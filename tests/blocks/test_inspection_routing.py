"""Routing, other widths, shuffled tokens: planted cases, formulas, properties."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode
from toy import D_FF, D_MODEL, SEQ_LEN, draw, scramble, toy, toy_input

from blocks import build, record
from blocks.inspection import permuted, ratios, routing, wide
from blocks.model.attention import Attention
from blocks.model.experts import build_feed_forward
from blocks.model.kinds import Activation
from blocks.model.masks import causal
from blocks.model.models import count_built

FLOAT_ROUNDING = 1e-5


def alone(**changes):
    return wide.layer_alone(toy(**changes), 0, seed=0, device="cpu", dtype=torch.float32)


def planted(capacity: float = 0.0, n_active: int = 1):
    """Feature i of a token asks for expert i, of four."""
    changes = {"n_experts": 4, "n_active_experts": n_active, "expert_capacity": capacity}
    layer = alone(**changes)
    with torch.no_grad():
        layer.router.weight.copy_(10 * torch.eye(4, D_MODEL))
    return layer


def sent(layer, *features: int, capacity: float = 0.0) -> routing.Routing:
    x = torch.eye(D_MODEL)[list(features)][None]
    return routing.routing(wide.pass_alone(layer, x), 0, capacity)


def test_a_dense_layer_in_place_of_fine_experts_is_as_wide_as_d_ff():
    fine = toy(n_experts=4, n_active_experts=2, d_expert=6, n_shared_experts=1)
    mixture, dense, wide = routing.layout_facts(fine).layouts
    assert mixture.flops == 2 * 2 * D_MODEL * 3 * 6 + 2 * D_MODEL * 4
    assert dense.flops == 2 * 2 * D_MODEL * D_FF
    assert wide.flops == 2 * 2 * D_MODEL * 5 * 6


def test_the_load_is_who_was_planted():
    found = sent(planted(), 2, 0, 2, 3, 2)
    table = routing.load(found)
    assert table["asked"].tolist() == table["kept"].tolist() == [1, 0, 3, 1]
    assert table["dropped"].sum() == 0 and found.room == 0
    assert found.weight.tolist() == [[1]] * 5


def test_the_capacity_drops_who_comes_last():
    found = sent(planted(1.0), 2, 0, 2, 3, 2, 2, capacity=1.0)
    table = routing.load(found)
    assert found.room == 2
    assert table["kept"].tolist() == [1, 0, 2, 1] and table["dropped"].tolist() == [0, 0, 2, 0]
    assert routing.passed_by(found).tolist() == [False] * 4 + [True] * 2
    assert found.weight[routing.passed_by(found)].sum() == 0


def test_an_even_load_has_imbalance_one_and_a_single_expert_n():
    even = sent(planted(), 0, 1, 2, 3)
    assert routing.imbalance(even) == pytest.approx(1, abs=1e-5)
    one = sent(planted(), 1, 1, 1, 1)
    assert routing.imbalance(one) == pytest.approx(4, rel=1e-3)


@pytest.mark.parametrize("n_experts", [1, 4])
@pytest.mark.parametrize("activation", Activation)
def test_flops_are_those_that_torch_counts(activation: Activation, n_experts: int):
    config = toy(activation=activation, n_experts=n_experts)
    layer, x = build_feed_forward(config, 0), toy_input()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        layer(x)
    assert counter.get_total_flops() == 2 * SEQ_LEN * ratios.flops_per_token(config)


@pytest.mark.parametrize("changes", [{}, {"activation": "swiglu"}, {"n_experts": 4}])
@pytest.mark.parametrize("ratio", ratios.RATIOS)
def test_parameters_at_each_ratio_are_those_built(ratio: int, changes):
    config = toy(d_ff=ratio * D_MODEL, n_layers=2, **changes)
    without = count_built(config) - count_built(config.replace(attention_only=True))
    n_norms = 2 * 2 * D_MODEL  # what goes with the layer: a norm each
    assert 2 * ratios.count_wide(config) == without - n_norms


def test_the_runs_own_width_writes_what_the_run_writes():
    config = toy(n_layers=2)
    seen = record(build(config, seed=1), toy_input())
    x = seen.tensor("feed_forward_norm", 1)
    write = ratios.at_width(config, 1, x, seed=1, device="cpu", dtype=torch.float32)
    assert torch.equal(write, seen.tensor("feed_forward_out", 1))


def test_what_is_too_large_is_not_built():
    config = toy()
    need = 8 * ratios.count_wide(config)
    assert ratios.is_affordable(config, torch.bfloat16, need)
    assert not ratios.is_affordable(config, torch.bfloat16, need - 1)


@settings(max_examples=25)
@given(st.sampled_from(Activation), st.integers(1, 12), st.integers(0, 99))
def test_feed_forward_commutes_with_any_order(activation: Activation, n: int, seed: int):
    layer, x = alone(activation=activation), draw(2, n, D_MODEL, seed=seed)
    order = permuted.permutation(n, seed)
    assert permuted.shuffle_difference(layer, x, order) < FLOAT_ROUNDING


@settings(max_examples=25)
@given(st.integers(2, 12), st.integers(0, 99))
def test_attention_does_so_only_without_mask(n: int, seed: int):
    attention, x = scramble(Attention(toy())), draw(1, n, D_MODEL, seed=seed)
    order, mask = permuted.permutation(n, seed), causal(n)
    assert permuted.shuffle_difference(attention, x, order) < FLOAT_ROUNDING
    assert permuted.shuffle_difference(lambda x: attention(x, mask), x, order) > FLOAT_ROUNDING


def test_rotary_positions_break_it_too():
    attention = scramble(Attention(toy(position_kind="rope")))
    order = permuted.permutation(SEQ_LEN, 0)
    assert permuted.shuffle_difference(attention, toy_input(), order) > FLOAT_ROUNDING


def test_a_capacity_breaks_it_for_experts():
    order, x = (
        torch.tensor([3, 2, 1, 0]),
        torch.eye(D_MODEL)[[2, 2, 2, 2]][None] + draw(1, 4, 16) / 9,
    )
    assert permuted.shuffle_difference(planted(0.0), x, order) < FLOAT_ROUNDING
    assert permuted.shuffle_difference(planted(1.0), x, order) > FLOAT_ROUNDING


@settings(max_examples=30)
@given(st.integers(1, 40), st.integers(0, 999))
def test_an_order_is_another_order(n: int, seed: int):
    order = permuted.permutation(n, seed).tolist()
    assert sorted(order) == [*range(n)]
    assert n == 1 or order != [*range(n)]


def test_orders_are_backwards_and_others():
    first, *others = permuted.orders(5, 0, 4)
    assert first.tolist() == [4, 3, 2, 1, 0]
    assert all(sorted(order.tolist()) == [*range(5)] for order in others) and len(others) == 3


def test_the_token_that_is_changed_is_one_that_others_see():
    mask = causal(4)
    assert permuted.reaching_token(None, 3) == 3
    assert permuted.reaching_token(mask, 2) == 2
    assert permuted.reaching_token(mask, 3) == 0  # nobody follows the last
    assert permuted.reaching_token(torch.eye(4, dtype=torch.bool), 3) == 3
    assert mask.diagonal().all()  # left as it was


def test_one_changed_token_reaches_those_who_may_see_it():
    attention, mask, x = scramble(Attention(toy())), causal(SEQ_LEN), toy_input()
    moved = permuted.reach_of(lambda x: attention(x, mask), x, 2, 0)
    assert (moved > 0).tolist() == [False, False, True, True, True]
    alone_moved = permuted.reach_of(alone(), x, 2, 0)
    assert (alone_moved > 0).tolist() == [False, False, True, False, False]


def test_a_change_from_nothing_counts_as_one():
    moved = permuted.reach_of(
        lambda x: torch.relu(x - 9) * 0 + (x != 0), torch.zeros(1, 2, 4), 0, 0
    )
    assert moved.tolist() == [0, 0]
    assert permuted.reach_of(lambda x: x * (x != 1), torch.ones(1, 2, 4), 0, 0).tolist() == [1, 0]
