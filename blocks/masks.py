"""Who may attend to whom. A mask is boolean, and True means: may attend.

Shapes broadcast to (batch, n_heads, query, key); masks combine with `&`.
"""

from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor


class MaskKind(StrEnum):
    """The masks one can choose."""

    NONE = "none"
    CAUSAL = "causal"
    PADDING = "padding"
    CAUSAL_PADDING = "causal_padding"
    SLIDING_WINDOW = "sliding_window"
    PREFIX = "prefix"

    @property
    def hides_padding(self) -> bool:
        """Whether padding tokens are hidden from every query."""
        return self in (MaskKind.PADDING, MaskKind.CAUSAL_PADDING)


@dataclass(frozen=True, kw_only=True)
class MaskConfig:
    """A choice of mask; `window_size` and `prefix_len` count tokens, for the kinds that need it."""

    mask_kind: MaskKind = MaskKind.NONE
    window_size: int = 4
    prefix_len: int = 3


def build_mask(config: MaskConfig, is_token: Tensor) -> Tensor | None:
    """The mask for a batch, or None where everyone may attend to everyone.

    `is_token` is (batch, seq), False on padding. Returns (query, key) or (batch, 1, query, key).
    """
    seq_len, device = is_token.shape[1], is_token.device
    match config.mask_kind:
        case MaskKind.NONE:
            return None
        case MaskKind.CAUSAL:
            return causal(seq_len, device)
        case MaskKind.PADDING:
            return padding(is_token)
        case MaskKind.CAUSAL_PADDING:
            return causal(seq_len, device) & padding(is_token)
        case MaskKind.SLIDING_WINDOW:
            return sliding_window(seq_len, config.window_size, device)
        case MaskKind.PREFIX:
            return prefix(seq_len, config.prefix_len, device)


def everyone(seq_len: int, device: torch.device | str = "cpu") -> Tensor:
    """All see all: (query, key)."""
    return torch.ones(seq_len, seq_len, dtype=torch.bool, device=device)


def causal(seq_len: int, device: torch.device | str = "cpu") -> Tensor:
    """Each token sees itself and what came before: (query, key)."""
    return everyone(seq_len, device).tril()


def sliding_window(seq_len: int, window_size: int, device: torch.device | str = "cpu") -> Tensor:
    """Each token sees the last `window_size` tokens, itself included: (query, key)."""
    return causal(seq_len, device).triu(1 - window_size)


def prefix(seq_len: int, prefix_len: int, device: torch.device | str = "cpu") -> Tensor:
    """All see the first `prefix_len` tokens; after them it is causal: (query, key)."""
    mask = causal(seq_len, device)
    mask[:, :prefix_len] = True
    return mask


def padding(is_token: Tensor) -> Tensor:
    """No one sees padding: (batch, seq) to (batch, 1, query, key)."""
    return cross_padding(is_token.shape[1], is_token)


def cross_padding(query_len: int, is_token: Tensor) -> Tensor:
    """No query sees padding in another sequence: (batch, key) to (batch, 1, query, key)."""
    return is_token[:, None, None, :].expand(-1, 1, query_len, -1)
