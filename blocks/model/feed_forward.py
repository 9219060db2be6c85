"""The feed-forward layer, applied to each position independently."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.model.config import ModelConfig
from blocks.model.dropout import Dropout
from blocks.model.fused import fuses, squared_relu
from blocks.model.kinds import Activation
from blocks.model.multiplier import times
from blocks.model.probe import Probe

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    Activation.RELU: F.relu,
    Activation.RELU_SQUARED: lambda x: squared_relu(x) if fuses(x) else F.relu(x).square(),
    Activation.GELU: F.gelu,
    Activation.GELU_TANH: partial(F.gelu, approximate="tanh"),
    Activation.SILU: F.silu,
    Activation.GLU: torch.sigmoid,
    Activation.REGLU: F.relu,
    Activation.GEGLU: F.gelu,
    Activation.GEGLU_TANH: partial(F.gelu, approximate="tanh"),
    Activation.SWIGLU: F.silu,
    Activation.QUICK_GEGLU: lambda x: F.silu(1.702 * x) / 1.702,  # x · σ(1.702 x), nearly GELU
}


def build_dense(config: ModelConfig, d_ff: int | None = None) -> nn.Module:
    """Build one dense feed-forward layer: the whole sub-layer, or an expert of its own width."""
    return feed_forward_type(config)(config, d_ff or config.d_ff)


def feed_forward_type(config: ModelConfig) -> "type[FeedForward]":
    """Class of the dense feed-forward layer."""
    return GatedFeedForward if config.feed_forward.activation.is_gated else FeedForward


class FeedForward(nn.Module):
    """down(activation(up(x))): (batch, seq, d_model) to the same.

    Vaswani et al. 2017, eq. 2; GELU of Hendrycks and Gimpel 2016; squared ReLU of So et al. 2021.
    """

    def __init__(self, config: ModelConfig, d_ff: int):
        super().__init__()
        d_model, bias = config.d_model, config.feed_forward.feed_forward_bias
        self.up_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.down_proj = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = ACTIVATIONS[config.feed_forward.activation]
        self.dropout, self.multiplier = Dropout(config.dropout), config.scales.residual_multiplier
        self.up, self.hidden = Probe("up"), Probe("hidden")

    def forward(self, x: Tensor) -> Tensor:
        """Widen, bend, narrow."""
        hidden = self.hidden(self.activation(self.up(self.up_proj(x))))
        return times(self.down_proj(self.dropout(hidden)), self.multiplier)


class GatedFeedForward(FeedForward):
    """down(activation(gate(x)) · up(x)): (batch, seq, d_model) to the same.

    Shazeer 2020, eq. 6: GLU, ReGLU, GEGLU and SwiGLU by the activation of the gate. With a limit
    and an offset, down(activation(min(gate(x), limit)) · (1 + clamp(up(x), ±limit))), OpenAI 2025
    (gpt-oss), as its code has it.
    """

    def __init__(self, config: ModelConfig, d_ff: int):
        super().__init__(config, d_ff)
        bias = config.feed_forward.feed_forward_bias
        self.gate_proj = nn.Linear(config.d_model, d_ff, bias=bias)
        self.limit, self.offset = config.feed_forward.gate_limit, config.feed_forward.up_offset
        self.gate_pre, self.gate = Probe("gate_pre"), Probe("gate")

    def forward(self, x: Tensor) -> Tensor:
        """Widen twice, let one decide how much of the other passes, narrow."""
        gate = self.gate(self.activation(self.gate_pre(at_most(self.gate_proj(x), self.limit))))
        up = self.up(and_one(between(self.up_proj(x), self.limit), self.offset))
        hidden = self.hidden(gate * up)
        return times(self.down_proj(self.dropout(hidden)), self.multiplier)


def at_most(x: Tensor, limit: float) -> Tensor:
    """x, or the limit where x is above it; 0 is no limit. Any shape."""
    return x.clamp(max=limit) if limit else x


def between(x: Tensor, limit: float) -> Tensor:
    """Clamp x to ± limit; 0 is no limit. Any shape."""
    return x.clamp(-limit, limit) if limit else x


def and_one(x: Tensor, is_so: bool) -> Tensor:
    """1 + x where that is asked for: any shape."""
    return 1 + x if is_so else x
