"""Activations against torch's own, gates against their formula."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812
from toy import BATCH, D_MODEL, SEQ_LEN, assert_near, scramble, toy, toy_input
from transformers import GptOssConfig
from transformers.activations import QuickGELUActivation
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssExperts

from blocks.model.feed_forward import build_dense
from blocks.model.kinds import Activation

SMALL = {"hidden_size": 4, "intermediate_size": 4, "num_local_experts": 2}
# (up, gate) to hidden
FORMULAS: dict[Activation, Callable[[Tensor, Tensor | None], Tensor]] = {
    Activation.RELU: lambda up, _: F.relu(up),
    Activation.RELU_SQUARED: lambda up, _: F.relu(up) ** 2,
    Activation.GELU: lambda up, _: F.gelu(up),
    Activation.GELU_TANH: lambda up, _: F.gelu(up, approximate="tanh"),
    Activation.SILU: lambda up, _: F.silu(up),
    Activation.GLU: lambda up, gate: F.glu(torch.cat((up, gate), dim=-1)),  # first · σ(second)
    Activation.REGLU: lambda up, gate: up * gate.clamp(min=0),
    Activation.GEGLU: lambda up, gate: up * gate * (1 + torch.erf(gate / 2**0.5)) / 2,
    Activation.GEGLU_TANH: lambda up, gate: up * F.gelu(gate, approximate="tanh"),
    Activation.SWIGLU: lambda up, gate: up * gate / (1 + torch.exp(-gate)),
    Activation.QUICK_GEGLU: lambda up, gate: up * QuickGELUActivation()(gate),
}


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("activation", Activation)
def test_feed_forward_is_its_formula(activation: Activation, has_bias: bool):
    layer = build_dense(toy(activation=activation, feed_forward_bias=has_bias))
    x = toy_input()
    scramble(layer)
    gate = layer.gate_proj(x) if activation.is_gated else None
    hidden = FORMULAS[activation](layer.up_proj(x), gate)
    assert_near(layer(x), layer.down_proj(hidden))
    assert layer(x).shape == (BATCH, SEQ_LEN, D_MODEL)
    assert (layer.up_proj.bias is not None) is has_bias


@pytest.mark.parametrize("limit", [0.3, 50.0])
def test_limits_and_offset_are_those_of_gpt_oss(limit: float):
    cut = {"activation": "quick_geglu", "gate_limit": limit, "up_offset": True}
    layer, x = scramble(build_dense(toy(**cut))), toy_input()
    theirs = GptOssExperts(GptOssConfig(swiglu_limit=limit, **SMALL))
    both = torch.stack((layer.gate_proj(x), layer.up_proj(x)), dim=-1).flatten(-2)
    assert (both.abs() > limit).any() == (limit < 1)
    assert_near(layer(x), layer.down_proj(theirs._apply_gate(both)))


def test_each_position_thinks_alone():
    layer, x = scramble(build_dense(toy())), toy_input()
    assert_near(layer(x)[:, 2:3], layer(x[:, 2:3]))
