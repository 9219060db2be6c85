"""Multi-head attention: every token reads from the tokens it may see."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.model.config import ModelConfig
from blocks.model.dropout import Dropout
from blocks.model.fused import fuses_heads, normed
from blocks.model.held_cache import HeldLayer
from blocks.model.kinds import PositionKind
from blocks.model.kv_cache import CrossCache, LayerCache
from blocks.model.masks import is_shared_causal, rows_that_see, within
from blocks.model.multiplier import times
from blocks.model.positions import NoPosition, RelativeBias, Rotary, alibi_bias, rope_of
from blocks.model.probe import PatternProbe, Probe
from blocks.model.start import OnDevice, Start

ALL = slice(None)
Bias = Callable[[int, int, slice, slice], Tensor]  # how many queries, keys; which heads, queries
AT_ONCE = 2**22  # weights that are held at a time, where not all are asked for
MORE_ON_ACCELERATOR = 16  # times as many, where each start of an operation is dear


class Attention(nn.Module):
    """softmax(QKᵀ/√d_head + mask)·V in each head, heads joined by an output projection.

    (batch, seq, d_model) to the same. Vaswani et al. 2017, eq. 1 and section 3.2.2; with fewer
    key and value heads than query heads, grouped queries of Ainslie et al. 2023; with `qk_norm`,
    queries and keys of RMS 1, Henry et al. 2020. Heads may be wider or narrower than
    d_model / n_heads (Gemma, Qwen3). A local layer sees a window of the mask. Scores may be bent
    (`soft_cap`), a learned sink may take weight (`attention_pattern`), and a gate may decide how
    much of what was read is passed on: σ(W·x) ⊙ head_out, Qiu et al. 2025, eq. 5.
    """

    sinks: nn.Parameter | None

    def __init__(self, config: ModelConfig, layer: int = 0):
        super().__init__()
        self.window = config.window_of(layer)
        d_model, bias = config.d_model, config.attention.attention_bias
        self.n_heads, self.n_kv_heads, self.d_head = (
            config.n_heads,
            config.n_kv_heads,
            config.d_head,
        )
        self.q_proj = nn.Linear(d_model, self.n_heads * self.d_head, bias=bias)
        self.k_proj = nn.Linear(d_model, self.n_kv_heads * self.d_head, bias=bias)
        self.v_proj = nn.Linear(d_model, self.n_kv_heads * self.d_head, bias=bias)
        self.out_proj = nn.Linear(self.n_heads * self.d_head, d_model, bias=config.out_bias)
        self.q_norm = HeadNorm.of(config, self.n_heads)
        self.k_norm = HeadNorm.of(config, self.n_kv_heads)
        self.softcap = config.attention.score_softcap
        sinks = nn.Parameter(torch.empty(self.n_heads)) if config.attention.attention_sink else None
        self.register_parameter("sinks", sinks)
        width = config.gate_width
        self.out_gate_proj = nn.Linear(d_model, width, bias=bias) if width else None
        self.scale, self.multiplier = config.query_scale, config.scales.residual_multiplier
        self.rotate = _rotation(config, layer)
        self.is_alibi = config.position.position_kind is PositionKind.ALIBI
        self.relative: tuple[RelativeBias, ...] = ()  # held, not owned: all layers share it
        self.dropout = Dropout(config.dropout)
        self.q, self.k, self.v = Probe("q"), Probe("k"), Probe("v")
        self.scores, self.pattern = Probe("scores"), PatternProbe("pattern")
        self.head_out = Probe("head_out")

    def forward(
        self, x: Tensor, mask: Tensor | None = None, past: LayerCache | HeldLayer | None = None
    ) -> Tensor:
        """Attend; `mask` is True where a query may see a key, (…, query, key).

        With a `past`, x are the next tokens, keys and values of those before come from there, and
        the mask is that of the cache: of a local layer it holds the window alone.
        """
        start = 0 if past is None else past.seen
        q = self.q(self.rotate(self.queries(x), start))
        k = self.k(self.rotate(self.keys(x), start))
        v = self.v(self.values(x))
        if past is not None:
            k, v = past.extend(k, v)
        elif self.window:
            mask = within(mask, x.shape[1], self.window, x.device)
        return self.attend_and_project(x, q, k, v, mask, start)

    def attend_and_project(
        self, x: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, start: Start = 0
    ) -> Tensor:
        """Attend in every head, concatenate, project: (batch, query, d_model)."""
        head_out = self.heads(q, k, v, mask, start)
        gate = self.gate(x)
        if gate is not None:
            head_out = gate * head_out
        return self.project(head_out)

    def project(self, head_out: Tensor) -> Tensor:
        """Join the heads: (batch, n_heads, query, d_value) to (batch, query, d_model)."""
        return times(self.out_proj(join_heads(self.head_out(head_out))), self.multiplier)

    def heads(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, start: Start = 0
    ) -> Tensor:
        """Attend in every head: (batch, n_heads, query, width of a value)."""
        if isinstance(start, OnDevice) and mask is not None:
            return self.heads_of_one(q, k, v, mask, start)
        self.pattern.offer(lambda: self.later(q, k, mask))
        if self.is_seen:
            return self.attend_in_steps(q, k, v, mask, self.bias(q, k))
        made = self.later(q, k, mask)
        if self.is_long(made, v):
            return made.read(v)
        if self.softcap > 0 or self.is_slower_fused(q):
            return self.attend_in_steps(q, k, v, mask, self.bias(q, k))
        return attend(q, k, v, mask, self.bias(q, k), self.sinks)

    def heads_of_one(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, start: OnDevice
    ) -> Tensor:
        """Attend with one query, whose mask is added, −∞ where it forbids: (1, 1, room)."""
        bias = self.bias(q, k, start)
        bias = mask if bias is None else bias + mask
        if self.is_seen or self.softcap > 0:
            return self.attend_in_steps(q, k, v, None, bias)
        return attend(q, k, v, None, bias, self.sinks)

    @property
    def is_seen(self) -> bool:
        """Whether scores or pattern are needed, by a probe or by dropout."""
        is_watched = self.pattern.is_observed or self.scores.is_observed
        return is_watched or self.dropout.is_active

    def is_long(self, made: "Pattern", v: Tensor) -> bool:
        """Whether a pass would hold a number of each pair of tokens in each head, too many.

        The fused kernel wants a bias as a mask, cannot bend scores, and is none where values have
        another width; gradients keep all.
        """
        is_own = self.softcap > 0 or made.bias is not None or self.sinks is not None
        is_none = v.is_cpu and v.shape[-1] != made.q.shape[-1]
        return (is_own or is_none) and not made.q.requires_grad and len(made.blocks()) > 1

    def is_slower_fused(self, q: Tensor) -> bool:
        """Whether no fused kernel is faster: to train sinks, and on CPU the bfloat16 backward."""
        is_narrow = q.device.type == "cpu" and q.dtype is torch.bfloat16
        return q.requires_grad and (is_narrow or self.sinks is not None)

    def gate(self, x: Tensor) -> Tensor | None:
        """Gate the output, 0 to 1: (batch, n_heads, query, 1 or d_head); None without one."""
        if self.out_gate_proj is None:
            return None
        return split_heads(self.out_gate_proj(x).sigmoid(), self.n_heads)

    def queries(self, x: Tensor) -> Tensor:
        """Queries before position encoding: (batch, n_heads, query, d_head).

        Where scores are not scaled, √d_head times larger, so that its division does nothing.
        """
        q = self.q_norm(split_heads(self.q_proj(x), self.n_heads))
        return times(q, self.scale)

    def keys(self, x: Tensor) -> Tensor:
        """Keys before position encoding: (batch, n_kv_heads, key, d_head)."""
        return self.k_norm(split_heads(self.k_proj(x), self.n_kv_heads))

    def values(self, x: Tensor) -> Tensor:
        """Compute the values of each head: (batch, n_kv_heads, key, d_head)."""
        return split_heads(self.v_proj(x), self.n_kv_heads)

    def bias(self, q: Tensor, k: Tensor, start: Start = 0) -> Tensor | None:
        """Return the bias of ALiBi or of learned distances on the scores: (n_heads, query, key)."""
        if self.relative:
            return self.relative[0](q.shape[-2], k.shape[-2])
        if not self.is_alibi:
            return None
        n, n_keys = q.shape[-2], k.shape[-2]
        return alibi_bias(self.n_heads, n_keys, k.device, n_queries=n, start=start).to(k)

    def later(self, q: Tensor, k: Tensor, mask: Tensor | None) -> "Pattern":
        """What makes the weights, where they are asked for later; it holds no part of this."""
        bias: Bias | None = partial(_alibi, self.n_heads, k.device) if self.is_alibi else None
        bias = self.relative[0] if self.relative else bias
        return Pattern(q, k, mask, bias, self.softcap, self.sinks)

    def attend_in_steps(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """Attend step by step, with scores and pattern passing their probes."""
        scores = self.scores(attention_scores(q, k, mask, bias, self.softcap))
        pattern = self.pattern(attention_pattern(scores, mask, self.sinks))
        return self.dropout(pattern) @ repeat_kv(v, self.n_heads)


@dataclass(frozen=True, eq=False)
class Pattern:
    """The attention weights of one layer, made where they are asked for, of what made them.

    Queries and keys, (batch, n_heads or n_kv_heads, seq, d_qk), grow with the text, and the
    weights with its square. `bias` makes what is added to the scores of some of the queries; the
    rest as `attention_scores` and `attention_pattern` take it.
    """

    q: Tensor
    k: Tensor
    mask: Tensor | None
    bias: Bias | None
    softcap: float
    sinks: Tensor | None

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(batch, n_heads, query, key)."""
        return (*self.q.shape[:3], self.k.shape[2])

    def blocks(self) -> list[slice]:
        """Queries, so many at a time as are held together."""
        return query_blocks(self.shape, more=1 if self.q.is_cpu else MORE_ON_ACCELERATOR)

    def read(self, v: Tensor) -> Tensor:
        """Weights · V, some queries at a time: (batch, n_heads, query, width of a value)."""
        return torch.cat([self._read_by(some, v) for some in self.blocks()], dim=2)

    def _read_by(self, queries: slice, v: Tensor) -> Tensor:
        q, k, mask, bias = self._some(ALL, queries)
        v = v[:, :, : k.shape[2]]
        if self.softcap == 0 and v.shape[-1] == q.shape[-1]:
            return attend(q, k, v, mask, bias, self.sinks)
        scores = attention_scores(q, k, mask, bias, self.softcap)
        return attention_pattern(scores, mask, self.sinks) @ repeat_kv(v, q.shape[1])

    @torch.no_grad()
    def rows(self, heads: slice = ALL, queries: slice = ALL) -> Tensor:
        """The weights of some heads and queries: (batch, head, query, key)."""
        q, k, mask, bias = self._some(heads, queries)
        k = repeat_kv(k, self.q.shape[1])[:, heads]
        scores = attention_scores(q, k, mask, bias, self.softcap)
        sinks = None if self.sinks is None else self.sinks[heads]
        pattern = attention_pattern(scores, mask, sinks)
        return F.pad(pattern, (0, self.k.shape[2] - k.shape[2]))

    def _some(
        self, heads: slice, queries: slice
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Some queries, all keys up to the last that they are known to see, mask and bias."""
        rows = slice(*queries.indices(self.q.shape[2]))
        n = self._n_seen(rows)
        mask = None if self.mask is None else self.mask[..., rows, :n]
        bias = None
        if self.bias is not None:
            bias = self.bias(*self.shape[2:], heads, rows)[..., :n].to(self.k)
        return self.q[:, heads, rows], self.k[:, :, :n], mask, bias

    def _n_seen(self, rows: slice) -> int:
        """Count the keys up to the last one that any query sees; 1 at least.

        A mask on an accelerator is not asked: the answer would have to be waited for.
        """
        n_keys = self.k.shape[2]
        if self.mask is None or n_keys == 0:
            return n_keys
        if is_shared_causal(self.mask):
            return max(1, rows.stop)
        if not self.mask.is_cpu:
            return n_keys
        seen = self.mask[..., rows, :].reshape(-1, n_keys).any(0).nonzero()
        return int(seen[-1]) + 1 if len(seen) else 1


def query_blocks(shape: tuple[int, int, int, int], times: int = 1, *, more: int = 1) -> list[slice]:
    """Queries of a pattern (batch, n_heads, query, key), so many at a time as are held together.

    As many `times` as it takes, but for the last; `more`: times as many weights.
    """
    batch, n_heads, n_queries, n_keys = shape
    step = times * max(1, more * AT_ONCE // (times * batch * n_heads * n_keys))
    return [slice(first, min(n_queries, first + step)) for first in range(0, n_queries, step)]


def _alibi(
    n_heads: int, device: torch.device, n_queries: int, n_keys: int, heads: slice, some: slice
) -> Tensor:
    return alibi_bias(n_heads, n_keys, device, n_queries=n_queries, heads=heads, some=some)


class CrossAttention(Attention):
    """softmax(QKᵀ/√d_head + mask)·V: queries from the decoder, keys and values from the encoder.

    (batch, target, d_model) and (batch, source, d_model) to the first. Vaswani et al. 2017,
    section 3.2.3. Positions of two texts have no distance, so none is told here. The probes are
    those of `Attention`, named cross_q, cross_k, and so on.
    """

    def __init__(self, config: ModelConfig):
        super().__init__(config)
        self.rotate, self.is_alibi = NoPosition(), False
        for probe in self.children():
            if isinstance(probe, Probe):
                probe.path = f"cross_{probe.path}"

    def forward(  # type: ignore[override]  # it reads a second text
        self, x: Tensor, memory: Tensor, mask: Tensor | None = None, past: CrossCache | None = None
    ) -> Tensor:
        """Read from `memory`, the encoder's output; `mask` is (…, query, key).

        With a `past`, keys and values are computed once and then come from there.
        """
        q = self.q(self.queries(x))
        k, v = (each.expand(len(q), -1, -1, -1) for each in self.project_memory(memory, past))
        return self.attend_and_project(x, q, k, v, mask)

    def project_memory(self, memory: Tensor, past: CrossCache | None) -> tuple[Tensor, Tensor]:
        """Project the memory to keys and values, each (batch, n_kv_heads, source, d_head)."""
        if past is not None and past.keys is not None and past.values is not None:
            return past.keys, past.values
        k = self.k(self.keys(memory))
        v = self.v(self.values(memory))
        return (k, v) if past is None else past.keep(k, v)


class HeadNorm(nn.Module):
    """Queries or keys of RMS 1 in each head, then a scale where one is learned; any shape.

    Henry et al. 2020; the scale of each feature of a head as in Qwen3 (Yang et al. 2025). With an
    `offset` it is 1 + weight that scales, as in Gemma 3. Over all heads together as in OLMo 2 (OLMo
    Team 2024, section 3.2): (batch, n_heads, seq, d_head) to the same.
    """

    weight: nn.Parameter | None

    def __init__(self, config: ModelConfig, n_heads: int):
        super().__init__()
        self.eps, self.offset = config.norm.norm_eps, config.norm.norm_offset
        self.is_whole = config.attention.qk_norm_whole
        width = (n_heads if self.is_whole else 1) * config.d_head
        scale = nn.Parameter(torch.empty(width)) if config.attention.qk_norm_scale else None
        self.register_parameter("weight", scale)

    @classmethod
    def of(cls, config: ModelConfig, n_heads: int) -> nn.Module:
        """The one that the configuration asks for; values stay as they are where it does not."""
        return cls(config, n_heads) if config.attention.qk_norm else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Divide by the RMS of each head, or of all side by side, then scale."""
        scale = 1 + self.weight if self.offset and self.weight is not None else self.weight
        if self.is_whole:
            joined = join_heads(x)
            return split_heads(F.rms_norm(joined, joined.shape[-1:], scale, self.eps), x.shape[1])
        if scale is None and fuses_heads(x):
            return normed(x, self.eps)
        return F.rms_norm(x, x.shape[-1:], scale, self.eps)


def _rotation(config: ModelConfig, layer: int) -> nn.Module:
    return Rotary.of(rope_of(config, layer)) if config.turns(layer) else NoPosition()


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(batch, seq, n_heads · d_head) to (batch, n_heads, seq, d_head)."""
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """Reshape (batch, n_heads, seq, d_head) to (batch, seq, n_heads · d_head)."""
    return x.transpose(1, 2).flatten(2)


def repeat_kv(x: Tensor, n_heads: int) -> Tensor:
    """Repeat each key or value head for its group of query heads: (batch, n_heads, key, d_head)."""
    return x if x.shape[1] == n_heads else x.repeat_interleave(n_heads // x.shape[1], dim=1)


def attention_scores(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    softcap: float = 0.0,
) -> Tensor:
    """QKᵀ/√d_head, capped, + bias, −∞ where the mask forbids: (batch, n_heads, query, key)."""
    scores = soft_cap((q * q.shape[-1] ** -0.5) @ repeat_kv(k, q.shape[1]).mT, softcap)
    added = additive_mask(mask, bias, scores.dtype)
    return scores if added is None else scores.add_(added)


def soft_cap(x: Tensor, cap: float) -> Tensor:
    """cap · tanh(x / cap): nearly x while x is small, never beyond ±cap; any shape.

    A cap of 0 is none. Gemma Team 2024 (Gemma 2), section 2.
    """
    return cap * torch.tanh(x / cap) if cap else x


def attention_pattern(
    scores: Tensor, mask: Tensor | None = None, sinks: Tensor | None = None
) -> Tensor:
    """Softmax over the keys; zeros in the row of a query that may see none.

    With `sinks` (n_heads,) each row has one more score, whose weight goes nowhere: exp(score) /
    (exp(sink) + Σ exp(scores)). OpenAI 2025 (gpt-oss), section 2.1; Xiao et al. 2023.
    """
    if sinks is not None:
        column = sinks[:, None, None].to(scores).expand(*scores.shape[:-1], 1)
        return torch.cat((scores, column), dim=-1).softmax(dim=-1)[..., :-1]
    sees_some = None if mask is None else rows_that_see(mask)
    if sees_some is None:
        return scores.softmax(dim=-1)
    finite = torch.where(sees_some, scores, 0)  # a row of −∞ would give NaN, backwards too
    return torch.where(sees_some, finite.softmax(dim=-1), 0)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """softmax(QKᵀ/√d_head + bias + mask)·V by the fused kernel: (batch, n_heads, query, d_head).

    A query that may see no key gives zeros, whatever the kernel makes of it. A sink is one more key
    of zeros, with its score as the mask's and a value of zeros. A plain causal mask is not read.
    """
    grouped = k.shape[1] != q.shape[1]
    if bias is None and sinks is None and mask is not None and is_shared_causal(mask):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=grouped)
    seen = mask if bias is None else additive_mask(mask, bias[None], q.dtype)  # kernels want 4 axes
    if sinks is not None:
        seen = with_sinks(seen, sinks, q, k)
        k, v = F.pad(k, (0, 0, 0, 1)), F.pad(v, (0, 0, 0, 1))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=grouped)
    sees_some = None if mask is None else rows_that_see(mask)
    return out if sees_some is None else out.masked_fill(~sees_some, 0)


def with_sinks(mask: Tensor | None, sinks: Tensor, q: Tensor, k: Tensor) -> Tensor:
    """Append the score of a learned sink to those of the keys: (…, n_heads, query, key + 1)."""
    added = q.new_zeros(()) if mask is None else mask
    if added.dtype is torch.bool:
        added = torch.where(added, q.new_zeros(()), -torch.inf)
    n_queries, n_keys = q.shape[-2], k.shape[-2]
    batch = added.shape[0] if added.dim() == 4 else 1
    added = added.expand(batch, len(sinks), n_queries, n_keys)
    column = sinks[:, None, None].to(q).expand(batch, -1, n_queries, 1)
    return torch.cat((added, column), dim=-1)


def additive_mask(mask: Tensor | None, bias: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Return the additive mask: the bias, and −∞ where the mask forbids."""
    if mask is None:
        return bias
    zeros = torch.zeros((), dtype=dtype, device=mask.device)
    return torch.where(mask, zeros if bias is None else bias, -torch.inf)
