"""Ideas of 2023 to 2026: what a model has of them is counted, cached and carried in a link."""

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from toy import assert_near, scramble, toy
from transformers import GptOssConfig, Qwen3NextConfig
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssAttention
from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextAttention

from blocks import ModelConfig, build
from blocks.cost.flops import Pass, count_flops
from blocks.cost.parameters import total_parameters
from blocks.model.attention import Attention, soft_cap
from blocks.model.kv_cache import KVCache, kv_cache_bytes
from blocks.model.masks import causal, near
from blocks.model.models import count_built
from blocks.model.probe import listening
from blocks.observe.recording import Recorder, record
from pages.page.sidebar import CONTROLS
from pages.state.fields import FIELDS

N = 9
IDS = torch.randint(11, (2, N), generator=torch.Generator().manual_seed(0))
IDEAS: list[dict[str, Any]] = [
    {"local_window": 3, "global_every": 2},
    {"local_window": 2, "global_every": 3, "global_first": True, "first_norm": False},
    {"local_window": 4, "global_every": 0, "position_kind": "alibi"},
    {"score_softcap": 2.0, "logit_softcap": 1.5},
    {"attention_sink": True},
    {"n_experts": 3, "router_bias": True, "activation": "quick_geglu", "gate_limit": 0.3},
    {"n_experts": 3, "n_shared_experts": 2, "shared_expert_gate": True},
    {"attention_gate": "head"},
    {"attention_gate": "elementwise", "attention_bias": False},
    {"qk_norm_whole": True, "qk_norm": True, "qk_norm_scale": True},
    {"rope_scaling": "yarn", "rope_factor": 4.0, "rope_trained_len": 4},
    {"rope_scaling": "longrope", "rope_factor": 4.0, "rope_trained_len": 1},
    {"nope_every": 2},
    {"local_rope_base": 100.0, "local_window": 3, "global_every": 2},
    {"norm_placement": "res_post", "norm_kind": "rmsnorm"},
    {"attention_sink": True, "local_window": 3, "attention_gate": "head", "qk_norm": True},
]
each_idea = pytest.mark.parametrize("idea", IDEAS, ids=lambda idea: "-".join(idea))


def gpt(idea: dict[str, Any], **changes: Any) -> ModelConfig:
    sizes = {"n_layers": 3, "vocab_size": 11, "n_kv_heads": 2, "position_kind": "rope"}
    return toy(**{"architecture": "gpt", "max_seq_len": N, **sizes, **idea, **changes})


def in_steps(is_explicit: bool):
    """Attention step by step, as where someone looks at its patterns."""
    return listening(Recorder({"pattern"}, {})) if is_explicit else nullcontext()


@each_idea
def test_its_fields_are_in_the_link_and_have_a_control(idea: dict[str, Any]):
    assert idea.keys() <= FIELDS.keys() & CONTROLS.keys()


@each_idea
def test_its_parameters_are_counted(idea: dict[str, Any]):
    for config in (gpt(idea), gpt(idea, architecture="encoder-decoder"), toy(**idea)):
        assert total_parameters(config) == count_built(config)


@each_idea
@pytest.mark.thinned
def test_its_flops_are_counted(idea: dict[str, Any]):
    config = gpt(idea)
    model, cache = build(config), KVCache(config)
    passes = [
        (Pass(N, N, N, computes_masked=True), lambda: model(IDS[:1])),
        (Pass(N, N, N, computes_masked=True), lambda: model(IDS[:1], cache=cache)),
        (Pass(1, N + 1, 1), lambda: model(IDS[:1, :1], cache=cache)),
    ]
    for tokens, work in passes:
        with torch.no_grad(), in_steps(True), FlopCounterMode(display=False) as counter:
            work()
        assert counter.get_total_flops() == count_flops(config, tokens)["flops"].sum()


@each_idea
def test_the_fused_path_is_the_explicit_one(idea: dict[str, Any]):
    for config in (gpt(idea), gpt(idea, architecture="encoder")):
        model = scramble(build(config))
        with torch.no_grad():
            fused = model(IDS)
            with in_steps(True):
                assert_near(fused, model(IDS))


