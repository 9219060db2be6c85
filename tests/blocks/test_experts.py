"""Experts: parity with Mixtral, who goes where, who finds no room."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from references import hugging_face_mixtral
from toy import BATCH, D_FF, D_MODEL, SEQ_LEN, assert_near, draw, scramble, toy, toy_input
from transformers import DeepseekV2Config, DeepseekV3Config
from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2Moe
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3MoE

from blocks import build, record
from blocks.model.dropout import training_mode
from blocks.model.experts import (
    BIAS_SPEED,
    MixtureOfExperts,
    build_feed_forward,
    expert_room,
    within_capacity,
)
from blocks.model.feed_forward import FeedForward, build_dense
from blocks.model.initialize import initialize
from blocks.model.models import expected_shapes
from blocks.model.probe import Probe
from blocks.model.randomness import generator
from blocks.weights.tensors import load_weights, read_weights

EXPERTS = {"n_experts": 4, "n_active_experts": 2}
TOKEN_IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6], [5, 3, 5, 8, 9, 7, 9, 3]])


def layer(**changes) -> MixtureOfExperts:
    return scramble(build_feed_forward(toy(**{**EXPERTS, **changes}), 0))


def planted_router(mixture: MixtureOfExperts) -> MixtureOfExperts:
    """Feature i asks for expert i."""
    with torch.no_grad():
        mixture.router.weight.copy_(10 * torch.eye(len(mixture.experts), D_MODEL))
    return mixture


def one_hot(*features: int) -> torch.Tensor:
    """(1, seq, d_model): each token has one feature."""
    return torch.eye(D_MODEL)[list(features)][None]


def routed(config, x) -> dict[str, torch.Tensor]:
    model = build(config)
    planted_router(model.layers[0].feed_forward)
    free = {"layers.0.feed_forward_norm": lambda _: x}
    return record(model, x, replace=free).tensors


def test_no_number_of_a_sigmoid_router_is_lost_where_all_scores_are_0():
    mixture = layer(router_kind="sigmoid")
    mixture.expert_bias = torch.zeros(4)
    with torch.no_grad():
        mixture.router.weight.fill_(-1e4)
        out = mixture(torch.ones(1, 1, D_MODEL))
    assert not out.any()


def test_without_experts_the_layer_is_the_dense_one():
    assert type(build_feed_forward(toy(), 0)) is FeedForward
    assert expected_shapes(toy(n_active_experts=1)) == expected_shapes(toy())


@pytest.mark.parametrize("n_kv_heads", [4, 2])
def test_gpt_with_experts_is_the_mixtral_of_transformers(n_kv_heads: int):
    config = toy(
        architecture="gpt",
        n_layers=2,
        vocab_size=11,
        activation="swiglu",
        norm_kind="rmsnorm",
        position_kind="rope",
        attention_bias=False,
        feed_forward_bias=False,
        n_kv_heads=n_kv_heads,
        tie_embeddings=False,
        **EXPERTS,
    )
    ours = scramble(build(config))
    with torch.no_grad():
        assert_near(ours(TOKEN_IDS), hugging_face_mixtral(config, ours)(TOKEN_IDS).logits)


@pytest.mark.parametrize("activation", ["gelu", "swiglu"])
def test_each_token_is_the_weighted_sum_of_its_experts(activation: str):
    mixture, x = layer(activation=activation), toy_input()
    probs = mixture.router(x).softmax(-1)
    top = probs.topk(2, dim=-1)
    weight = top.values / top.values.sum(-1, keepdim=True)
    everything = torch.stack([expert(x) for expert in mixture.experts], dim=-2)
    chosen = everything.gather(-2, top.indices[..., None].expand(-1, -1, -1, D_MODEL))
    assert_near(mixture(x), (weight[..., None] * chosen).sum(-2))


DEEPSEEK = {
    "n_experts": 8,
    "n_active_experts": 3,
    "n_shared_experts": 2,
    "d_expert": 12,
    "n_expert_groups": 4,
    "n_active_groups": 2,
    "routed_scale": 2.5,
    "activation": "swiglu",
    "feed_forward_bias": False,
}
THEIRS = {
    "hidden_size": D_MODEL,
    "num_attention_heads": 4,
    "intermediate_size": D_FF,
    "moe_intermediate_size": 12,
    "n_routed_experts": 8,
    "num_experts_per_tok": 3,
    "n_shared_experts": 2,
    "n_group": 4,
    "topk_group": 2,
    "routed_scaling_factor": 2.5,
}


def with_our_weights(ours: MixtureOfExperts, theirs: torch.nn.Module) -> torch.nn.Module:
    """Theirs holds gate and up of all experts in one tensor."""
    both = [torch.cat((each.gate_proj.weight, each.up_proj.weight)) for each in ours.experts]
    weights = {
        "experts.gate_up_proj": torch.stack(both),
        "experts.down_proj": torch.stack([each.down_proj.weight for each in ours.experts]),
        "gate.weight": ours.router.weight,
        **{f"shared_experts.{k}": value for k, value in ours.shared.state_dict().items()},
    }
    if ours.expert_bias is not None:
        weights["gate.e_score_correction_bias"] = ours.expert_bias
    theirs.load_state_dict(weights)
    return theirs.eval()


@pytest.mark.parametrize("normalize_top_k", [True, False])
@torch.no_grad()
def test_a_sigmoid_router_with_its_bias_is_that_of_deepseek_v3(normalize_top_k: bool):
    ours = layer(router_kind="sigmoid", normalize_top_k=normalize_top_k, **DEEPSEEK)
    ours.expert_bias.copy_(0.3 * draw(8))
    theirs = DeepseekV3MoE(DeepseekV3Config(**THEIRS, norm_topk_prob=normalize_top_k))
    x = draw(BATCH, 20, D_MODEL)
    assert_near(ours(x), with_our_weights(ours, theirs)(x))


@pytest.mark.parametrize("n_expert_groups", [4, 1])
@torch.no_grad()
def test_a_softmax_router_of_groups_is_that_of_deepseek_v2(n_expert_groups: int):
    n_active_groups = min(2, n_expert_groups)
    groups = {"n_expert_groups": n_expert_groups, "n_active_groups": n_active_groups}
    ours = layer(normalize_top_k=False, **{**DEEPSEEK, **groups})
    method = "group_limited_greedy" if n_expert_groups > 1 else "greedy"
    theirs = DeepseekV2Moe(DeepseekV2Config(**THEIRS, topk_method=method))
    x = draw(BATCH, 20, D_MODEL)
    assert_near(ours(x), with_our_weights(ours, theirs)(x))


def test_the_bias_evens_the_load_while_training_and_nowhere_else():
    mixture, x = layer(router_kind="sigmoid", n_experts=4), draw(4, 64, D_MODEL) + 1
    with torch.no_grad():
        mixture.expert_bias.zero_()
        mixture(x)
        assert mixture.expert_bias.eq(0).all()
        before = busiest(mixture, x)
        with training_mode(generator(0, "dropout"), updates_statistics=True):
            mixture(x)
            load = torch.bincount(mixture.choose(mixture.score(x)).flatten(), minlength=4)
            step = mixture.expert_bias / 2 / BIAS_SPEED
            assert step.tolist() == (load.float().mean() - load).sign().tolist()
            for _ in range(600):
                mixture(x)
    assert before > 1.2 > 1.05 > busiest(mixture, x)


def busiest(mixture: MixtureOfExperts, x: torch.Tensor) -> float:
    """The load of the busiest expert against an even share."""
    load = torch.bincount(mixture.choose(mixture.score(x)).flatten(), minlength=4).float()
    return (load.max() / load.mean()).item()


def test_the_first_layers_of_a_mixture_may_be_dense():
    config = toy(n_layers=3, n_dense_layers=2, d_expert=6, **EXPERTS)
    kinds = [type(each.feed_forward) for each in build(config).layers]
    assert kinds == [FeedForward, FeedForward, MixtureOfExperts]
    assert config.replace(n_layers=1).has_experts(0)


def test_all_experts_active_and_alike_are_the_dense_layer():
    dense = scramble(build_dense(toy()))
    mixture = layer(n_active_experts=4)
    for expert in mixture.experts:
        load_weights(expert, read_weights(dense))
    assert_near(mixture(toy_input()), dense(toy_input()))


def test_the_router_sends_each_token_where_it_asks_to_go():
    config = toy(n_experts=4, n_active_experts=1, norm_kind="layernorm", position_kind="none")
    seen = routed(config, one_hot(2, 0, 2, 3, 2))
    assert seen["layers.0.expert_index"].flatten().tolist() == [2, 0, 2, 3, 2]
    assert seen["layers.0.expert_2.hidden"].shape == (3, config.d_ff)
    assert seen["layers.0.expert_1.hidden"].shape == (0, config.d_ff)
    assert seen["layers.0.expert_weight"].eq(1).all()


def test_the_capacity_drops_those_who_come_last():
    index = torch.tensor([[[2], [0], [2], [3], [2], [2]]])
    assert expert_room(6, 4, 1, 1.0) == 2  # 1.5 tokens, rounded up
    kept = within_capacity(index, 4, 1.0)
    assert kept.flatten().tolist() == [True, True, True, True, False, False]


def test_first_choices_are_served_before_second_ones():
    index = torch.tensor([[[0, 1], [2, 1], [1, 0]]])
    kept = within_capacity(index, 3, 0.5)  # one place each
    assert kept.tolist() == [[[True, False], [True, False], [True, False]]]


def test_a_dropped_token_writes_nothing():
    mixture = planted_router(layer(n_active_experts=1, expert_capacity=1.0, n_experts=4))
    out = mixture(one_hot(2, 2, 2, 2))
    assert expert_room(4, 4, 1, 1.0) == 1
    assert out[0, 0].abs().max() > 0
    assert out[0, 1:].eq(0).all()


@settings(max_examples=30)
@given(
    n_tokens=st.integers(1, 20),
    n_experts=st.integers(2, 6),
    n_active=st.integers(1, 2),
    capacity=st.floats(0.1, 3),
    seed=st.integers(0, 99),
)
def test_no_expert_takes_more_than_its_room(n_tokens, n_experts, n_active, capacity, seed):
    index = draw(1, n_tokens, n_experts, seed=seed).topk(n_active, dim=-1).indices
    kept = within_capacity(index, n_experts, capacity)
    load = torch.bincount(index[kept], minlength=n_experts)
    asked = torch.bincount(index.flatten(), minlength=n_experts)
    room = expert_room(n_tokens, n_experts, n_active, capacity)
    assert load.tolist() == asked.clamp(max=room).tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_it_runs_and_learns_in_every_number_format(dtype: torch.dtype):
    model = build(toy(n_layers=2, dropout=0.2, **EXPERTS), dtype=dtype)
    x = toy_input().to(dtype)
    with training_mode(generator(0, "dropout")):
        out = model(x)
    assert out.dtype is dtype
    out.square().mean().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    assert model.layers[0].feed_forward.router.weight.grad.abs().max() > 0


def test_one_active_expert_has_weight_one_and_leaves_the_router_without_gradient():
    one, two = (router_gradient(n_active_experts) for n_active_experts in (1, 2))
    assert one < 1e-5 * two


def router_gradient(n_active_experts: int) -> float:
    """The largest, of the sum of what comes out."""
    mixture = layer(n_active_experts=n_active_experts)
    mixture(toy_input()).sum().backward()
    return mixture.router.weight.grad.abs().max().item()


@pytest.mark.parametrize("initialization", ["pytorch", "normal", "zero_writes", "xavier_uniform"])
def test_every_expert_is_drawn_for_itself(initialization: str):
    model = build(toy(initialization=initialization, **EXPERTS))
    experts = model.layers[0].feed_forward.experts
    drawn = [expert.up_proj.weight for expert in experts]
    assert not any(torch.equal(drawn[0], other) for other in drawn[1:])
    is_zero = initialization == "zero_writes"
    assert all(expert.down_proj.weight.eq(0).all() == is_zero for expert in experts)
    again = build(toy(initialization=initialization, **EXPERTS))
    initialize(again, toy(initialization=initialization, **EXPERTS), seed=0)
    assert torch.equal(
        again.layers[0].feed_forward.router.weight, model.layers[0].feed_forward.router.weight
    )


@pytest.mark.parametrize("placement", ["pre", "post", "sandwich", "parallel"])
def test_every_probe_of_every_expert_has_its_own_path(placement: str):
    model = build(toy(norm_placement=placement, activation="swiglu", **EXPERTS))
    paths = [module.path for module in model.modules() if isinstance(module, Probe)]
    assert len(paths) == len(set(paths))
    seen = record(model, toy_input(), keep={"hidden"})
    assert len(seen.tensors) == 4
    n_routed = sum(len(hidden) for hidden in seen.tensors.values())
    assert n_routed == 2 * 2 * SEQ_LEN


def test_another_number_of_experts_leaves_all_other_weights():
    few, many = (build(toy(n_experts=n)).state_dict() for n in (2, 4))
    shared = few.keys() & many.keys() - {"layers.0.feed_forward.router.weight"}
    assert len(shared) == len(few) - 1
    assert all(torch.equal(few[name], many[name]) for name in shared)
