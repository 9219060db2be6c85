"""What may stand in the place of attention, against torch's GRU and Qwen3-Next's delta rule."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode
from toy import assert_near, draw, scramble, toy
from transformers import Qwen3NextConfig
from transformers.models.qwen3_next import modeling_qwen3_next as qwen

from blocks import ConfigError, ModelConfig, build
from blocks.cost.flops import Pass, count_flops
from blocks.model.gated_delta import CHUNK, GatedDelta, delta_rule, delta_step, of_length_1
from blocks.model.gru import GRU
from blocks.model.kv_cache import KVCache, kv_cache_bytes, kv_cache_bytes_per_token
from blocks.model.layers import encoder_layer

BATCH, N, VOCABULARY = 2, 7, 11
MIXERS = ["gru", "gated_delta"]
IDS = torch.arange(BATCH * N).view(BATCH, N) * 5 % VOCABULARY


def model_of(mixer: str, **more: Any) -> ModelConfig:
    values = {"architecture": "gpt", "vocab_size": VOCABULARY, "n_layers": 2, "dropout": 0.0}
    return toy(token_mixer=mixer, **values | more)


def test_a_gru_is_the_one_of_torch():
    config = model_of("gru")
    ours = scramble(GRU(config))
    theirs = nn.GRU(config.d_model, config.d_model, batch_first=True)
    named = {"weight_ih_l0": ours.input_proj.weight, "bias_ih_l0": ours.input_proj.bias}
    named |= {"weight_hh_l0": ours.state_proj.weight, "bias_hh_l0": ours.state_proj.bias}
    theirs.load_state_dict(named)
    x = draw(BATCH, N, config.d_model)
    assert_near(ours(x), ours.out_proj(theirs(x)[0]))


def of_a_rule(n: int) -> tuple[Tensor, ...]:
    """q, k, v, log α, β and a state to begin with."""
    q, k, v = (draw(BATCH, 2, n, 4, seed=seed) for seed in range(3))
    decay, write = -draw(BATCH, 2, n, seed=3).abs(), draw(BATCH, 2, n, seed=4).sigmoid()
    return of_length_1(q) / 2, of_length_1(k), v, decay, write, draw(BATCH, 2, 4, 4, seed=5)


@pytest.mark.parametrize("n", [2, CHUNK, 2 * CHUNK + 3])
def test_in_chunks_it_is_the_recurrence(n: int):
    *given, state = of_a_rule(n)
    in_chunks, last = delta_rule(*given, state)
    read = []
    for i in range(n):
        out, state = delta_step(*(each[:, :, i : i + 1] for each in given), state)
        read.append(out)
    assert_near(in_chunks, torch.cat(read, dim=2))
    assert_near(last, state)


def test_the_recurrence_is_that_of_qwen3_next():
    q, k, v, decay, write, state = of_a_rule(N)
    theirs = qwen.torch_recurrent_gated_delta_rule(
        *(each.transpose(1, 2) for each in (2 * q, k, v, decay, write)),
        initial_state=state,
        output_final_state=True,
    )
    ours = delta_rule(q, k, v, decay, write, state)
    assert_near(ours[0].transpose(1, 2), theirs[0])
    assert_near(ours[1], theirs[1])


def by_heads(n_heads: int, *weights: Tensor) -> Tensor:
    """Rows of several projections, head after head."""
    return torch.cat([each.unflatten(0, (n_heads, -1)) for each in weights], dim=1).flatten(0, 1)


def test_a_whole_layer_is_that_of_qwen3_next():
    config = model_of("gated_delta", attention_bias=False, norm_eps=1e-6)
    ours, n_heads = scramble(GatedDelta(config)), config.n_heads
    names = {f"linear_num_{kind}_heads": n_heads for kind in ("key", "value")}
    names |= {f"linear_{kind}_head_dim": config.d_head for kind in ("key", "value")}
    theirs = qwen.Qwen3NextGatedDeltaNet(
        Qwen3NextConfig(hidden_size=config.d_model, num_hidden_layers=1, **names), 0
    )
    q, k, v, gate, write, decay = (
        getattr(ours, f"{name}_proj").weight
        for name in ("q", "k", "v", "out_gate", "write", "decay")
    )
    weights = {
        "in_proj_qkvz.weight": by_heads(n_heads, q, k, v, gate),
        "in_proj_ba.weight": by_heads(n_heads, write, decay),
        "conv1d.weight": ours.conv.weight,
        "A_log": ours.decay_rate,
        "dt_bias": ours.decay_bias,
        "norm.weight": ours.head_norm.weight,
        "out_proj.weight": ours.out_proj.weight,
    }
    theirs.load_state_dict(weights)
    x = draw(BATCH, N, config.d_model)
    assert_near(ours(x), theirs(x))


@pytest.mark.parametrize("mixer", MIXERS)
@pytest.mark.parametrize("more", [{}, {"norm_placement": "parallel", "position_kind": "rope"}])
def test_token_by_token_it_says_what_it_says_at_once(mixer: str, more: dict):
    config = model_of(mixer, **more)
    model, cache = scramble(build(config)), KVCache(config)
    with torch.no_grad():
        steps = [model(IDS[:, :3], cache=cache)]
        first = cache.nbytes()
        steps += [model(IDS[:, i : i + 1], cache=cache) for i in range(3, N)]
        assert_near(torch.cat(steps, dim=1), model(IDS))
    assert cache.seen == N and cache.nbytes() == first == BATCH * kv_cache_bytes(config, 4, N)
    assert kv_cache_bytes_per_token(config, 4) == kv_cache_bytes(config, 4, 0) == 0


@pytest.mark.parametrize("mixer", MIXERS)
def test_rows_of_a_state_can_be_chosen(mixer: str):
    config = model_of(mixer)
    model, cache = scramble(build(config)), KVCache(config)
    with torch.no_grad():
        model(IDS[:, :-1], cache=cache)
        cache.choose_rows(torch.tensor([1, 1]))
        found = model(IDS[1:, -1:].expand(2, 1), cache=cache)
        assert_near(found, model(IDS[1:])[:, -1:].expand(2, 1, -1))


@pytest.mark.parametrize("mixer", MIXERS)
def test_no_token_learns_of_a_later_one_whatever_the_mask(mixer: str):
    config = toy(token_mixer=mixer, dropout=0.0)
    layer, x = scramble(encoder_layer(config)), draw(BATCH, N, config.d_model)
    changed = x.clone()
    changed[:, -1] += 1
    assert_near(layer(changed)[:, :-1], layer(x)[:, :-1])
    assert_near(layer(x, torch.ones(N, N, dtype=torch.bool)), layer(x))


@pytest.mark.parametrize("mixer", MIXERS)
def test_flops_are_those_of_the_recurrence(mixer: str):
    config = model_of(mixer)
    model, cache = build(config), KVCache(config)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        for i in range(N):
            model(IDS[:1, i : i + 1], cache=cache)
    assert counter.get_total_flops() == int(count_flops(config, Pass(N, N, N))["flops"].sum())


@pytest.mark.parametrize("architecture", ["encoder", "encoder-decoder"])
def test_who_reads_both_ways_attends(architecture: str):
    with pytest.raises(ConfigError, match="use attention"):
        toy(token_mixer="gru", architecture=architecture)


@pytest.mark.parametrize("mixer", MIXERS)
def test_half_precision_runs(mixer: str):
    model = build(model_of(mixer), dtype=torch.bfloat16)
    assert model(IDS).isfinite().all()
