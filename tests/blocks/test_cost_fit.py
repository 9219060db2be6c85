"""What training and use need, what optimizers really remember, and the largest that fits."""

import dataclasses
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from toy import draw, toy

from blocks import PRESETS, ModelConfig, build, count_parameters
from blocks.cost.decode_speed import decode_step
from blocks.cost.fit import (
    OptimizerStates,
    Setup,
    StoredWeights,
    WeightFormat,
    cache_bytes,
    inference_need,
    largest,
    n_parameters,
    n_states,
    training_need,
)
from blocks.cost.need import inference_variants
from blocks.cost.peak_memory import TensorMemory
from blocks.cost.step import Shape
from blocks.model.kv_cache import KVCache
from blocks.model.presets import PUBLISHED_TABLE
from blocks.training.optimizer_state import read_optimizers
from blocks.training.optimizers import build_optimizers
from blocks.training.recipe import OptimizerKind, Recipe

RECIPES = {
    OptimizerStates.SGD: {"optimizer": OptimizerKind.SGD, "momentum": 0.0},
    OptimizerStates.MOMENTUM: {"optimizer": OptimizerKind.SGD, "momentum": 0.9},
    OptimizerStates.ADAM: {"optimizer": OptimizerKind.ADAMW},
    OptimizerStates.MUON: {"optimizer": OptimizerKind.MUON},
}
SHAPES = [
    {"architecture": "gpt"},
    {"architecture": "gpt", "activation": "swiglu", "n_experts": 3, "tie_embeddings": False},
    {"architecture": "encoder-decoder", "relative_bias": True},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", OptimizerStates)
def test_an_optimizer_remembers_as_many_numbers_as_counted(kind: OptimizerStates, shape: dict):
    config = toy(vocab_size=11, n_layers=2, **shape)
    model = build(config)
    optimizers = build_optimizers(model, Recipe(**RECIPES[kind]))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    for optimizer in optimizers:
        optimizer.step()
    kept = read_optimizers(model, optimizers)
    remembered = sum(t.numel() for path, t in kept.items() if not path.endswith(".step"))
    assert remembered == n_states(config, kind)


def test_sixteen_bytes_a_weight_in_mixed_precision_with_adam():
    config = PRESETS["gpt2-small"]
    need = training_need(config, Setup(), batch=1, n=1)
    assert need.state == 16 * n_parameters(config) == 16 * 124_439_808
    exact = Setup(weight_format=WeightFormat.FLOAT32)
    assert training_need(config, exact, batch=1, n=1).state == 16 * n_parameters(config)
    plain = Setup(optimizer=OptimizerStates.SGD, master_weights=False)
    assert training_need(config, plain, batch=1, n=1).state == 4 * n_parameters(config)


@pytest.mark.parametrize(
    ("kind", "n_bytes"),
    [("float32", 4), ("bfloat16", 2), ("float16", 2), ("int8", 1), ("int4", 0.5)],
)
def test_bytes_of_a_weight_in_use(kind: str, n_bytes: float):
    config = PRESETS["gpt2-small"]
    need = inference_need(config, Setup(weight_format=WeightFormat(kind)), batch=1, n=1)
    assert need.weights == n_bytes * count_parameters(config)["count"].sum()
    assert need.gradients == need.optimizer == need.master == 0


def test_the_cache_takes_what_a_real_one_takes():
    config = toy(architecture="gpt", n_layers=3, n_kv_heads=2, vocab_size=11)
    cache = KVCache(config)
    build(config)(torch.zeros(4, 5, dtype=torch.long), cache=cache)
    kept = sum(t.nbytes for layer in cache.layers for t in (layer.keys, layer.values))
    assert cache_bytes(config, 4, batch=4, n=5) == kept
    assert cache_bytes(toy(architecture="encoder"), 4, batch=4, n=5) == 0
    assert cache_bytes(toy(), 4, batch=4, n=5) == 0


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"activation": "swiglu", "n_kv_heads": 1},
        {"d_ff": 8},
        {"n_layers": 4, "norm_kind": "rmsnorm"},
    ],
    ids=str,
)
def test_what_passes_is_near_to_what_a_pass_takes(shape: dict):
    config = toy(**{"d_model": 64, "d_ff": 256, "position_kind": "rope", **shape})
    model, x = build(config), draw(2, 128, 64)
    with torch.no_grad(), TensorMemory() as memory:
        model(x)
    setup = Setup(weight_format=WeightFormat.FLOAT32)
    need = inference_need(config, setup, batch=2, n=128)
    assert need.activations == pytest.approx(memory.peak_bytes, rel=0.2)