@each_idea
def test_cached_is_uncached_and_its_bytes_are_counted(idea: dict[str, Any]):
    config = gpt(idea)
    model, cache = scramble(build(config)), KVCache(config)
    with torch.no_grad():
        chunks = [model(chunk, cache=cache) for chunk in IDS.split([2, 4, 1, 1, 1], dim=1)]
        assert_near(torch.cat(chunks, dim=1), model(IDS))
    assert cache.nbytes() == 2 * kv_cache_bytes(config, 4, N)


def test_a_local_layer_reads_within_its_window_and_every_nth_reads_all():
    config = gpt({"local_window": 3, "global_every": 2})
    seen = record(build(config), IDS)
    for layer, window in enumerate((3, N, 3)):
        allowed = causal(N) & near(N, window)
        assert torch.equal(seen.pattern(layer)[0, 0] > 0, allowed)


def test_without_a_mask_a_window_is_open_to_both_sides():
    config = toy(local_window=2)
    seen = record(scramble(build(config)), torch.ones(1, 5, config.d_model))
    assert torch.equal(seen.pattern(0)[0, 0] > 0, near(5, 2))


def test_what_a_window_hides_changes_nothing():
    config = toy(local_window=2, position_kind="none")
    attention = scramble(build(config)).layers[0].attention
    assert isinstance(attention, Attention)
    x = torch.randn(1, 6, config.d_model, generator=torch.Generator().manual_seed(1))
    other = x.clone()
    other[:, :4] += 1
    with torch.no_grad():
        assert torch.equal(attention(x, causal(6))[:, 5], attention(other, causal(6))[:, 5])


SIZES = {"hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6}
OURS = {"n_kv_heads": 2, "d_head": 6, "position_kind": "none", "dropout": 0.0, "norm_eps": 1e-6}


def their_attention(attention: nn.Module, x: torch.Tensor, n_angles: int) -> torch.Tensor:
    """What `transformers` makes of x, causal, without turning anything."""
    attention.config._attn_implementation = "eager"
    still = torch.ones(1, x.shape[1], n_angles), torch.zeros(1, x.shape[1], n_angles)
    added = torch.zeros(x.shape[1], x.shape[1]).masked_fill(~causal(x.shape[1]), -torch.inf)
    with torch.no_grad():
        return attention(x, position_embeddings=still, attention_mask=added[None, None])[0]


def ours_with(config: ModelConfig, weights: dict[str, torch.Tensor]) -> Attention:
    attention = Attention(config)
    attention.load_state_dict(weights)
    return attention


def named_as_ours(theirs: nn.Module) -> dict[str, torch.Tensor]:
    return {
        name.replace("o_proj", "out_proj"): value for name, value in theirs.state_dict().items()
    }


def test_a_learned_sink_is_that_of_gpt_oss():
    theirs = scramble(GptOssAttention(GptOssConfig(**SIZES), 1))
    x = torch.randn(2, N, 16, generator=torch.Generator().manual_seed(0))
    ours = ours_with(toy(attention_sink=True, **OURS), named_as_ours(theirs))
    with torch.no_grad():
        assert_near(ours(x, causal(N)), their_attention(theirs, x, n_angles=3))


def test_an_elementwise_gate_is_that_of_qwen3_next():
    theirs = scramble(Qwen3NextAttention(Qwen3NextConfig(**SIZES), 0))
    weights = named_as_ours(theirs)
    both = weights.pop("q_proj.weight").unflatten(0, (4, 2, 6))  # queries and gate of each head
    weights["q_proj.weight"], weights["out_gate_proj.weight"] = (
        part.flatten(0, 1) for part in both.unbind(1)
    )
    normed = {"qk_norm": True, "qk_norm_scale": True, "norm_offset": True}
    gated = {"attention_gate": "elementwise", "attention_bias": False}
    x = torch.randn(2, N, 16, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        ours = ours_with(toy(**OURS, **normed, **gated), weights)
        assert_near(ours(x, causal(N)), their_attention(theirs, x, n_angles=6))


def test_a_soft_cap_hardly_moves_small_scores_and_bounds_large_ones():
    x = torch.tensor([0.01, -1e4, 1e4, 3.0])
    capped = soft_cap(x, 5.0)
    assert capped.abs().max() <= 5
    assert capped[0] == pytest.approx(0.01, rel=1e-5)
    assert torch.equal(soft_cap(x, 0.0), x)
