"""Norms and rotations of heads, and ReLU², by kernels of our own, each in one reading of memory.

torch takes seven operations to turn queries and copies them before it norms them: of a training
step that was a third. Equal to `positions.turn_pairs`, `torch.nn.functional.rms_norm` and
`relu(x).square()`, forward and backward, but rounded once.
"""

from typing import Any

import torch
from torch import Tensor

from blocks.model.triton import jit, next_power_of_2, tl

NUMBERS = 4096  # that one program reads
COUNTS = ("n_rows", "seq")  # one kernel for texts of all lengths


class Turned(torch.autograd.Function):
    """Pairs (i, i + width/2) of heads turned by `sign` times their angles; backward turns back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, sign: int = 1) -> Tensor:
        """(batch, n_heads, seq, d_head) to the same; `cos` and `sin` are (seq, width / 2)."""
        ctx.save_for_backward(cos, sin)
        ctx.sign = sign
        out, n_pairs = torch.empty_like(x), cos.shape[1]
        n_more = x.shape[3] - 2 * n_pairs
        blocks = next_power_of_2(n_pairs), next_power_of_2(n_more) if n_more else 0
        rows, of = _rows(x, out)
        angles = (cos, sin, cos.stride(0), sign, n_pairs, n_more)
        _turn[rows](x, out, *angles, *of, *blocks)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        """The gradient, turned back."""
        return Turned.apply(_laid(gradients[0]), *ctx.saved_tensors, -ctx.sign), None, None, None


class Normed(torch.autograd.Function):
    """x / √(mean(x²) + eps) in each head."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> Tensor:
        """(batch, n_heads, seq, d_head) to the same."""
        ctx.save_for_backward(x)
        ctx.eps, out = eps, torch.empty_like(x)
        rows, of = _rows(x, out)
        _norm[rows](x, out, eps, x.shape[3], *of, next_power_of_2(x.shape[3]))
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """(g − y · mean(g · y)) / √(mean(x²) + eps), with y what went out."""
        (x,), g = ctx.saved_tensors, _laid(gradients[0])
        out, d_head = torch.empty_like(x), x.shape[3]
        rows, of = _rows(x, out)
        strides = (g.stride(0), g.stride(1), g.stride(2))
        _norm_back[rows](x, out, g, *strides, ctx.eps, d_head, *of, next_power_of_2(d_head))
        return out, None


