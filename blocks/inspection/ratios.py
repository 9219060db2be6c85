"""The feed-forward layer at other widths: its cost and its output."""

from typing import cast

import torch
from torch import Tensor, nn

from blocks.cost.parameters import count_parameters
from blocks.inspection.wide import layer_alone
from blocks.model.config import ModelConfig
from blocks.model.layers import ParallelLayer
from blocks.model.residual import Residual

RATIOS = (1, 2, 3, 4, 5, 6, 7, 8)


def count_wide(config: ModelConfig) -> int:
    """Parameters of one feed-forward layer, experts and router included."""
    table = count_parameters(config.one_block())
    return int(table.loc[table["group"] == "feed_forward", "count"].sum())


def flops_per_token(config: ModelConfig) -> int:
    """Floating-point operations of one feed-forward layer for one token, all matrices.

    2 · d_model · d_ff for each of up and down, and gate where there is one, in every active expert;
    2 · d_model · n_experts in the router. A multiplication and an addition are two.
    """
    n_matrices = 3 if config.feed_forward.activation.is_gated else 2
    router = 2 * config.d_model * config.n_experts if config.n_experts > 1 else 0
    return 2 * n_matrices * config.n_active_experts * config.d_model * config.d_ff + router


def at_width(
    config: ModelConfig, layer: int, x: Tensor, *, seed: int, device: str, dtype: torch.dtype
) -> Tensor:
    """What the layer writes for x where its weights are drawn from the seed: the shape of x."""
    wide = layer_alone(config, layer, seed=seed, device=device, dtype=dtype)
    with torch.no_grad():
        return wide(x)


def with_write(block: nn.Module, x: Tensor, attention: Tensor, write: Tensor) -> Tensor:
    """What a layer would give if its feed-forward part wrote `write`, in evaluation.

    `x` is the stream that the part's write is added to; `attention`, what attention wrote, counts
    where both parts write at once. All (batch, seq, d_model).
    """
    with torch.no_grad():
        if not isinstance(block, ParallelLayer):
            residual = cast(Residual, block.feed_forward_residual)
            return residual(x, lambda _: write)
        both = attention + write
        return x + both if block.is_connected else both


def rms(x: Tensor) -> float:
    """Root of the mean square of all values."""
    return float(x.float().square().mean().sqrt())


def relative_change(new: Tensor, old: Tensor) -> float:
    """RMS of the difference against RMS of the old; 0 where nothing moved."""
    moved, size = rms(new.float() - old.float()), rms(old)
    return moved / size if size else 0.0


def is_affordable(config: ModelConfig, dtype: torch.dtype, budget: int) -> bool:
    """Whether building the layer alone stays within `budget` bytes: drawn in float32, then kept."""
    itemsize = max(dtype.itemsize, torch.float32.itemsize)
    return 2 * itemsize * count_wide(config) <= budget
