"""The three attentions of an encoder–decoder: their patterns, their masks, all heads of each."""

import math
from enum import StrEnum

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from blocks.inspection import tiles
from blocks.model.config import ModelConfig
from blocks.model.source_target import SourceTargetMask
from blocks.observe.recording import Recording

SIDE, MANY_TILES, SIDE_OF_MANY = 32, 48, 24


class AttentionKind(StrEnum):
    """Which text reads which: the source itself, the target itself, the target the source."""

    ENCODER = "encoder"
    DECODER = "decoder"
    CROSS = "cross"

    @property
    def reads_source(self) -> bool:
        """Whether the keys are those of the source."""
        return self is not AttentionKind.DECODER

    @property
    def is_of_source(self) -> bool:
        """Whether the queries are those of the source."""
        return self is AttentionKind.ENCODER


def n_layers(config: ModelConfig, kind: AttentionKind) -> int:
    """How many layers have this attention."""
    return config.n_layers if kind.is_of_source else config.n_decoder_layers


def pattern(seen: Recording, kind: AttentionKind, layer: int) -> Tensor:
    """Weights of the first sequence: (n_heads, query, key)."""
    name = "cross_pattern" if kind is AttentionKind.CROSS else "pattern"
    stack = "encoder" if kind.is_of_source else "decoder"
    return seen.tensor(name, layer, stack=stack)[0]


def patterns(seen: Recording, kind: AttentionKind, config: ModelConfig) -> list[Tensor]:
    """Return the patterns of all layers."""
    return [pattern(seen, kind, layer) for layer in range(n_layers(config, kind))]


def allowed(mask: SourceTargetMask, kind: AttentionKind, n_query: int, n_key: int) -> Tensor:
    """Return the mask of the first sequence: (query, key)."""
    masks = {
        AttentionKind.ENCODER: mask.source,
        AttentionKind.DECODER: mask.target,
        AttentionKind.CROSS: mask.cross,
    }
    found = masks[kind]
    if found is None:
        return torch.ones(n_query, n_key, dtype=torch.bool)
    return found.reshape(-1, n_query, n_key)[0]


def weights(found: Tensor, is_open: Tensor) -> NDArray[np.float32]:
    """The weights of one head, NaN where masked: both (query, key)."""
    masked = torch.where(is_open.to(found.device), found.float(), torch.nan)
    shown: NDArray[np.float32] = masked.cpu().numpy()
    return shown


def frame(found: list[Tensor], is_open: Tensor) -> pd.DataFrame:
    """One row per head of all layers: layer, head, entropy_bits, effective_tokens (2^entropy).

    Means over the queries that may see at least two keys. `found`: one per layer, (n_heads,
    query, key); `is_open`: (query, key), or (layer, query, key) where layers differ.
    """
    stacked = torch.stack(found).float()  # (layer, head, query, key)
    chooses = (is_open.to(stacked.device).sum(dim=-1) > 1)[..., None, :]
    entropy = torch.special.entr(stacked).sum(dim=-1) / math.log(2)
    mean = (entropy * chooses).sum(dim=-1) / chooses.sum(dim=-1).clamp(min=1)
    n_heads = stacked.shape[1]
    table = pd.DataFrame({"entropy_bits": mean.flatten().cpu().numpy()})
    table.insert(0, "layer", table.index // n_heads)
    table.insert(1, "head", table.index % n_heads)
    table["effective_tokens"] = 2 ** table["entropy_bits"]
    return table


def tiled(found: list[Tensor], is_open: Tensor) -> NDArray[np.uint8]:
    """All heads as square tiles, a row of tiles per layer, one byte per cell.

    A long text is drawn by the largest weight of so many cells, a short one with large cells. Both
    as `frame` takes them.
    """
    open_heads = is_open.to(found[0].device)[..., None, :, :]
    codes = tiles.encode(torch.stack(found), open_heads).flatten(0, 1)
    side = SIDE if len(codes) <= MANY_TILES else SIDE_OF_MANY
    strides = [max(1, math.ceil(n / side)) for n in codes.shape[1:]]
    pooled = F.max_pool2d(codes.float()[None], strides, ceil_mode=True)
    square = F.interpolate(pooled, size=(side, side), mode="nearest")[0]
    return tiles.tile(square.to(torch.uint8), found[0].shape[0])
