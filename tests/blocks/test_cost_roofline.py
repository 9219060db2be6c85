"""Operations of a layer: their FLOPs, their bytes, the roof over them, and that all of them run."""

import math
from dataclasses import replace
from itertools import groupby

import pytest
import torch
from toy import toy

from blocks import build
from blocks.cost import device_peak as peaks
from blocks.cost.device_peak import Bandwidth, DevicePeak, MatmulRate, Traffic
from blocks.cost.flops import Pass, count_decoder_flops, count_encoder_flops, count_flops
from blocks.cost.operands import Operands
from blocks.cost.operation_time import needed_bytes, prepare, working_set
from blocks.cost.operations import Phase, Tokens, count_product, operation_sizes, operations, phases
from blocks.cost.pass_time import FilledCache, measure_layer, measure_model
from blocks.cost.roofline import (
    as_run,
    bound_by,
    count_operations,
    estimate_seconds,
    roof,
    roofline,
    total_seconds,
)
from blocks.cost.timing import Times, measure_in_rounds, measure_times
from blocks.model.kinds import Architecture

N = 6
PEAK = DevicePeak(flops_per_s=1e12, bytes_per_s=1e11, start_seconds=1e-9)
PREFILL, DECODE = Tokens(Phase.PREFILL, N), Tokens(Phase.DECODE, N)
SHAPES = [
    {},
    {"n_kv_heads": 1, "activation": "swiglu", "norm_kind": "rmsnorm"},
    {"d_head": 8, "norm_placement": "parallel"},
    {"attention_only": True, "norm_kind": "none", "residual": False},
    {"n_experts": 4, "n_active_experts": 2, "norm_placement": "sandwich"},
    {"norm_kind": "batchnorm", "position_kind": "rope", "activation": "relu"},
    {"d_kv_latent": 6, "d_q_latent": 5, "d_value": 3, "position_kind": "rope"},
    {
        "n_experts": 4,
        "n_shared_experts": 1,
        "shared_expert_gate": True,
        "d_expert": 6,
        "n_dense_layers": 1,
    },
    {"token_mixer": "gru"},
    {"token_mixer": "gated_delta"},
]
ARCHITECTURES = [*Architecture]
F32 = {"device": "cpu", "dtype": torch.float32}


def model_config(architecture: str = "gpt", **shape):
    return toy().nearest(architecture=architecture, vocab_size=11, n_layers=2, **shape)[0]


def counted_flops(config, tokens: Tokens) -> dict[str, int]:
    """The products of one layer and the logits, as `blocks.cost.flops` counts them."""
    one = config.replace(n_layers=1)
    is_decode = tokens.phase is Phase.DECODE
    logits = tokens.n_new if config.architecture.reads_tokens else 0
    tokens_of_one = Pass(tokens.n_new, N, logits)
    if config.architecture is not Architecture.ENCODER_DECODER:
        return _by_part(count_flops(one, tokens_of_one))
    one = one.replace(n_decoder_layers=1)
    found = _by_part(count_decoder_flops(one, tokens_of_one, N))
    read = _by_part(count_encoder_flops(one, N))
    return found | ({} if is_decode else {k: v for k, v in read.items() if "cross" in k})


def _by_part(table) -> dict[str, int]:
    return dict(zip(table["part"], table["flops"], strict=True))