@limits(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 1000), st.integers(0, 1000), st.integers(1, 5000))
def test_the_largest_that_fits(budget: int, each: int, base: int, most: int):
    found = largest(lambda size: base + each * size, budget, most)
    assert found == max(0, min(most, (budget - base) // each))


def test_what_fits_is_what_the_estimate_says():
    config, setup = PRESETS["gpt2-small"], Setup()
    need = partial(training_need, config, setup, n=1024)
    found = largest(lambda batch: need(batch=batch).total, 80 * 10**9, 10**6)
    assert need(batch=found).total <= 80 * 10**9 < need(batch=found + 1).total


@limits(max_examples=20)
@given(
    st.sampled_from([True, False]),
    st.sampled_from(["float32", "bfloat16"]),
    st.booleans(),
    st.booleans(),
    st.integers(1, 300),
)
def test_more_never_takes_less(
    is_training: bool, kind: str, fused: bool, checkpointing: bool, n: int
):
    config = toy(architecture="gpt", n_layers=2, vocab_size=300)
    setup = Setup(weight_format=WeightFormat(kind), fused=fused, checkpointing=checkpointing)
    count = training_need if is_training else inference_need
    here = count(config, setup, batch=2, n=n).total
    assert here <= count(config, setup, batch=2, n=n + 1).total
    assert here <= count(config, setup, batch=3, n=n).total


@pytest.mark.parametrize(("checkpointing", "gigabytes"), [(False, 94.6), (True, 33.5)])
def test_states_are_shared_and_activations_are_not(checkpointing: bool, gigabytes: float):
    config = PUBLISHED_TABLE["llama-3-8b"].config  # 16 bytes of 8.03 billion weights: 128.5 GB
    alone = Setup(checkpointing=checkpointing)
    eight = dataclasses.replace(alone, n_devices=8)
    here, there = (training_need(config, how, batch=1, n=8192) for how in (alone, eight))
    assert there.state == here.state // 8 == 2 * n_parameters(config)
    assert there.activations == here.activations
    assert there.total == pytest.approx(gigabytes * 1e9, rel=0.02)
    use, shared = (inference_need(config, how, batch=1, n=8192) for how in (alone, eight))
    assert (shared.weights, shared.cache) == (use.weights // 8, use.cache)


def test_a_share_is_rounded_up():
    assert [Setup(n_devices=n).share(10) for n in (1, 3, 10, 99)] == [10, 4, 1, 1]


def test_only_the_bytes_that_a_choice_is_about_change():
    config = ModelConfig.from_flat({"architecture": "gpt", "n_layers": 4})
    base = training_need(config, Setup(), batch=4, n=256)
    for change, part in (
        ({"checkpointing": True}, "activations"),
        ({"optimizer": OptimizerStates.SGD}, "optimizer"),
        ({"fused": False}, "activations"),
    ):
        other = training_need(config, dataclasses.replace(Setup(), **change), batch=4, n=256)
        differs = {name for name, value in vars(other).items() if value != vars(base)[name]}
        assert differs == {part}


def test_rounded_weights_take_what_their_file_has_of_them():
    config, stored = PRESETS["gpt2-small"], StoredWeights(70_000_000, 124_439_808)
    setup = Setup(weight_format=WeightFormat.FILE, stored=stored)
    need = inference_need(config, setup, batch=1, n=1)
    half = inference_need(config, Setup(weight_format=WeightFormat.FLOAT16), batch=1, n=1)
    assert need.weights == 70_000_000 and need.cache == half.cache
    assert stored.bits_per_weight == pytest.approx(4.5002, abs=1e-4)
    assert stored.bytes_of(stored.n_weights // 2) == 35_000_000
    plain = Setup(weight_format=WeightFormat.FILE)  # what is not rounded is saved in 16 bits
    assert inference_need(config, plain, batch=1, n=1) == half
    assert decode_step(config, setup, Shape(1, 1)).dtype == "bfloat16"
    kinds = [name for name, _config, _setup in inference_variants(config, setup)]
    assert kinds[:5] == ["chosen", "float32", "bfloat16", "int8", "int4"]
