"""Stacks in which some layers attend and others keep a state: counted, cached, and Qwen3-Next's."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode
from toy import assert_near, scramble, toy
from transformers import Qwen3NextConfig, Qwen3NextForCausalLM

from blocks import ModelConfig, build
from blocks.cost.breakdown import by_layer
from blocks.cost.flops import Pass, count_flops
from blocks.cost.parameters import count_parameters, total_parameters
from blocks.model.attention import Attention
from blocks.model.gated_delta import GatedDelta
from blocks.model.gru import GRU
from blocks.model.kinds import TokenMixer
from blocks.model.kv_cache import KVCache, kv_cache_bytes, kv_cache_bytes_per_token
from blocks.model.latent_attention import LatentAttention
from blocks.model.models import count_built
from blocks.model.probe import listening
from blocks.observe.recording import Recorder, record

N, VOCABULARY = 9, 11
IDS = torch.randint(VOCABULARY, (2, N), generator=torch.Generator().manual_seed(0))
SHAPES: list[dict[str, Any]] = [
    {"attention_every": 4},
    {"attention_every": 2, "token_mixer": "gru", "local_window": 3, "global_every": 4},
    {"attention_every": 3, "d_kv_latent": 6, "n_experts": 3, "n_dense_layers": 1},
    {"attention_every": 2, "n_mtp_modules": 1, "norm_placement": "parallel", "nope_every": 4},
    {"attention_every": 5},
    {"attention_every": 1},
]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def hybrid(**changes: Any) -> ModelConfig:
    usual = {"n_layers": 4, "vocab_size": VOCABULARY, "n_kv_heads": 2, "position_kind": "rope"}
    return toy(
        **{"architecture": "gpt", "token_mixer": "gated_delta", "dropout": 0.0, **usual, **changes}
    )


def in_steps():
    return listening(Recorder({"pattern"}, {}))


def test_every_nth_layer_attends():
    for every, kinds in {
        0: [GatedDelta] * 4,
        1: [Attention] * 4,
        2: [GatedDelta, Attention] * 2,
        4: [GatedDelta] * 3 + [Attention],
    }.items():
        config = hybrid(attention_every=every)
        assert [type(layer.attention) for layer in build(config).layers] == kinds
        attending = [i for i, kind in enumerate(kinds) if kind is Attention]
        assert [*config.attention_layers] == attending
        assert [config.attends_in(i) for i in range(4)] == [i in attending for i in range(4)]
        assert config.is_hybrid == (0 < len(attending) < 4)
    mixed = build(hybrid(attention_every=2, token_mixer="gru", d_kv_latent=6))
    assert [type(layer.attention) for layer in mixed.layers] == [GRU, LatentAttention] * 2


@each_shape
def test_parameters_are_counted_layer_by_layer(shape: dict):
    config = hybrid(**shape)
    model, table = build(config), count_parameters(config)
    assert total_parameters(config) == count_built(config)
    assert table["part"].is_unique
    layers = next(node for node in by_layer(config).children if node.name == "layers")
    built = [sum(each.numel() for each in layer.parameters()) for layer in model.layers]
    assert [node.count for node in layers.children] == built


@each_shape
def test_cached_is_uncached_and_states_do_not_grow(shape: dict):
    config = hybrid(**shape)
    model, cache = scramble(build(config)), KVCache(config)
    with torch.no_grad():
        chunks = [model(chunk, cache=cache) for chunk in IDS.split([2, 4, 1, 1, 1], dim=1)]
        assert_near(torch.cat(chunks, dim=1), model(IDS))
    assert cache.seen == N and cache.nbytes() == 2 * kv_cache_bytes(config, 4, N)
    if not config.local_window:
        grown = kv_cache_bytes(config, 4, N + 1) - kv_cache_bytes(config, 4, N)
        assert grown == kv_cache_bytes_per_token(config, 4)


@each_shape
@pytest.mark.thinned
def test_flops_are_counted(shape: dict):
    config = hybrid(**shape)
    model, cache = build(config), KVCache(config)
    with torch.no_grad(), in_steps(), FlopCounterMode(display=False) as counter:
        for i in range(N):
            model(IDS[:1, i : i + 1], cache=cache)
    steps = (count_flops(config, Pass(1, n, 1))["flops"].sum() for n in range(1, N + 1))
    assert counter.get_total_flops() == sum(map(int, steps))


def test_patterns_are_those_of_the_layers_that_attend():
    config = hybrid(attention_every=2)
    seen = record(build(config), IDS)
    assert {path for path in seen.tensors if path.endswith("pattern")} == {
        f"layers.{layer}.pattern" for layer in config.attention_layers
    }


def test_a_module_ahead_is_made_as_the_last_layer():
    for n_layers, mixer in ((4, TokenMixer.ATTENTION), (3, TokenMixer.GATED_DELTA)):
        config = hybrid(attention_every=2, n_mtp_modules=1, n_layers=n_layers)
        assert config.like_last().token_mixer is mixer
        assert config.like_last().attends == (mixer is TokenMixer.ATTENTION)


QWEN = {
    **{"n_heads": 4, "d_head": 8, "attention_every": 4, "rotary_share": 0.25, "d_ff": 20},
    **{"norm_kind": "rmsnorm", "norm_offset": True, "norm_eps": 1e-6, "activation": "swiglu"},
    **{"qk_norm": True, "qk_norm_scale": True, "attention_gate": "elementwise"},
    **{"attention_bias": False, "feed_forward_bias": False},
}


def by_heads(n_heads: int, *weights: Tensor) -> Tensor:
    """Rows of several projections, head after head."""
    return torch.cat([each.unflatten(0, (n_heads, -1)) for each in weights], dim=1).flatten(0, 1)


def of_state(ours: GatedDelta) -> dict[str, Tensor]:
    """A layer with a state under the names of `transformers`."""
    names = ("q", "k", "v", "out_gate", "write", "decay")
    *qkvz, write, decay = (getattr(ours, f"{name}_proj").weight for name in names)
    return {
        "in_proj_qkvz.weight": by_heads(ours.n_heads, *qkvz),
        "in_proj_ba.weight": by_heads(ours.n_heads, write, decay),
        "conv1d.weight": ours.conv.weight,
        "A_log": ours.decay_rate,
        "dt_bias": ours.decay_bias,
        "norm.weight": ours.head_norm.weight,
        "out_proj.weight": ours.out_proj.weight,
    }


def of_attention(ours: Attention) -> dict[str, Tensor]:
    """A layer that attends under the names of `transformers`."""
    gate = ours.out_gate_proj
    assert gate is not None
    kept = {name: ours.get_parameter(f"{name}.weight") for name in ("k_proj", "v_proj")}
    return {
        "q_proj.weight": by_heads(ours.n_heads, ours.q_proj.weight, gate.weight),
        **{f"{name}.weight": weight for name, weight in kept.items()},
        "o_proj.weight": ours.out_proj.weight,
        "q_norm.weight": ours.get_parameter("q_norm.weight"),
        "k_norm.weight": ours.get_parameter("k_norm.weight"),
    }


def of_layer(layer: nn.Module) -> dict[str, Tensor]:
    mixer, wide = layer.attention, layer.feed_forward
    is_state = isinstance(mixer, GatedDelta)
    named = of_state(mixer) if is_state else of_attention(mixer)
    place = "linear_attn" if is_state else "self_attn"
    return {
        **{f"{place}.{name}": weight for name, weight in named.items()},
        "input_layernorm.weight": layer.attention_residual.norm.weight,
        "post_attention_layernorm.weight": layer.feed_forward_residual.norm.weight,
        **{
            f"mlp.{name}.weight": getattr(wide, name).weight
            for name in ("gate_proj", "up_proj", "down_proj")
        },
    }


def test_a_whole_model_is_qwen3_next():
    config = hybrid(**QWEN, rope_base=10_000.0)
    model = scramble(build(config))
    heads = {f"linear_num_{kind}_heads": config.n_heads for kind in ("key", "value")}
    widths = {f"linear_{kind}_head_dim": config.d_head for kind in ("key", "value")}
    theirs_config = Qwen3NextConfig(
        vocab_size=VOCABULARY,
        hidden_size=config.d_model,
        num_hidden_layers=config.n_layers,
        num_attention_heads=config.n_heads,
        num_key_value_heads=config.n_kv_heads,
        head_dim=config.d_head,
        intermediate_size=config.d_ff,
        mlp_only_layers=[*range(config.n_layers)],
        tie_word_embeddings=True,
        **heads,
        **widths,
    )
    weights = {"embed_tokens.weight": model.embed.weight, "norm.weight": model.final_norm.weight}
    for i, layer in enumerate(model.layers):
        weights |= {f"layers.{i}.{name}": weight for name, weight in of_layer(layer).items()}
    theirs = Qwen3NextForCausalLM(theirs_config).eval()
    theirs.model.load_state_dict(weights)
    with torch.no_grad():
        assert_near(model(IDS), theirs(IDS).logits)