@pytest.mark.parametrize("tokens", [PREFILL, DECODE], ids=["prefill", "decode"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.thinned
def test_flops_of_products_are_those_of_the_formula(shape, architecture, tokens):
    if architecture == "encoder-decoder" and shape.get("norm_placement") == "parallel":
        pytest.skip("a decoder has three parts")
    config = model_config(architecture, **shape)
    table = count_operations(config, tokens, itemsize=4).set_index("operation")
    known = counted_flops(config, tokens)
    assert {name: table["flops"][name] for name in known} == known
    others = set(table.index) - set(known)
    assert {name.removeprefix("cross_") for name in others} <= {
        "norm",
        "softmax",
        "fused",
        "activation",
        "shared_activation",
        "residual",
    }


def test_a_batch_multiplies_the_work_but_not_the_weights():
    config = model_config()
    one, four = (
        count_operations(config, replace(DECODE, batch=n), itemsize=2).set_index("operation")
        for n in (1, 4)
    )
    assert (four["flops"] == 4 * one["flops"]).all()
    weights = 2 * 16 * 16
    assert four["bytes"]["q_proj"] - weights == 4 * (one["bytes"]["q_proj"] - weights)
    assert four["bytes"]["scores"] == 4 * one["bytes"]["scores"]


def test_bytes_of_known_operations():
    config = model_config(n_kv_heads=2)  # d_model 16, 4 heads of 4, d_ff 32
    table = count_operations(config, PREFILL, itemsize=4).set_index("operation")
    assert table["bytes"]["q_proj"] == 4 * (N * 16 + 16 * 16 + N * 16)
    assert table["bytes"]["k_proj"] == 4 * (N * 16 + 16 * 8 + N * 8)
    assert table["bytes"]["scores"] == 4 * (N * 16 + N * 8 + 4 * N * N)
    assert table["bytes"]["softmax"] == 4 * 2 * 4 * N * N
    assert table["bytes"]["fused"] == 4 * (2 * N * 16 + 2 * N * 8)
    assert table["bytes"]["unembed"] == 4 * (N * 16 + 16 * 11 + N * 11)
    steps = table.loc[["scores", "softmax", "values"], "flops"].sum()
    assert table["flops"]["fused"] == steps


def test_experts_that_are_not_chosen_are_not_read():
    config = model_config(n_experts=8, n_active_experts=2)
    table = count_operations(config, DECODE, itemsize=4).set_index("operation")
    assert table["bytes"]["up_proj"] == 4 * (2 * 16 + 2 * 16 * 32 + 2 * 32)
    many = count_operations(config, replace(PREFILL, n=100), itemsize=4).set_index("operation")
    assert many["bytes"]["up_proj"] == 4 * (200 * 16 + 8 * 16 * 32 + 200 * 32)


@pytest.mark.parametrize(
    ("shape", "norms"),
    [({}, 2), ({"norm_placement": "sandwich"}, 4), ({"norm_placement": "parallel"}, 1)],
)
def test_norms_are_counted_in_the_layer(shape, norms):
    table = count_operations(model_config(**shape), PREFILL, itemsize=4).set_index("operation")
    assert table["times"]["norm"] == norms
    assert table["times"]["residual"] == 2


@pytest.mark.parametrize("tokens", [PREFILL, replace(DECODE, batch=2)], ids=["prefill", "decode"])
@pytest.mark.parametrize("architecture", ["gpt", "encoder-decoder"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.thinned
def test_what_is_run_has_the_shape_that_is_counted(shape, architecture, tokens):
    """The result of a product has as many numbers as the formula's last term."""
    if architecture == "encoder-decoder" and shape.get("norm_placement") == "parallel":
        pytest.skip("a decoder has three parts")
    config = model_config(architecture, **shape)
    draw = Operands(**F32, working_set=1)
    sizes = operation_sizes(config, tokens)
    for operation in operations(config, tokens.phase):
        out = prepare(operation, config, tokens, draw)()
        products = operation.moved.products
        part = replace(operation.moved, products=products[-1:])
        factor = part.products[0][0] if isinstance(part.products[0][0], int) else 1
        written = part.count(sizes) // factor
        if operation.name.endswith("fused"):
            written = tokens.batch * tokens.n_new * 4 * count_product(operation.shape[-1], sizes)
        assert out.numel() == written, operation.name
        assert out.isfinite().all(), operation.name


def test_the_ridge_parts_memory_from_compute():
    assert PEAK.ridge == 10
    assert roof(1, PEAK) == 1e11
    assert roof(10, PEAK) == roof(1000, PEAK) == 1e12
    assert estimate_seconds(2e12, 1, PEAK) == 2
    assert estimate_seconds(1, 3e11, PEAK) == 3
    assert bound_by(1e9, 1e9, PEAK) == "memory"
    assert bound_by(1e10, 1e9, PEAK) == "compute"
    assert bound_by(10, 10, PEAK) == "start"


def test_a_measurement_stands_beside_its_estimate():
    counted = count_operations(model_config(), PREFILL, itemsize=4)
    table = roofline(counted, PEAK, {"q_proj": Times((1e-6, 2e-6, 3e-6))}).set_index("operation")
    row = table.loc["q_proj"]
    assert row["measured_s"] == 2e-6
    assert (row["low_s"], row["high_s"]) == pytest.approx((1.5e-6, 2.5e-6))
    assert row["measured_flops_per_s"] == row["flops"] / 2e-6
    assert row["share"] == pytest.approx(row["estimated_s"] / 2e-6)
    assert row["estimated_s"] == max(row["flops"] / 1e12, row["bytes"] / 1e11)
    assert math.isnan(table["measured_s"]["k_proj"])


def test_a_layer_is_summed_with_attention_at_once_and_without_logits():
    counted = count_operations(model_config(), PREFILL, itemsize=4)
    times = {name: Times((1.0,)) for name in counted["operation"]}
    table = roofline(counted, PEAK, times)
    assert not {"scores", "softmax", "values"} & set(as_run(table)["operation"])
    # 2 norms, q k v, fused, out, up, activation, down, 2 additions
    assert total_seconds(table, "measured_s") == 12
    del times["q_proj"]
    assert math.isnan(total_seconds(roofline(counted, PEAK, times), "measured_s"))


def test_the_median_and_the_quartiles_of_times():
    times = Times((5.0, 1.0, 2.0, 4.0, 3.0))
    assert times.median == 3 and times.quartiles == (2, 4)
    assert Times((7.0,)).quartiles == (7, 7)
    assert times.fast == 2 and Times((7.0,)).fast == 7


def test_short_work_is_called_often_and_long_work_seldom():
    calls = []
    found = measure_times(lambda: calls.append(1), "cpu", repeats=4)
    assert len(found.seconds) == 4 and len(calls) > 100
    slow = measure_times(lambda: torch.randn(300_000).sort(), "cpu", longest=0)
    assert len(slow.seconds) == 1


def test_in_rounds_each_has_its_turn_before_any_has_its_second():
    calls = list[str]()
    works = [lambda name=name: calls.append(name) for name in "ab"]
    found = measure_in_rounds(works, "cpu", rounds=3)
    assert [len(times.seconds) for times in found] == [3, 3]
    assert "".join(name for name, _ in groupby(calls)) == "ababab"


def test_the_peak_is_that_of_the_best_product_and_of_memory_alone():
    rates = [MatmulRate(10, Times((2e-3,))), MatmulRate(100, Times((1.0,)))]
    moved = [
        Bandwidth(Traffic.TRIAD, 100, Times((1e-9,))),
        Bandwidth(Traffic.TRIAD, 1000, Times((1.0,))),
        Bandwidth(Traffic.READ, 1000, Times((0.25,))),
    ]
    found = peaks.device_peak(rates, moved, Times((0.5,)))
    assert found == DevicePeak(2e6, 4000, 0.5)


def test_a_product_that_would_take_too_long_is_not_tried():
    slow = MatmulRate(64, Times((1.0,)))
    assert peaks.measure_matmul(128, **F32, smaller=slow) is None
    assert peaks.measure_matmul(16, **F32).size == 16
    assert peaks.measure_bandwidth(Traffic.TRIAD, 4096, device="cpu").moved_bytes == 3 * 4096


def test_operands_come_from_memory_until_the_model_is_small():
    whole = Operands(**F32, working_set=1000)
    weights = whole.rotating(10, 10)  # 400 bytes
    seen = [next(weights).data_ptr() for _ in range(4)]
    assert len(set(seen)) == 3 and seen[3] == seen[0]
    config = model_config()
    numel = sum(p.numel() for p in build(config).parameters())
    assert working_set(config, PREFILL, itemsize=4) == 4 * numel
    cached = 2 * 2 * 16 * N * 4
    assert working_set(config, DECODE, itemsize=4) == 4 * numel + cached


def test_the_bytes_of_a_measurement_grow_with_the_operation():
    config = model_config()
    sizes = operation_sizes(config, PREFILL)
    needed = [needed_bytes(each, sizes, itemsize=4) for each in operations(config, Phase.PREFILL)]
    assert min(needed) > 2 * 128 * 2**20


def test_a_filled_cache_grows_no_more():
    keys, values = torch.zeros(1, 2, 5, 4), torch.zeros(1, 2, 5, 4)
    cache = FilledCache(keys, values)
    assert cache.seen == 4
    for _ in range(2):
        k, v = cache.extend(torch.ones(1, 2, 1, 4), torch.ones(1, 2, 1, 4))
        assert k.shape == v.shape == (1, 2, 5, 4)
        assert k[:, :, -1].all() and not k[:, :, :-1].any()
    assert cache.seen == 4


@pytest.mark.parametrize("tokens", [PREFILL, replace(DECODE, batch=2)], ids=["prefill", "decode"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.thinned
def test_layers_and_models_are_measured(architecture, tokens, process_state_kept):
    config = model_config(architecture, n_kv_heads=2, position_kind="rope")
    layer = measure_layer(config, tokens, **F32)
    assert layer.times.median > 0 and layer.peak_bytes > 0
    if tokens.phase is Phase.PREFILL:
        back = measure_layer(config, tokens, **F32, is_backward=True)
        assert back.peak_bytes > layer.peak_bytes
    if tokens.phase not in phases(config):
        return
    model = build(config)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert measure_model(model, config, tokens, **F32).times.median > 0
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