class SquaredReLU(torch.autograd.Function):
    """max(0, x)²."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Any shape, without gaps, to the same."""
        ctx.save_for_backward(x)
        return _of_all(x, x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        """2 · max(0, x) times the gradient."""
        (x,) = ctx.saved_tensors
        return _of_all(x, gradients[0].contiguous())


def _of_all(x: Tensor, g: Tensor) -> Tensor:
    """max(0, x)², or, where a gradient is given beside x, 2 · max(0, x) of it."""
    out, n = torch.empty_like(x), x.numel()
    _square[(-(-n // NUMBERS),)](x, g, out, n, g is not x, NUMBERS)
    return out


def _laid(gradient: Tensor) -> Tensor:
    """With the features of a head side by side."""
    return gradient if gradient.stride(3) == 1 else gradient.contiguous()


def _rows(x: Tensor, out: Tensor) -> tuple[tuple[int], tuple[int, ...]]:
    """How many programs, and what each is told of rows: heads stand side by side in a token."""
    batch, n_heads, seq, d_head = x.shape
    at_once = max(1, NUMBERS // next_power_of_2(d_head))
    n_rows = batch * n_heads * seq
    strides = (*x.stride()[:3], *out.stride()[:3])
    return (-(-n_rows // at_once),), (n_rows, n_heads, seq, *strides, at_once)


@jit
def _places(n_rows, n_heads, seq, of_text, of_head, of_token, at_once: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * at_once + tl.arange(0, at_once)
    token = row // n_heads
    place = token // seq * of_text + row % n_heads * of_head + token % seq * of_token
    return place[:, None], (token % seq)[:, None], (row < n_rows)[:, None]


@jit(do_not_specialize=COUNTS)
def _turn(
    x, out, cos, sin, of_angle, sign, n_pairs, n_more, n_rows, n_heads, seq,
    x_text, x_head, x_token, out_text, out_head, out_token,
    at_once: tl.constexpr, pairs: tl.constexpr, more: tl.constexpr,
):  # fmt: skip
    place, token, is_row = _places(n_rows, n_heads, seq, x_text, x_head, x_token, at_once)
    there, _, _ = _places(n_rows, n_heads, seq, out_text, out_head, out_token, at_once)
    pair = tl.arange(0, pairs)[None, :]
    is_pair = is_row & (pair < n_pairs)
    c = tl.load(cos + token * of_angle + pair, is_pair, 0.0).to(tl.float32)
    s = tl.load(sin + token * of_angle + pair, is_pair, 0.0).to(tl.float32) * sign
    first = tl.load(x + place + pair, is_pair, 0.0).to(tl.float32)
    second = tl.load(x + place + n_pairs + pair, is_pair, 0.0).to(tl.float32)
    tl.store(out + there + pair, first * c - second * s, is_pair)
    tl.store(out + there + n_pairs + pair, second * c + first * s, is_pair)
    if more > 0:
        rest = tl.arange(0, more)[None, :]
        is_rest = is_row & (rest < n_more)
        kept = tl.load(x + place + 2 * n_pairs + rest, is_rest)
        tl.store(out + there + 2 * n_pairs + rest, kept, is_rest)


@jit
def _square(x, g, out, n, is_back: tl.constexpr, at_once: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * at_once + tl.arange(0, at_once)
    positive = tl.maximum(tl.load(x + place, place < n, 0.0).to(tl.float32), 0.0)
    factor = positive
    if is_back:
        factor = 2 * tl.load(g + place, place < n, 0.0).to(tl.float32)
    tl.store(out + place, positive * factor, place < n)


@jit(do_not_specialize=COUNTS)
def _norm(
    x, out, eps, d_head, n_rows, n_heads, seq,
    x_text, x_head, x_token, out_text, out_head, out_token,
    at_once: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    place, _, is_row = _places(n_rows, n_heads, seq, x_text, x_head, x_token, at_once)
    there, _, _ = _places(n_rows, n_heads, seq, out_text, out_head, out_token, at_once)
    feature = tl.arange(0, width)[None, :]
    is_there = is_row & (feature < d_head)
    values = tl.load(x + place + feature, is_there, 0.0).to(tl.float32)
    size = tl.rsqrt(tl.sum(values * values, 1) / d_head + eps)[:, None]
    tl.store(out + there + feature, values * size, is_there)


@jit(do_not_specialize=COUNTS)
def _norm_back(
    x, out, g, g_text, g_head, g_token, eps, d_head, n_rows, n_heads, seq,
    x_text, x_head, x_token, out_text, out_head, out_token,
    at_once: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    place, _, is_row = _places(n_rows, n_heads, seq, x_text, x_head, x_token, at_once)
    there, _, _ = _places(n_rows, n_heads, seq, out_text, out_head, out_token, at_once)
    from_there, _, _ = _places(n_rows, n_heads, seq, g_text, g_head, g_token, at_once)
    feature = tl.arange(0, width)[None, :]
    is_there = is_row & (feature < d_head)
    values = tl.load(x + place + feature, is_there, 0.0).to(tl.float32)
    gradient = tl.load(g + from_there + feature, is_there, 0.0).to(tl.float32)
    size = tl.rsqrt(tl.sum(values * values, 1) / d_head + eps)[:, None]
    normal = values * size
    along = (tl.sum(gradient * normal, 1) / d_head)[:, None]
    tl.store(out + there + feature, (gradient - normal * along) * size, is_there)
