"""Who may attend to whom. A mask is boolean, and True means: may attend.

Shapes broadcast to (batch, n_heads, query, key); masks combine with `&`.
"""

import base64
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

MOST_PAINTED = 64
PAINTED = re.compile(r"(\d{1,2})\.([A-Za-z0-9_-]+)", re.ASCII)


class MaskKind(StrEnum):
    """The masks one can choose."""

    NONE = "none"
    CAUSAL = "causal"
    PADDING = "padding"
    CAUSAL_PADDING = "causal_padding"
    SLIDING_WINDOW = "sliding_window"
    PREFIX = "prefix"
    PAINTED = "painted"

    @property
    def hides_padding(self) -> bool:
        """Whether padding tokens are hidden from every query."""
        return self in (MaskKind.PADDING, MaskKind.CAUSAL_PADDING)


@dataclass(frozen=True, kw_only=True)
class MaskConfig:
    """A choice of mask; `window_size` and `prefix_len` count tokens, for the kinds that need it.

    `painted` is a mask drawn by hand, as text (see `painted_text`); empty, it is causal.
    """

    mask_kind: MaskKind = MaskKind.NONE
    window_size: int = 4
    prefix_len: int = 3
    painted: str = ""


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
        case MaskKind.PAINTED:
            return painted(seq_len, config.painted, device)


def everyone(seq_len: int, device: torch.device | str = "cpu") -> Tensor:
    """All see all: (query, key)."""
    return torch.ones(seq_len, seq_len, dtype=torch.bool, device=device)


def causal(seq_len: int, device: torch.device | str = "cpu") -> Tensor:
    """Each token sees itself and what came before: (query, key)."""
    return everyone(seq_len, device).tril()


@lru_cache(maxsize=4)
def shared_causal(seq_len: int, device: torch.device) -> Tensor:
    """`causal`, one tensor for all passes, which nobody writes into: (query, key).

    That it is this one can be known without reading it.
    """
    with torch.inference_mode(False):
        return causal(seq_len).to(device)


def is_shared_causal(mask: Tensor) -> bool:
    """Whether it is the mask that `shared_causal` gives."""
    is_square = mask.dim() == 2 and mask.shape[0] == mask.shape[1]
    return is_square and mask is shared_causal(len(mask), mask.device)


def rows_that_see(mask: Tensor) -> Tensor | None:
    """Which queries may see a key: (…, query, 1), or None where all are known to.

    Of a mask on an accelerator that is not asked, since the answer would have to be waited for.
    """
    if is_shared_causal(mask):
        return None
    sees_some = mask.any(dim=-1, keepdim=True)
    return None if mask.is_cpu and sees_some.all() else sees_some


def sliding_window(seq_len: int, window_size: int, device: torch.device | str = "cpu") -> Tensor:
    """Each token sees the last `window_size` tokens, itself included: (query, key)."""
    return causal(seq_len, device).triu(1 - window_size)


def near(seq_len: int, window: int, device: torch.device | str = "cpu") -> Tensor:
    """Each token sees those less than `window` away, itself included: (query, key)."""
    return everyone(seq_len, device).tril(window - 1).triu(1 - window)


def within(
    mask: Tensor | None, seq_len: int, window: int, device: torch.device | str = "cpu"
) -> Tensor | None:
    """Cut a mask to a window of `window` tokens, 0 for all: any shape.

    Beltagy et al. 2020, section 3.1; in a causal model half of the band is masked already.
    """
    if not 0 < window < seq_len:
        return mask
    local = near(seq_len, window, device)
    return local if mask is None else mask & local


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


def sees_ahead(mask: Tensor | None) -> bool:
    """Whether any token may see one that comes after it; without a mask all may."""
    return mask is None or bool(mask.triu(1).any())


def painted(seq_len: int, text: str, device: torch.device | str = "cpu") -> Tensor:
    """Read the mask in `text`, cut to `seq_len`; tokens beyond it are causal: (query, key)."""
    mask = causal(seq_len)
    if text:
        drawn = read_painted(text)[:seq_len, :seq_len]
        mask[: len(drawn), : len(drawn)] = drawn
    return mask.to(device)


def painted_text(mask: Tensor | NDArray[np.bool_]) -> str:
    """A square mask as text for a link: its side, a dot, its bits row by row in base64url.

    Raises ValueError beyond `MOST_PAINTED` tokens.
    """
    cells = np.asarray(mask, dtype=bool)
    side = len(cells)
    if cells.shape != (side, side) or not 1 <= side <= MOST_PAINTED:
        raise ValueError(f"a painted mask has 1 to {MOST_PAINTED} tokens a side")
    bits = np.packbits(cells)
    return f"{side}.{base64.urlsafe_b64encode(bits.tobytes()).decode().rstrip('=')}"


def read_painted(text: str) -> Tensor:
    """Read what `painted_text` wrote: (query, key). ValueError where the text is anything else."""
    match = PAINTED.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= MOST_PAINTED:
        raise ValueError(text[:MOST_PAINTED])
    side, letters = int(match[1]), match[2]
    n_bytes = -(-(side * side) // 8)
    if len(letters) != -(-(n_bytes * 8) // 6):
        raise ValueError(text[:MOST_PAINTED])
    packed = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8))[: side * side]
    mask = torch.from_numpy(bits.astype(bool)).view(side, side)
    if painted_text(mask) != text:  # bits beyond the last cell, a leading zero
        raise ValueError(text[:MOST_PAINTED])
    return mask
