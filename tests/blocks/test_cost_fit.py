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
from blocks.cost.fit import (
    cache_bytes,
    inference_need,
    largest,
    n_parameters,
    n_states,
    training_need,
)
from blocks.cost.need import inference_variants
from blocks.cost.peak_memory import TensorMemory
from blocks.cost.setup import OptimizerStates, Setup, StoredWeights, WeightFormat
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


@pytest.mark.parametrize(("kind", "n_bytes"), [("float32", 4), ("bfloat16", 2), ("float16", 2)])
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
    assert cache_bytes(config, "float32", batch=4, n=5) == kept
    n_vectors = kept // 4 // config.d_head
    assert cache_bytes(config, "int8", batch=4, n=5) == n_vectors * (config.d_head + 2)
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


@pytest.mark.parametrize(("checkpointing", "gigabytes"), [(False, 90.2), (True, 33.5)])
def test_states_are_shared_and_activations_are_not(checkpointing: bool, gigabytes: float):
    config = PUBLISHED_TABLE["llama-3-8b"].config  # 16 bytes of 8.03 billion weights: 128.5 GB
    alone = Setup(checkpointing=checkpointing)
    eight = dataclasses.replace(alone, n_devices=8)
    here, there = (training_need(config, how, batch=1, n=8192) for how in (alone, eight))
    assert there.state == here.state // 8 == 2 * n_parameters(config)
    assert there.activations == here.activations
    assert there.total == pytest.approx(gigabytes * 1e9, rel=0.02)


GB = 10**9


@pytest.mark.parametrize(("n_devices", "cache"), [(1, 343.6), (8, 42.95), (16, 42.95)])
def test_a_model_on_several_devices_by_hand(n_devices: int, cache: float):
    """Llama 3 70B, 8 texts of 131,072 tokens: weights 141 GB, keys and values 344 GB.

    2 · 80 layers · 8 heads · 128 · 2 bytes are 327,680 a token. 16 devices share 8 heads no further
    than 8, and make keys and values of each twice. Passing are the stream, three times 8192 tokens
    · 8192 · 2 bytes, and three hidden values of 28,672 / n_devices, with 8 · 128,256 logits.
    """
    config = PUBLISHED_TABLE["llama-3-70b"].config
    setup = Setup(n_devices=n_devices, prefill_chunk=8192)
    need = inference_need(config, setup, batch=8, n=131_072)
    copies = 80 * 2 * 8192 * 1024 * (n_devices // 8 - 1) / n_devices if n_devices > 8 else 0
    assert need.weights == pytest.approx(141.1 * GB / n_devices + 2 * copies, rel=1e-3)
    assert need.cache == 327_680 * 8 * 131_072 // min(n_devices, 8)
    assert need.cache == pytest.approx(cache * GB, rel=1e-3)
    hidden = 2 * 3 * 8192 * 28_672 // n_devices
    logits = 4 * 8 * 128_256 // n_devices
    assert need.activations == 2 * 3 * 8192 * 8192 + hidden + logits
    assert need.total == need.weights + need.cache + need.activations


@pytest.mark.parametrize(
    ("shape", "n_devices", "share"),
    [
        ({"n_heads": 4, "n_kv_heads": 1}, 4, 1),
        ({"n_heads": 6, "d_model": 24, "n_kv_heads": 3}, 2, 2 / 3),  # two heads and one
        ({"n_heads": 4, "n_kv_heads": 4}, 64, 1 / 4),
        ({"d_kv_latent": 6, "position_kind": "rope"}, 4, 1),  # a latent belongs to all heads
        ({"token_mixer": "gru"}, 4, 1),
        ({"token_mixer": "gated_delta", "n_heads": 4}, 4, 1 / 4),
    ],
    ids=str,
)
def test_a_cache_is_shared_by_heads_of_keys_and_values(shape: dict, n_devices: int, share: float):
    config = toy(architecture="gpt", n_layers=2, **shape)
    one, many = (
        inference_need(config, Setup(n_devices=n), batch=3, n=5).cache for n in (1, n_devices)
    )
    assert many == pytest.approx(share * one) and one > 0


@limits(max_examples=20)
@given(st.integers(1, 64), st.booleans(), st.integers(1, 6), st.integers(1, 40))
def test_more_devices_never_need_more_each(n: int, fused: bool, batch: int, chunk: int):
    config = toy(architecture="gpt", n_heads=4, n_kv_heads=2, vocab_size=300)
    setup = Setup(n_devices=n, fused=fused, prefill_chunk=chunk)
    more = dataclasses.replace(setup, n_devices=n + 1)
    here, there = (inference_need(config, how, batch=batch, n=9) for how in (setup, more))
    assert all(vars(there)[part] <= size for part, size in vars(here).items())
    assert (
        n * here.total
        >= inference_need(config, dataclasses.replace(setup, n_devices=1), batch=batch, n=9).total
    )


def test_a_prompt_is_read_in_pieces_where_each_token_meets_those_before_it():
    def passing(architecture: str, chunk: int, batch: int = 1, **changes) -> int:
        config = toy(architecture=architecture, **changes)
        return inference_need(config, Setup(prefill_chunk=chunk), batch=batch, n=64).activations

    assert passing("gpt", 16) < passing("gpt", 0) == passing("gpt", 64)
    assert passing("gpt", 16, batch=32) == passing("gpt", 32, batch=32)  # one new token each
    for architecture in ("encoder", "encoder-decoder", "block"):
        assert passing(architecture, 16) == passing(architecture, 0)


def test_attention_between_the_tokens_of_a_piece_and_all_before_it():
    config, setup = toy(architecture="gpt", n_heads=4), Setup(fused=False, prefill_chunk=16)
    fused = dataclasses.replace(setup, fused=True)
    both = [inference_need(config, how, batch=2, n=1000).activations for how in (setup, fused)]
    assert both[0] >= 2 * 2 * 16 * 4 * 1000 > both[1]


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
    assert setup.computes_in == "bfloat16"
    kinds = [name for name, _config, _setup in inference_variants(config, setup)]
    assert kinds[:5] == ["chosen", "float32", "bfloat16", "int8", "int4"]
