"""Ways to attend, on the same queries, keys and values; each query sees itself and what was before.

All take q, k, v of (batch, n_heads, seq, d_head) and give the same shape. What differs is which
pairs are scored, and so how time and memory grow with n = seq.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from blocks.model.attention import attention_pattern, attention_scores
from blocks.model.masks import causal, sliding_window

CHUNK = 64


class AttentionKind(StrEnum):
    """The ways that are compared."""

    FULL = "full"
    FUSED = "fused"
    WINDOW = "window"
    STRIDED = "strided"
    LINEAR = "linear"


@dataclass(frozen=True)
class Reach:
    """How far the sparse kinds see: `window` tokens back; every `stride`-th before that."""

    window: int
    stride: int


def default_reach(seq_len: int) -> Reach:
    """A window of 16, and the stride √n that makes strided attention cheapest."""
    return Reach(window=min(16, seq_len), stride=max(1, round(math.sqrt(seq_len))))


def full(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """softmax(QKᵀ/√d_head)·V step by step: n² scores are kept. Vaswani et al. 2017, eq. 1."""
    mask = causal(q.shape[-2], q.device)
    return attention_pattern(attention_scores(q, k, mask), mask) @ v


def fused(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attend with one fused kernel that never stores the scores. Dao et al. 2022."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def window(q: Tensor, k: Tensor, v: Tensor, size: int) -> Tensor:
    """Each query sees the last `size` tokens, itself included: n·size. Beltagy et al. 2020.

    Queries go in blocks of `size`, each with the keys of its own block and the one before.
    """
    n, (q, k, v) = q.shape[-2], _in_blocks(size, q, k, v)
    scores = _scaled(q) @ _with_block_before(k).mT  # (batch, n_heads, block, size, 2 size)
    scores = scores.masked_fill(~_local(n, size, q.device), -torch.inf)
    return _joined(scores.softmax(dim=-1) @ _with_block_before(v), n)


def strided(q: Tensor, k: Tensor, v: Tensor, stride: int) -> Tensor:
    """Attend to the last `stride` tokens, and every `stride`-th before: n·√n pairs at √n.

    One softmax over both. Child et al. 2019, section 4.3.
    """
    n = q.shape[-2]
    q, k, v = _in_blocks(stride, q, k, v)  # (batch, n_heads, block, place, d_head)
    near = _scaled(q) @ _with_block_before(k).mT
    near = near.masked_fill(~_local(n, stride, q.device), -torch.inf)
    far = (_scaled(q).transpose(2, 3) @ k.transpose(2, 3).mT).transpose(2, 3)
    earlier = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool, device=q.device).tril(-1)
    far = far.masked_fill(~earlier[:, None], -torch.inf)  # (batch, n_heads, block, place, block)
    weights = torch.cat((near, far), dim=-1).softmax(dim=-1)
    near, far = weights.split((2 * stride, weights.shape[-1] - 2 * stride), dim=-1)
    out = near @ _with_block_before(v)
    out = out + (far.transpose(2, 3) @ v.transpose(2, 3)).transpose(2, 3)
    return _joined(out, n)


def linear(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """φ(Q)·(φ(K)ᵀV), normalised, φ = elu + 1: no scores at all, n·d². Katharopoulos et al. 2020.

    In chunks: what came before a chunk is one sum of outer products, within it pairs are scored.
    """
    n = q.shape[-2]
    q, k = feature_map(q), feature_map(k)
    q, k, v = _in_blocks(CHUNK, q, k, F.pad(v, (0, 1), value=1.0))  # the last column counts
    sums = (k.mT @ v).cumsum(dim=2)  # (batch, n_heads, chunk, d_head, d_head + 1)
    before = F.pad(sums, (0, 0, 0, 0, 1, 0))[:, :, :-1]
    out = q @ before + (q @ k.mT).tril() @ v
    return _joined(out[..., :-1] / out[..., -1:], n)


def feature_map(x: Tensor) -> Tensor:
    """elu(x) + 1, which is positive: any shape."""
    return F.elu(x) + 1


def _scaled(q: Tensor) -> Tensor:
    return q * q.shape[-1] ** -0.5


def _in_blocks(size: int, *tensors: Tensor) -> tuple[Tensor, ...]:
    """(batch, n_heads, seq, d) each to (batch, n_heads, block, size, d), filled up with zeros."""
    n_more = -tensors[0].shape[-2] % size
    return tuple(F.pad(x, (0, 0, 0, n_more)).unflatten(2, (-1, size)) for x in tensors)


def _with_block_before(x: Tensor) -> Tensor:
    """Each block behind the one before it: (batch, n_heads, block, 2 size, d)."""
    before = F.pad(x, (0, 0, 0, 0, 1, 0))[:, :, :-1]
    return torch.cat((before, x), dim=3)


def _local(n: int, size: int, device: torch.device) -> Tensor:
    """Mask a block of queries over its own keys and those before: (block, size, 2 size)."""
    n_blocks = -(-n // size)
    query, key = torch.arange(size, device=device), torch.arange(2 * size, device=device) - size
    seen = (key <= query[:, None]) & (key > query[:, None] - size)
    exists = (torch.arange(n_blocks, device=device) > 0)[:, None, None] | (key >= 0)
    return seen & exists


def _joined(x: Tensor, n: int) -> Tensor:
    """Join blocks and drop their padding: (batch, n_heads, seq, d)."""
    return x.flatten(2, 3)[:, :, :n]


def attend_as(kind: AttentionKind, reach: Reach) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """The function of one kind."""
    match kind:
        case AttentionKind.FULL:
            return full
        case AttentionKind.FUSED:
            return fused
        case AttentionKind.WINDOW:
            return lambda q, k, v: window(q, k, v, reach.window)
        case AttentionKind.STRIDED:
            return lambda q, k, v: strided(q, k, v, reach.stride)
        case AttentionKind.LINEAR:
            return linear


def mask_of(kind: AttentionKind, reach: Reach, seq_len: int) -> Tensor:
    """Which pairs a kind scores: (query, key)."""
    if kind is AttentionKind.WINDOW:
        return sliding_window(seq_len, reach.window)
    if kind is AttentionKind.STRIDED:
        position = torch.arange(seq_len)
        far = (position[:, None] - position) % reach.stride == 0
        return sliding_window(seq_len, reach.stride) | (far & causal(seq_len))
    return causal(seq_len)


def pattern_of(kind: AttentionKind, reach: Reach, q: Tensor, k: Tensor) -> Tensor:
    """Return the weights of a kind, which may never hold them all: (…, query, key)."""
    mask = mask_of(kind, reach, q.shape[-2]).to(q.device)
    if kind is AttentionKind.LINEAR:
        weights = (feature_map(q) @ feature_map(k).mT).masked_fill(~mask, 0)
        return weights / weights.sum(dim=-1, keepdim=True)
    return attention_pattern(attention_scores(q, k, mask), mask)


def pairs_scored(kind: AttentionKind, reach: Reach, n: int) -> int:
    """Count products of a query with a key, or (linear) with a column of the sum.

    What the blocks fill up is not counted.
    """
    match kind:
        case AttentionKind.FULL | AttentionKind.FUSED:
            return n * (n + 1) // 2
        case AttentionKind.LINEAR:
            return n
        case AttentionKind.WINDOW:
            return _pairs_within(reach.window, n)
        case AttentionKind.STRIDED:
            return _pairs_within(reach.stride, n) + sum(i // reach.stride for i in range(n))


def _pairs_within(window: int, n: int) -> int:
    """Pairs of each query with the last `window` keys, its own included."""
    window = min(window, n)
    return n * window - window * (window - 1) // 2
