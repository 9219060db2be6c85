"""One size doubles: which layers are measured, their FLOPs, and what is refused."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from toy import toy

from blocks.cost.flops import Pass, count_flops
from blocks.cost.operations import Phase, Tokens
from blocks.cost.pass_time import PassTime
from blocks.cost.sweep import (
    LONGEST_PASS,
    Point,
    Sweep,
    Swept,
    layer_flops,
    measure_point,
    one_layer,
    swept,
)
from blocks.cost.sweep_facts import Formats, Reading, formula_facts, steps, sweep_facts
from blocks.cost.timing import Place, Times

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
        stays = {Swept.TOKENS: 8, Swept.BATCH: 2, Swept.D_MODEL: 16, Swept.N_HEADS: 4}
        assert known == {name: stays[name] for name in known}
        assert config.d_ff == 2 * config.d_model


def test_flops_grow_as_the_formula_says():
    line = Sweep(toy(), TOKENS, Swept.TOKENS, False, Place("cpu", "float32"), 0)
    facts = formula_facts(line)
    assert facts.rows["flops"].tolist() == [line.flops(size) for size in line.sizes]
    largest = facts.rows["flops"].iloc[-3:].to_numpy()
    assert facts.exponent == pytest.approx(math.log2(largest[-1] / largest[0]) / 2)
    batches = formula_facts(replace(line, what=Swept.BATCH))
    assert batches.exponent == pytest.approx(1)


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


def line(**changes) -> Sweep:
    place = Place("cpu", "float32")
    return replace(Sweep(toy(), TOKENS, Swept.TOKENS, False, place, 0), **changes)


def known(size: int, seconds: float, n_bytes: int = 10**6) -> Point:
    return Point(size, PassTime(Times((seconds,)), n_bytes))


def test_what_does_not_fit_or_takes_too_long_is_not_measured():
    refused = measure_point(line(), 4096, (), budget=2**10)
    assert refused.time is None and refused.n_bytes > 2**10
    slow = (known(16, 0.2), known(32, 0.4))
    assert measure_point(line(), 64, slow, budget=2**30).seconds > LONGEST_PASS
    assert measure_point(line(), 16, (), budget=2**30).time is not None


def test_lines_grow_together():
    lines = line(), line(place=Place("cpu", "bfloat16"))
    assert steps(lines)[:3] == [(lines[0], 16), (lines[1], 16), (lines[0], 32)]


def test_exponents_theory_and_what_was_skipped():
    found = (known(16, 1.0), known(32, 2.0), known(64, 4.0), Point(128, n_bytes=2**40))
    facts = sweep_facts((line(),), found)
    assert facts.rows["seconds"].tolist() == [1, 2, 4]
    assert facts.exponents["seconds"]["float32"] == pytest.approx(1)
    assert facts.exponents["bytes"]["float32"] == pytest.approx(0)
    assert facts.skipped == (("float32", found[-1]),)
    assert facts.theory.iloc[-1] == pytest.approx(4)
    alike = replace(facts, exponents={of: {"float32": 1.2} for of in facts.exponents})
    assert alike.reading is Reading.ALIKE
    steep = sweep_facts((line(),), (known(16, 1.0), known(32, 8.0)))
    assert steep.reading is Reading.FASTER
    flat = sweep_facts((line(),), (known(16, 1.0), known(32, 1.1)))
    assert flat.reading is Reading.SLOWER
    heads = line(what=Swept.N_HEADS)
    assert sweep_facts((heads,), (known(1, 1.0), known(2, 1.0))).reading is Reading.HEADS


def test_formats_are_compared_at_the_longest_text_that_all_share():
    lines = line(), line(place=Place("cpu", "bfloat16"))
    found = tuple(known(n, seconds) for n, seconds in ((16, 1.0), (16, 3.0), (32, 4.0), (32, 2.0)))
    assert sweep_facts(lines, found).formats == Formats(32, 4.0, (("bfloat16", 2.0),))
    assert sweep_facts(lines, found[:3]).formats == Formats(16, 1.0, (("bfloat16", 1 / 3),))
    assert sweep_facts(lines[1:], found[1:2]).formats is None
