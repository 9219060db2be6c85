"""One size doubles: which layers are measured, their FLOPs, and what is refused."""

from itertools import pairwise

import pytest
import torch
from toy import toy

from blocks.cost.flops import Pass, count_flops
from blocks.cost.operations import Phase, Tokens
from blocks.cost.sweep import (
    Swept,
    layer_fault,
    layer_flops,
    one_layer,
    swept,
)

TOKENS = Tokens(Phase.PREFILL, 8, batch=2)


@pytest.mark.parametrize("architecture", ["block", "gpt", "encoder", "encoder-decoder"])
@pytest.mark.parametrize("what", Swept)
def test_only_what_is_named_doubles(what: Swept, architecture: str):
    cases = swept(toy(architecture=architecture), TOKENS, what)
    sizes = sorted(cases)
    assert len(sizes) >= 3
    assert all(b == 2 * a for a, b in pairwise(sizes))
    for size, (config, tokens) in cases.items():
        known = {
            Swept.TOKENS: tokens.n,
            Swept.BATCH: tokens.batch,
            Swept.D_MODEL: config.d_model,
            Swept.N_HEADS: config.n_heads,
        }
        assert known.pop(what) == size
        stays = {
            Swept.TOKENS: 8,
            Swept.BATCH: 2,
            Swept.D_MODEL: 16,
            Swept.N_HEADS: 4,
        }
        assert known == {name: stays[name] for name in known}
        assert config.d_ff == 2 * config.d_model


def test_a_head_of_its_own_width_grows_in_proportion():
    cases = swept(toy(d_head=8), TOKENS, Swept.D_MODEL)
    assert {size: config.d_head for size, (config, _) in cases.items()} == {
        size: size // 2 for size in cases
    }


def test_heads_that_share_go_on_sharing():
    cases = swept(toy(n_kv_heads=2), TOKENS, Swept.N_HEADS)
    assert {n: config.n_kv_heads for n, (config, _) in cases.items()} == {
        n: max(1, n // 2) for n in cases
    }
    flops = {n: layer_flops(*case) for n, case in cases.items()}
    products = toy(n_kv_heads=2, n_heads=4, d_head=None)
    assert flops[4] == layer_flops(products, TOKENS)


def test_illegal_widths_are_left_out():
    cases = swept(toy(position_kind="rope"), TOKENS, Swept.D_MODEL)
    assert all(config.d_head % 2 == 0 for config, _ in cases.values())


def test_flops_of_a_layer_are_its_products_and_a_little():
    config = toy(architecture="gpt", n_layers=3)
    products = int(count_flops(one_layer(config), Pass(8, 8))["flops"].sum()) * 2
    forward = layer_flops(one_layer(config), TOKENS)
    assert products < forward < 1.4 * products
    assert layer_flops(one_layer(config), TOKENS, is_backward=True) == 3 * forward


def test_what_does_not_fit_is_refused():
    fits = {"dtype": torch.float32, "budget": 2**30}
    assert layer_fault(toy(), TOKENS, **fits) is None
    fault = layer_fault(toy(), Tokens(Phase.PREFILL, 2**16), **fits)
    assert fault is not None and "GiB" in str(fault)
