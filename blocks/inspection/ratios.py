"""The feed-forward layer at other widths: its cost and its output."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from blocks.cost.parameters import count_parameters
from blocks.inspection.wide import SeenLayer, layer_alone
from blocks.model import devices
from blocks.model.config import ModelConfig

RATIOS = (1, 2, 3, 4, 5, 6, 7, 8)


class Width(NamedTuple):
    """A feed-forward layer of d_ff = ratio · d_model with random weights.

    `parameters` and `flops` (per token) by formula; `write_rms`: RMS of its output for the layer's
    real input, `stream_rms` of what that is added to.
    """

    ratio: int
    parameters: int
    flops: int
    write_rms: float
    stream_rms: float


@dataclass(frozen=True)
class WidthFacts:
    """A feed-forward layer at several widths, weights drawn from `seed`, and as it is in its run.

    `own_write`: RMS of what it writes there; `is_random`: whether its own weights are from the seed
    too.
    """

    widths: tuple[Width, ...]
    seed: int
    own_ratio: float
    own_write: float
    is_random: bool

    @property
    def growth(self) -> float:
        """How many times the parameters of the narrowest the widest has."""
        return self.widths[-1].parameters / self.widths[0].parameters


def width_facts(seen: SeenLayer, widths: tuple[Width, ...]) -> WidthFacts:
    """Return the measurements at some widths, beside the layer itself."""
    run = seen.run
    return WidthFacts(
        widths=widths,
        seed=run.seed,
        own_ratio=run.config.d_ff / run.config.d_model,
        own_write=rms(seen.feed_forward_out),
        is_random=not run.weights,
    )


def measure_width(seen: SeenLayer, ratio: int) -> Width:
    """Run the layer at another width on its real input."""
    run, config = seen.run, at_ratio(seen.run.config, ratio)
    dtype = devices.DTYPES[run.dtype]
    write = at_width(config, seen.layer, seen.x, seed=run.seed, device=run.device, dtype=dtype)
    return Width(
        ratio=ratio,
        parameters=count_wide(config),
        flops=flops_per_token(config),
        write_rms=rms(write),
        stream_rms=rms(seen.stream),
    )


def at_ratio(config: ModelConfig, ratio: int) -> ModelConfig:
    """The same model with d_ff = ratio · d_model, its experts as wide."""
    return config.replace(d_ff=ratio * config.d_model, d_expert=None)


def affordable_ratios(config: ModelConfig, dtype: torch.dtype, budget: int) -> tuple[int, ...]:
    """The ratios at which the layer alone stays within `budget` bytes."""
    return tuple(r for r in RATIOS if is_affordable(at_ratio(config, r), dtype, budget))


def count_wide(config: ModelConfig) -> int:
    """Parameters of one feed-forward layer, experts and router included."""
    table = count_parameters(config.one_block())
    return int(table.loc[table["group"] == "feed_forward", "count"].sum())


def flops_per_token(config: ModelConfig) -> int:
    """Floating-point operations of one feed-forward layer for one token, all matrices.

    2 · d_model · d_ff for each of up and down, and gate where there is one; of a mixture, the width
    of every active and shared expert, and 2 · d_model · n_experts in the router, 2 · d_model in a
    gate of the shared ones. A multiplication and an addition are two.
    """
    n_matrices = 3 if config.feed_forward.activation.is_gated else 2
    n_scores = (config.n_experts if config.n_experts > 1 else 0) + config.has_shared_gate
    width = (config.n_active_experts + config.n_shared_experts) * config.d_expert
    return 2 * config.d_model * (n_matrices * width + n_scores)


def at_width(
    config: ModelConfig, layer: int, x: Tensor, *, seed: int, device: str, dtype: torch.dtype
) -> Tensor:
    """What the layer writes for x where its weights are drawn from the seed: the shape of x."""
    wide = layer_alone(config, layer, seed=seed, device=device, dtype=dtype)
    with torch.no_grad():
        return wide(x)


def rms(x: Tensor) -> float:
    """Root of the mean square of all values."""
    return float(x.float().square().mean().sqrt())


def is_affordable(config: ModelConfig, dtype: torch.dtype, budget: int) -> bool:
    """Whether building the layer alone stays within `budget` bytes."""
    return bytes_to_build(config, dtype) <= budget


def bytes_to_build(config: ModelConfig, dtype: torch.dtype) -> int:
    """Bytes of the layer alone while it is built: drawn in float32, then kept."""
    return 2 * max(dtype.itemsize, torch.float32.itemsize) * count_wide(config)
