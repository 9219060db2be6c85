"""Latent attention: made of latents or absorbed, it is the same; what it caches is small."""

import pytest
import torch
from toy import assert_near, draw, scramble, toy, toy_input

from blocks import build, record
from blocks.inspection.head_steps import attention_steps
from blocks.inspection.sharing import cached_kinds
from blocks.model.dropout import training_mode
from blocks.model.kv_cache import KVCache, kv_cache_bytes_per_token
from blocks.model.latent_attention import LatentAttention
from blocks.model.masks import causal
from blocks.model.presets import PRESETS
from blocks.model.randomness import generator

LATENT = {"d_kv_latent": 6, "d_value": 3, "norm_kind": "rmsnorm", "dropout": 0.0}
IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 5, 8, 9, 7]])


def gpt(**changes):
    return toy(architecture="gpt", n_layers=2, vocab_size=11, **{**LATENT, **changes})


@pytest.mark.parametrize("position_kind", ["rope", "alibi", "learned", "none"])
@pytest.mark.parametrize("more", [{}, {"d_q_latent": 5, "scale_scores": False}])
@torch.no_grad()
def test_absorbed_into_the_queries_it_is_the_same(position_kind: str, more: dict):
    config = gpt(position_kind=position_kind, **more)
    model, cache = scramble(build(config)), KVCache(config)
    steps = [model(part, cache=cache) for part in IDS.split((3, 1, 2, 1), dim=1)]
    assert_near(torch.cat(steps, dim=1), model(IDS))
    assert cache.nbytes() == 2 * IDS.shape[1] * kv_cache_bytes_per_token(config, 4)


@torch.no_grad()
def test_what_is_observed_while_absorbed_is_the_pattern_of_the_whole():
    config = gpt(position_kind="rope")
    model, cache = scramble(build(config)), KVCache(config)
    whole = record(model, IDS, keep={"pattern"}).pattern(0)
    model(IDS[:, :-1], cache=cache)
    last = record(lambda ids, _mask: model(ids, cache=cache), IDS[:, -1:], keep={"pattern"})
    assert_near(last.pattern(0), whole[:, :, -1:])


@torch.no_grad()
def test_the_heads_written_out_by_hand():
    config = toy(position_kind="none", **LATENT)
    attention, x = scramble(LatentAttention(config)), toy_input()
    whole = attention.kv_latent_proj(x)
    both = attention.kv_proj(attention.kv_latent_norm(whole[..., :6])).unflatten(-1, (4, 4 + 3))
    shared = whole[..., None, 6:].expand(-1, -1, 4, -1)
    k, v = torch.cat((both[..., :4], shared), dim=-1), both[..., 4:]
    q = attention.q_proj(x).unflatten(-1, (4, 4 + 2))
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / 6**0.5
    scores = scores.masked_fill(~causal(x.shape[1]), -torch.inf)
    heads = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).flatten(2)
    assert_near(attention(x, causal(x.shape[1])), attention.out_proj(heads))


def test_it_learns_in_every_part():
    model = build(gpt(position_kind="rope", d_q_latent=5))
    with training_mode(generator(0, "dropout")):
        model(IDS).square().mean().backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in model.parameters())


def test_its_steps_are_taken_apart():
    config = toy(position_kind="rope", **LATENT)
    model, x = scramble(build(config)), draw(1, 5, 16)
    mask = causal(5)
    steps = attention_steps(record(model, x, mask=mask), model, config, 0, mask)
    written = torch.einsum("hqd,hdm->qm", steps.pattern @ steps.v, steps.out_weight)
    assert_near(written + steps.out_bias, steps.out)


def test_the_cache_of_deepseek_v3_is_that_of_two_groups_and_a_quarter():
    config = PRESETS["deepseek-v3"]
    found = cached_kinds(config, 2)
    of_heads, *_, own = found.rows
    assert own.config == config
    assert found.times_saved == 128 / 2.25  # the paper's table 1
    assert kv_cache_bytes_per_token(config, 2) == 61 * (512 + 64) * 2
    assert of_heads.cache_bytes == 61 * 2 * 128 * 128 * 2
