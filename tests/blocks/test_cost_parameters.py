"""The formulas count what is really built."""

from itertools import product
from math import prod
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from toy import toy, toys

from blocks import ModelConfig, build, count_parameters
from blocks.cost.parameters import active_parameters
from blocks.model.kinds import (
    Activation,
    Architecture,
    AttentionGate,
    NormKind,
    NormPlacement,
    PositionKind,
    RouterKind,
    TokenMixer,
)
from blocks.model.models import ARCHITECTURES, count_built
from blocks.model.presets import PRESET_TABLE

PRESETS = {name: preset.config for name, preset in PRESET_TABLE.items()}


def numel(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def without_memory(config: ModelConfig) -> nn.Module:
    with torch.device("meta"):
        return ARCHITECTURES[config.architecture](config)


def evaluate(sum_of_products: str, sizes: dict[str, int] | None = None) -> int:
    """The value of `2 · d_model + 1,024 · 3`."""
    products = sum_of_products.replace(",", "").split(" + ")
    factors = [product.split(" · ") for product in products]
    return sum(prod((sizes or {}).get(factor) or int(factor) for factor in row) for row in factors)


def sizes_of(config: ModelConfig) -> dict[str, int]:
    names = "n_layers vocab_size max_seq_len d_model n_heads n_kv_heads d_head d_ff n_experts"
    latent = ["d_kv_latent", "d_q_latent", "d_rotary", "d_value"]
    others = ["n_segments", "d_expert", "n_shared_experts", "n_dense_layers", "n_expert_layers"]
    others += ["n_mtp_modules", "n_attention_layers", "n_mixer_layers"]
    return {name: getattr(config, name) for name in (*names.split(), *latent, *others)}


@pytest.mark.parametrize("activation", Activation)
def test_every_activation_is_counted(activation: Activation):
    choices = {"feed_forward_bias": [True, False], "d_ff": [None, 7]}
    for config in toys(activation=[activation], **choices):
        counted = count_parameters(config)["count"].sum()
        assert counted == numel(without_memory(config)) == count_built(config)


def test_a_token_meets_its_own_experts_alone():
    config = toy(n_experts=5, n_active_experts=2, n_layers=3, activation="swiglu")
    one_expert = numel(without_memory(config).layers[0].feed_forward.experts[0])
    total = count_parameters(config)["count"].sum()
    assert active_parameters(config) == total - 3 * (5 - 2) * one_expert
    for dense in (toy(), toy(attention_only=True), toy(n_experts=3, n_active_experts=3)):
        assert active_parameters(dense) == count_parameters(dense)["count"].sum()


ANYWHERE = st.fixed_dictionaries(
    {
        "architecture": st.sampled_from(Architecture),
        "n_layers": st.integers(1, 3),
        "n_decoder_layers": st.none() | st.integers(1, 3),
        "d_model": st.sampled_from([8, 12]),
        "n_heads": st.sampled_from([1, 2, 4]),
        "n_kv_heads": st.none() | st.sampled_from([1, 2]),
        "d_head": st.none() | st.integers(1, 9),
        "d_kv_latent": st.just(0) | st.integers(0, 9),
        "d_q_latent": st.just(0) | st.integers(0, 9),
        "d_rotary": st.none() | st.just(2),
        "d_value": st.none() | st.integers(1, 9),
        "n_state_heads": st.none() | st.sampled_from([2, 6]),
        "n_key_heads": st.none() | st.sampled_from([1, 2]),
        "d_state": st.none() | st.integers(1, 9),
        "attention_bias": st.booleans(),
        "out_bias": st.none() | st.booleans(),
        "qk_norm": st.booleans(),
        "qk_norm_scale": st.booleans(),
        "qk_norm_whole": st.booleans(),
        "token_mixer": st.sampled_from(TokenMixer),
        "attention_every": st.integers(0, 3),
        "attention_sink": st.booleans(),
        "attention_gate": st.sampled_from(AttentionGate),
        "local_window": st.integers(0, 3),
        "global_every": st.integers(0, 2),
        "d_ff": st.none() | st.integers(1, 20),
        "activation": st.sampled_from(Activation),
        "feed_forward_bias": st.booleans(),
        "n_experts": st.integers(1, 3),
        "n_active_experts": st.integers(1, 3),
        "d_expert": st.none() | st.integers(1, 9),
        "n_shared_experts": st.integers(0, 2),
        "shared_expert_gate": st.booleans(),
        "n_dense_layers": st.integers(0, 2),
        "router_kind": st.sampled_from(RouterKind),
        "router_bias": st.booleans(),
        "norm_kind": st.sampled_from(NormKind),
        "norm_placement": st.sampled_from(NormPlacement),
        "norm_affine": st.booleans(),
        "norm_offset": st.booleans(),
        "norm_bias": st.booleans(),
        "first_norm": st.booleans(),
        "parallel_norms": st.integers(1, 2),
        "embedding_norm": st.booleans(),
        "position_kind": st.sampled_from(PositionKind),
        "max_seq_len": st.integers(1, 20),
        "position_offset": st.integers(0, 3),
        "rotary_share": st.floats(0.01, 1),
        "vocab_size": st.integers(1, 20),
        "tie_embeddings": st.booleans(),
        "n_mtp_modules": st.integers(0, 2),
        "unembed_bias": st.booleans(),
        "n_segments": st.integers(0, 3),
        "pooler": st.booleans(),
        "prediction_head": st.booleans(),
        "share_embeddings": st.booleans(),
        "relative_bias": st.booleans(),
        "attention_only": st.booleans(),
    }
)


@settings(max_examples=200)
@given(ANYWHERE)
def test_formulas_count_what_is_built_in_the_whole_space(values: dict[str, Any]):
    config, _ = ModelConfig().nearest(**values)
    table = count_parameters(config)
    assert table["count"].sum() == count_built(config)
    assert table["part"].is_unique
    assert table["count"].gt(0).all()


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_presets_are_counted(config: ModelConfig):
    assert count_parameters(config)["count"].sum() == numel(without_memory(config))


@pytest.mark.parametrize("changes", [{}, {"n_kv_heads": 1, "norm_kind": "batchnorm"}])
def test_what_build_returns_is_counted(changes: dict[str, Any]):
    config = toy(**changes)
    assert count_parameters(config)["count"].sum() == numel(build(config))


@pytest.mark.parametrize(
    "config",
    [
        *PRESETS.values(),
        toy(n_kv_heads=2, activation="swiglu", position_kind="learned"),
        toy(norm_placement="sandwich", norm_kind="rmsnorm", attention_bias=False),
        toy(norm_placement="parallel", feed_forward_bias=False),
        toy(n_experts=4, n_layers=2, activation="swiglu"),
        toy(d_kv_latent=6, d_q_latent=5, d_value=3, position_kind="rope"),
        toy(n_experts=4, n_layers=3, n_shared_experts=2, n_dense_layers=1, d_expert=5),
    ],
)
def test_formulas_and_their_numbers_give_the_count(config: ModelConfig):
    for row in count_parameters(config).itertuples():
        assert evaluate(row.numbers) == row.count
        assert evaluate(row.formula, sizes_of(config)) == row.count


def test_four_hundred_billion_parameters_are_counted_exactly():
    d_model = 184_320
    config = ModelConfig.from_flat({"d_model": d_model, "n_heads": 1_440})
    counted = count_parameters(config)["count"].sum()
    assert counted == numel(without_memory(config))
    assert counted == 12 * d_model**2 + 13 * d_model  # matrices; biases and norms
    assert counted > 400e9


def test_parts_are_named_as_the_modules_are():
    config = toy(activation="swiglu")
    weights = [name for name, _ in build(config).named_parameters() if "_proj.weight" in name]
    built = {name.split(".")[-2] for name in weights}
    counted = set(count_parameters(config)["part"])
    assert built == {part for part in counted if part.endswith("_proj")}


def test_groups_add_up_to_the_submodules():
    config = toy(n_kv_heads=2, position_kind="learned")
    layer = (model := build(config)).layers[0]
    groups = count_parameters(config).groupby("group")["count"].sum()
    assert groups["attention"] == numel(layer.attention)
    assert groups["feed_forward"] == numel(layer.feed_forward)
    assert groups["embedding"] == numel(model.position)
    assert groups["norm"] == numel(layer.attention_residual) + numel(layer.feed_forward_residual)


def test_the_shape_of_the_table_does_not_depend_on_the_values():
    columns = ["part", "group", "formula", "numbers", "count"]
    for biases in product([True, False], repeat=2):
        config = toy(attention_bias=biases[0], feed_forward_bias=biases[1])
        table = count_parameters(config)
        assert list(table.columns) == columns
        assert table["part"].is_unique
