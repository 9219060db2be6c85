"""All heads in one picture: one byte per cell, codes for what is masked and what lies between."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

# Not 255: a run of it is all slashes in base64, and JSON writes each of them in six characters.
GUTTER, MASKED, LEAST, MOST = 0, 1, 2, 250
BLANK = GUTTER  # a column that is set apart: neither a weight nor masked
TITLE_SHARE = 0.22
SIDE, MANY_HEADS, SIDE_OF_MANY = 64, 32, 16


def encode(weights: Tensor, mask: Tensor | None) -> Tensor:
    """Weights 0 to 1 as bytes LEAST to MOST, MASKED where the mask forbids: same shape, uint8."""
    codes = (weights.float().clamp(0, 1) * (MOST - LEAST)).round() + LEAST
    if mask is not None:
        codes = torch.where(mask, codes, MASKED)
    return codes.to(torch.uint8)


def encode_layers(patterns: Sequence[Tensor], masks: Sequence[Tensor | None]) -> Tensor:
    """The codes of all heads of all layers, of the first sequence: (all heads, query, key).

    `patterns`: one per layer, (batch, n_heads, query, key); `masks`: that of each.
    """
    pairs = zip(patterns, masks, strict=True)
    return torch.cat([encode(pattern[:1], mask)[0] for pattern, mask in pairs])


def weights(pattern: Tensor, mask: Tensor | None) -> NDArray[np.float32]:
    """The weights of one head of one sequence, NaN where masked: (query, key).

    `pattern` is (1, 1, query, key); of a mask for several sequences, the first is meant.
    """
    seen = pattern.float() if mask is None else torch.where(mask, pattern.float(), torch.nan)
    return seen[0, 0].cpu().numpy()


def mask_codes(mask: Tensor | None, seq_len: int) -> NDArray[np.uint8]:
    """MOST where a query may see a key, MASKED elsewhere, in the first sequence: (query, key)."""
    if mask is None:
        return np.full((seq_len, seq_len), MOST, dtype=np.uint8)
    first = mask.reshape(-1, seq_len, seq_len)[0].cpu().numpy()
    return np.where(first, MOST, MASKED).astype(np.uint8)


def columns(n_heads: int) -> int:
    """How many tiles stand side by side."""
    return min(n_heads, max(4, math.ceil(math.sqrt(n_heads))))


def cells_per_side(seq_len: int, n_heads: int = 1) -> int:
    """How many cells k one drawn cell stands for, along each side.

    Of many heads, whole cells of what few heads are drawn with stand together.
    """
    k = math.ceil(seq_len / SIDE)
    return k if n_heads <= MANY_HEADS else k * math.ceil(math.ceil(seq_len / k) / SIDE_OF_MANY)


def shrink(codes: Tensor, k: int = 0) -> Tensor:
    """Keep the largest code of every k × k cells, or (0) of so many that a tile can show them.

    (n_heads, query, key) to (n_heads, rows, columns).
    """
    k = k or cells_per_side(codes.shape[-1], len(codes))
    return codes if k == 1 else F.max_pool2d(codes.float(), k, ceil_mode=True).to(torch.uint8)


def tile(codes: Tensor, columns: int) -> NDArray[np.uint8]:
    """(n_heads, rows, columns) side by side: (height, width).

    Between them a gutter of one cell, and above each one room for its title.
    """
    n_rows, title = math.ceil(len(codes) / columns), math.ceil(TITLE_SHARE * codes.shape[1])
    padded = F.pad(codes, (0, 1, title, 0, 0, n_rows * columns - len(codes)), value=GUTTER)
    grid = padded.unflatten(0, (n_rows, columns)).transpose(1, 2).flatten(2).flatten(0, 1)
    return grid[:, :-1].cpu().numpy()
