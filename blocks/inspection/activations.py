"""The bend of the feed-forward layer, its slope, and where the units of a run stand on it."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from blocks.inspection.wide import Place, SeenLayer
from blocks.model.feed_forward import ACTIVATIONS
from blocks.model.kinds import Activation

CLOSED, FLAT = 0.01, 0.01
RELU_KINDS = (Activation.RELU, Activation.RELU_SQUARED, Activation.REGLU)
N_POINTS, N_BINS = 401, 80
LEAST_REACH, MOST_REACH, INSIDE = 4.0, 12.0, 0.999


@dataclass(frozen=True)
class Standing:
    """Where the units stand on the bend: shares of all pairs of a token and a unit.

    `below_zero`, `off` and `flat` (see `is_off` and `is_saturated`), the median of z, `reach`: an
    x axis from −reach to reach shows them well, and `outside` is the share beyond.
    """

    below_zero: float
    off: float
    flat: float
    median: float
    outside: float
    reach: float


@dataclass(frozen=True, eq=False)
class ActivationFacts:
    """Every activation function, and where the units of a layer stand on the chosen one.

    `curves`: activation, z, value, slope; `spread` of the pre-activations: value, share.
    """

    place: Place
    chosen: Activation
    standing: Standing
    curves: pd.DataFrame
    spread: pd.DataFrame


def activation_facts(seen: SeenLayer, expert: int) -> ActivationFacts:
    """The activation of an expert, or of the dense layer (expert 0)."""
    chosen, z = seen.run.config.feed_forward.activation, seen.inside[expert].pre
    found = standing(chosen, z)
    reach = found.reach
    return ActivationFacts(seen.place(expert), chosen, found, curves(reach), spread(z, reach))


def standing(activation: Activation, z: Tensor) -> Standing:
    """Sum up the pre-activations of a layer, any shape, in one transfer."""
    flat_z = z.float().flatten()
    size = flat_z.abs()
    usual = size.kthvalue(1 + int(INSIDE * (len(size) - 1))).values
    reach = float(math.ceil(min(max(float(usual), LEAST_REACH), MOST_REACH)))
    marks = (flat_z < 0, is_off(activation, flat_z), is_saturated(activation, flat_z), size > reach)
    shares = [mark.float().mean() for mark in marks]
    below, off, flat, outside, median = torch.stack((*shares, flat_z.median())).tolist()
    return Standing(below, off, flat, median, outside, reach)


def slope(activation: Activation, z: Tensor) -> Tensor:
    """φ′(z) by autograd, value by value, in float32 or more: same shape as z."""
    z = z.detach().to(torch.promote_types(z.dtype, torch.float32)).requires_grad_()
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(ACTIVATIONS[activation](z).sum(), z)
    return gradient


def is_off(activation: Activation, z: Tensor) -> Tensor:
    """Mark where a unit is off: φ(z) = 0 of the ReLU kinds, |φ(z)| < 0.01 of the others.

    Same shape as z, bool.
    """
    value = ACTIVATIONS[activation](z.float())
    return value == 0 if activation in RELU_KINDS else value.abs() < CLOSED


def is_saturated(activation: Activation, z: Tensor) -> Tensor:
    """Mark where hardly any gradient passes: |φ′(z)| < 0.01. Same shape as z, bool."""
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
