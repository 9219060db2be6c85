"""Texts of nearby lengths as one: filled up to a length that many share, and cut again.

What fills a text up stands behind it. No token of the text sees it: not by attention, which has a
mask, nor by a state that is passed from token to token; and no position moves.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from blocks.model.config import ModelConfig
from blocks.model.kinds import PositionKind, RopeScaling
from blocks.model.masks import is_shared_causal, shared_causal

SHORTEST, PARTS = 16, 8


@dataclass(frozen=True, eq=False)
class Filled:
    """What a pass reads, and which of its positions are text: (seq,); None where all are."""

    x: Any
    mask: Any
    is_text: Tensor | None = None
    n: int = 0

    def cut(self, x: Tensor, *axes: int) -> Tensor:
        """Some values without those of what fills up; `axes` are those of positions."""
        if self.is_text is None:
            return x
        if x.dtype is torch.bool and is_shared_causal(x):
            return shared_causal(self.n, x.device)
        for axis in axes:
            x = x.narrow(axis, 0, self.n)
        return x


def filled_length(config: ModelConfig, x: Any) -> int:
    """The length that a text is filled up to, an eighth of it more at most; 0: it stays as it is.

    Two texts have two lengths, and experts may have room for few.
    """
    if isinstance(x, tuple) or config.n_experts > 1:
        return 0
    n, position = x.shape[1], config.position
    step = max(SHORTEST, 2 ** n.bit_length() // (2 * PARTS))
    wanted = -(-n // step) * step
    if position.position_kind is PositionKind.LEARNED:
        wanted = min(wanted, position.max_seq_len)
    if position.rope_scaling is RopeScaling.LONGROPE and n <= position.rope_trained_len:
        wanted = min(wanted, position.rope_trained_len)  # beyond it all tokens turn more slowly
    return max(n, wanted)


def filled(x: Any, mask: Any, length: int) -> Filled:
    """A text and its mask filled up to this length; 0: as they are."""
    if length == 0:
        return Filled(x, mask)
    n = x.shape[1]
    more, is_text = length - n, torch.arange(length, device=x.device) < n
    ids_or_vectors = F.pad(x, (0, more) if x.dim() == 2 else (0, 0, 0, more))
    return Filled(ids_or_vectors, _filled_mask(mask, is_text, more), is_text, n)


def _filled_mask(mask: Tensor | None, is_text: Tensor, more: int) -> Tensor:
    """Without a mask all see all of the text."""
    if mask is None:
        return is_text.expand(len(is_text), -1).clone()
    if is_shared_causal(mask):
        return shared_causal(len(is_text), mask.device)
    return F.pad(mask, (0, more, 0, more))
