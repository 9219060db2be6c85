"""Facts below the roof: what waits for what, how near it came, and a layer three ways."""

import pandas as pd
import pytest
import torch
from toy import toy

from blocks.cost import device_peak
from blocks.cost.device_peak import Bandwidth, DevicePeak, MatmulRate, Traffic
from blocks.cost.device_speed import device_speed
from blocks.cost.operations import Phase, Tokens
from blocks.cost.pass_time import PassTime
from blocks.cost.roofline import Bound, batch_at_ridge, bound_by, total_seconds
from blocks.cost.roofline_facts import Case, layer_facts, model_facts, roofline_facts
from blocks.cost.timing import Place, Times

GPT = toy(architecture="gpt", n_layers=3, vocab_size=11)
PLACE = Place("cpu", "float32")
PEAK = DevicePeak(flops_per_s=1e12, bytes_per_s=1e11, start_seconds=1e-12)
BUDGET = 2**30


def case_of(phase: Phase = Phase.PREFILL, n: int = 8, **changes) -> Case:
    return Case(GPT.replace(**changes), Tokens(phase, n, 2), PLACE, seed=0)


def test_every_operation_waits_for_one_thing():
    facts = roofline_facts(case_of(), PEAK, {}, BUDGET)
    waiting = [name for bound in Bound for name in facts.bound_by(bound)]
    assert sorted(waiting) == sorted(facts.rows["operation"])
    assert not facts.is_complete and facts.reach == () and facts.weight_read is None


def test_the_reach_leaves_out_what_lies_above_the_roof():
    estimated = roofline_facts(case_of(), PEAK, {}, BUDGET).rows.set_index("operation")[
        "estimated_s"
    ]
    wanted = {"scores": 2.0, "values": 4.0, "q_proj": 0.5}
    times = {name: Times((estimated[name] * slower,)) for name, slower in wanted.items()}
    facts = roofline_facts(case_of(), PEAK, times, BUDGET)
    assert [name for name, _share in facts.reach] == ["values", "scores"]
    assert [share for _name, share in facts.reach] == pytest.approx([0.25, 0.5])
    assert facts.above(Bound.COMPUTE) + facts.above(Bound.MEMORY) == ["q_proj"]


def test_a_token_that_is_written_reads_every_weight():
    read = roofline_facts(case_of(Phase.DECODE), PEAK, {}, BUDGET).weight_read
    d = GPT.d_model
    assert (read.n_bytes, read.flops) == (4 * d * d, 2 * d * d)
    assert read.batch == batch_at_ridge(d, d, itemsize=4, peak=PEAK)


@pytest.mark.parametrize(("d_in", "d_out"), [(64, 64), (768, 3072), (4096, 512)])
def test_from_the_batch_at_the_ridge_on_a_product_waits_for_its_arithmetic(d_in: int, d_out: int):
    """2 · rows · in · out FLOPs, and rows · (in + out) + in · out numbers of two bytes."""
    rows = batch_at_ridge(d_in, d_out, itemsize=2, peak=PEAK)
    assert rows is not None and rows > 1

    def bound(n: int) -> Bound:
        return bound_by(2 * n * d_in * d_out, 2 * (n * (d_in + d_out) + d_in * d_out), PEAK)

    assert (bound(rows - 1), bound(rows)) == (Bound.MEMORY, Bound.COMPUTE)
    assert batch_at_ridge(8, 8, itemsize=4, peak=PEAK) is None


def test_what_needs_too_much_is_left_out_and_nothing_larger_is_measured():
    assert roofline_facts(case_of(), PEAK, {}, BUDGET).left_out == ()
    facts = roofline_facts(case_of(), PEAK, {}, 1000)
    assert {each.operation for each in facts.left_out} == {*facts.rows["operation"]}
    assert not facts.may_measure_layer and not facts.may_measure_model
    slow = DevicePeak(1.0, 1.0, 0.0)
    assert len(roofline_facts(case_of(), slow, {}, BUDGET).left_out) == len(facts.rows)


def test_a_model_is_measured_where_it_is_quick_and_reads_no_source():
    quick = roofline_facts(case_of(), PEAK, {}, BUDGET)
    assert quick.may_measure_layer and quick.may_measure_model
    long = case_of(n=64, position_kind="learned", max_seq_len=16)
    assert not roofline_facts(long, PEAK, {}, BUDGET).may_measure_model
    two = toy(architecture="encoder-decoder", n_decoder_layers=1)
    case = Case(two, Tokens(Phase.PREFILL, 8), PLACE, seed=0)
    assert not roofline_facts(case, PEAK, {}, BUDGET).may_measure_model


def test_a_layer_and_a_model_are_sums_of_their_operations():
    names = roofline_facts(case_of(), PEAK, {}, BUDGET).rows["operation"]
    facts = roofline_facts(case_of(), PEAK, dict.fromkeys(names, Times((1.0,))), BUDGET)
    layer = layer_facts(facts, PassTime(Times((20.0,)), 100))
    assert layer.best == pytest.approx(layer.parts["estimated_s"].sum())
    assert layer.one_by_one == layer.parts["measured_s"].sum()
    assert layer.of_best == 20.0 / layer.best
    model = model_facts(facts, Times((4.0,)))
    assert model.one_by_one == 3 * total_seconds(facts.rows, "measured_s") + 1
    assert model.tokens_per_second == 2 * 8 / 4


def test_the_speed_of_a_device_is_what_its_steps_found():
    square, array, start = (
        MatmulRate(128, Times((1.0,))),
        Bandwidth(Traffic.COPY, 1000, Times((2.0, 2.0))),
        Times((0.5,)),
    )
    so_far = device_speed(PLACE, (square, None, array))
    assert so_far.peak is None and so_far.best is square and not so_far.has_all_sizes
    whole = device_speed(PLACE, (square, array, start))
    assert whole.peak == device_peak.device_peak((square,), (array,), start)
    assert (whole.largest_array, whole.repeats) == (1000, 1)


def test_a_place_knows_its_number_format():
    assert Place("cpu", "bfloat16").torch_dtype is torch.bfloat16
    assert Place("cpu", "bfloat16").itemsize == 2
    assert isinstance(case_of().counted(), pd.DataFrame)
