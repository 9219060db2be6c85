"""The bend of the feed-forward layer, its slope, and where the units of a run stand on it."""

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from blocks.feed_forward import ACTIVATIONS
from blocks.kinds import Activation

CLOSED, FLAT = 0.01, 0.01
RELU_KINDS = (Activation.RELU, Activation.RELU_SQUARED, Activation.REGLU)
N_POINTS, N_BINS = 401, 80


def slope(activation: Activation, z: Tensor) -> Tensor:
    """φ′(z) by autograd, value by value, in float32 or more: same shape as z."""
    z = z.detach().to(torch.promote_types(z.dtype, torch.float32)).requires_grad_()
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(ACTIVATIONS[activation](z).sum(), z)
    return gradient


def is_off(activation: Activation, z: Tensor) -> Tensor:
    """Where a unit lets nothing through: φ(z) = 0 of the ReLU kinds, |φ(z)| < 0.01 of the others.

    Same shape as z, bool.
    """
    value = ACTIVATIONS[activation](z.float())
    return value == 0 if activation in RELU_KINDS else value.abs() < CLOSED


def is_saturated(activation: Activation, z: Tensor) -> Tensor:
    """Where hardly any gradient passes: |φ′(z)| < 0.01. Same shape as z, bool."""
    return slope(activation, z).abs() < FLAT


def curves(reach: float) -> pd.DataFrame:
    """φ and φ′ of every kind between −reach and reach: activation, z, value, slope."""
    z = torch.linspace(-reach, reach, N_POINTS, dtype=torch.float64)
    found = [
        pd.DataFrame(
            {
                "activation": str(kind),
                "z": z.numpy(),
                "value": ACTIVATIONS[kind](z).numpy(),
                "slope": slope(kind, z).numpy(),
            }
        )
        for kind in Activation
    ]
    return pd.concat(found, ignore_index=True)


def same_bend() -> tuple[tuple[Activation, ...], ...]:
    """The kinds by the function they bend with: a gated kind has that of its gate."""
    z = torch.linspace(-3, 3, 61)
    groups: dict[tuple[float, ...], list[Activation]] = {}
    for kind in Activation:
        groups.setdefault(tuple(ACTIVATIONS[kind](z).tolist()), []).append(kind)
    return tuple(map(tuple, groups.values()))


def spread(z: Tensor, reach: float) -> pd.DataFrame:
    """How the pre-activations spread over −reach to reach: value (bin centre), share of all.

    What lies outside is in no bin.
    """
    counts = torch.histc(z.float(), N_BINS, -reach, reach).cpu().numpy() / max(1, z.numel())
    width = 2 * reach / N_BINS
    return pd.DataFrame({"value": -reach + (np.arange(N_BINS) + 0.5) * width, "share": counts})
