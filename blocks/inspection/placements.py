"""The same weights with the norm in another place."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.config import ModelConfig
from blocks.inspection import flow, tiles, values
from blocks.kinds import NormKind, NormPlacement
from blocks.models import build
from blocks.probe import record

NO_NORM = "none"
PLACEMENTS = (*map(str, NormPlacement), NO_NORM)


def own_placement(config: ModelConfig) -> str:
    """Where the norm of a configuration sits; "none" where it has none."""
    has_norm = config.norm.norm_kind is not NormKind.NONE
    return str(config.norm.norm_placement) if has_norm else NO_NORM


def possible_placements(config: ModelConfig) -> tuple[str, ...]:
    """All but parallel where there is no feed-forward layer to be parallel with."""
    return tuple(
        name
        for name in PLACEMENTS
        if not (config.attention_only and name == NormPlacement.PARALLEL)
    )


def placed(config: ModelConfig, placement: str) -> ModelConfig:
    """The same with its norm there, or without one; LayerNorm where it had none."""
    if placement == own_placement(config):
        return config
    if placement == NO_NORM:
        return config.replace(norm_kind=NormKind.NONE)
    is_none = config.norm.norm_kind is NormKind.NONE
    kind = NormKind.LAYER_NORM if is_none else config.norm.norm_kind
    return config.replace(norm_kind=kind, norm_placement=placement)


@dataclass(frozen=True, eq=False)
class Placed:
    """What one layer leaves and how one head reads, in one placement.

    `moments`: of all values of resid_post, by name as in `flow.MOMENTS`; `spread`: value, density
    (None where they are not finite, or all alike); `codes`: the pattern of the head in the first
    sequence, one byte a cell.
    """

    moments: dict[str, float]
    spread: pd.DataFrame | None
    codes: NDArray[np.uint8]


def measure_placed(
    config: ModelConfig,
    x: Tensor,
    mask: Tensor | None,
    *,
    seed: int,
    dtype: torch.dtype,
    layer: int,
    head: int,
    training_seed: int | None = None,
) -> Placed:
    """Build the model of `config` from `seed`, run it on `x`, and keep what is small.

    Weights are drawn by name, each from its own generator: those that two placements share are
    equal under one seed.
    """
    model = build(config, seed=seed, device=str(x.device), dtype=dtype)
    paths = f"layers.{layer}.resid_post", f"layers.{layer}.pattern"
    seen = record(model, x, mask=mask, keep=paths, training_seed=training_seed)
    stream, pattern = (seen.tensor(path) for path in paths)
    moments = dict(zip(flow.MOMENTS, flow.moments(stream).tolist(), strict=True))
    codes = tiles.encode(pattern[:1, head : head + 1].nan_to_num(), mask)[0, 0]
    return Placed(moments, _density(stream, moments), codes.cpu().numpy())


def _density(x: Tensor, moments: dict[str, float]) -> pd.DataFrame | None:
    """Share of all values per unit of value, so that scales can be compared: value, density."""
    if not np.isfinite(list(moments.values())).all():
        return None
    found = values.histogram(x)
    width = found["value"][1] - found["value"][0]
    if not width > 0:
        return None
    return pd.DataFrame({"value": found["value"], "density": found["share"] / width})
