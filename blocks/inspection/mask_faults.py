"""Mistakes that people make with masks, planted into a real model to see whether a test finds them.

Nothing in the model is edited: what passes the probe `pattern` is replaced by what the faulty code
would have made of the same queries and keys. Each mistake was found in the wild: a bias of −1e4
that large scores overwhelm (huggingface/transformers #17121), targets that see themselves
(attention-is-all-you-need-pytorch #19), a causal mask lost in an update (transformers #48745).
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import partial

import torch
from torch import Tensor

from blocks.model.attention import Attention, additive_mask, attention_pattern, attention_scores
from blocks.model.config import ModelConfig
from blocks.model.kinds import PositionKind
from blocks.model.masks import build_mask, everyone, within
from blocks.model.models import Model
from blocks.model.positions import alibi_bias
from blocks.model.probe import Replacement
from blocks.observe.run import Run

FINITE = -1e4


class MaskFault(StrEnum):
    """What can be planted."""

    NONE = "none"
    WRONG_AXIS = "wrong_axis"
    ADDITIVE = "additive_1e4"
    AFTER_SOFTMAX = "after_softmax"
    OFF_BY_ONE = "off_by_one"
    PADDING_ATTENDED = "padding_attended"


def first_mask(mask: Tensor | None) -> Tensor | None:
    """The mask of the first sequence, (query, key): in one run all are padded alike."""
    return None if mask is None else mask.reshape(-1, *mask.shape[-2:])[0]


def open_mask(run: Run, layer: int | None = None) -> Tensor:
    """The mask of a run, or of a layer of it, all True where it has none: (query, key)."""
    mask = first_mask(run.build_mask(layer))
    return everyone(run.input.shape[1], run.device) if mask is None else mask


def of_layer(mask: Tensor, config: ModelConfig, layer: int) -> Tensor:
    """What a layer sees of a mask: (query, key)."""
    found = within(mask, len(mask), config.window_of(layer), mask.device)
    assert found is not None
    return found


def padding_attended(run: Run) -> Tensor:
    """The mask that results where nobody told it which tokens are padding: (query, key)."""
    seq_len = run.input.shape[1]
    all_tokens = torch.ones(1, seq_len, dtype=torch.bool, device=run.device)
    mask = first_mask(build_mask(run.mask, all_tokens))
    return everyone(seq_len, run.device) if mask is None else mask


def one_more(mask: Tensor) -> Tensor:
    """Every query sees the key after each one it may see: tril(1) instead of tril(), if causal."""
    shifted = torch.zeros_like(mask)
    shifted[..., 1:] = mask[..., :-1]
    return mask | shifted


def faulty_pattern(
    fault: MaskFault, scores: Tensor, mask: Tensor, unpadded: Tensor, sinks: Tensor | None = None
) -> Tensor:
    """What the faulty code makes of scores that no mask has touched: (…, query, key).

    `unpadded`: the mask that takes padding for tokens; `sinks`: those that the layer has learned.
    """
    match fault:
        case MaskFault.NONE:
            return _masked_pattern(scores, mask, sinks)
        case MaskFault.WRONG_AXIS:
            return _masked_pattern(scores.mT, mask.mT, sinks).mT
        case MaskFault.ADDITIVE:
            added = torch.where(mask, 0.0, FINITE).to(scores)
            return attention_pattern(scores + added, None, sinks)
        case MaskFault.AFTER_SOFTMAX:
            return attention_pattern(scores, None, sinks) * mask
        case MaskFault.OFF_BY_ONE:
            return _masked_pattern(scores, one_more(mask), sinks)
        case MaskFault.PADDING_ATTENDED:
            return _masked_pattern(scores, unpadded, sinks)


def _masked_pattern(scores: Tensor, mask: Tensor, sinks: Tensor | None) -> Tensor:
    added = additive_mask(mask, None, scores.dtype)
    return attention_pattern(scores if added is None else scores + added, mask, sinks)


def largest_lead(scores: Tensor, mask: Tensor) -> float:
    """How far a forbidden score stands above the best allowed one of its query, at the most.

    Scores (…, query, key) before the mask; −∞ where no query has both kinds of key, +∞ is never.
    """
    best = scores.masked_fill(~mask, -torch.inf).amax(dim=-1)
    forbidden = scores.masked_fill(mask, -torch.inf).amax(dim=-1)
    has_both = mask.any(dim=-1) & (~mask).any(dim=-1)
    lead = torch.where(has_both, forbidden - best, -torch.inf)
    return float(lead.max())


def largest_exponent(dtype: torch.dtype) -> int:
    """How far below the largest score a softmax weight is still not 0, in this number format."""
    below = torch.arange(0, 1024, dtype=torch.float64).to(dtype)
    weights = torch.stack((torch.zeros_like(below), -below), dim=-1).softmax(dim=-1)[:, 1]
    return int((weights > 0).sum()) - 1


def raw_scores(config: ModelConfig, q: Tensor, k: Tensor) -> Tensor:
    """QKᵀ/√d_head, capped, and what ALiBi adds, before any mask: (batch, n_heads, query, key)."""
    bias = None
    if config.position.position_kind is PositionKind.ALIBI:
        bias = alibi_bias(config.n_heads, k.shape[-2], k.device).to(k)
    return attention_scores(q, k, None, bias, config.attention.score_softcap)


def planted(
    run: Run, fault: MaskFault, model: Model, *, score_scale: float = 1.0, explicit: bool = True
) -> Mapping[str, Replacement]:
    """What `record(model, ..., replace=...)` takes to run with a fault in every layer, or none.

    `score_scale` multiplies QKᵀ. Without a fault, `explicit` has the softmax run step by step, and
    otherwise the fused kernel is left to its work.
    """
    found: dict[str, Replacement] = {}
    for layer in run.config.attention_layers:
        at = f"layers.{layer}."
        if score_scale != 1:
            found[at + "q"] = partial(_scaled, factor=score_scale)
        if fault is not MaskFault.NONE:
            attention: Attention = model.layers[layer].attention  # type: ignore[assignment]
            meeting = _Meeting(run, layer, fault, score_scale, attention.sinks)
            found |= meeting.replacements(at)
        elif explicit:
            found[at + "pattern"] = _as_it_is
    return found


def _scaled(x: Tensor, factor: float) -> Tensor:
    return x * factor


def _as_it_is(x: Tensor) -> Tensor:
    return x


class _Meeting:
    """Queries and keys of one layer on their way to a faulty pattern."""

    def __init__(
        self, run: Run, layer: int, fault: MaskFault, score_scale: float, sinks: Tensor | None
    ):
        self.sinks = sinks
        self.config, self.fault, self.score_scale = run.config, fault, score_scale
        self.mask = open_mask(run, layer)
        self.unpadded = of_layer(padding_attended(run), run.config, layer)
        self.q = self.k = torch.empty(0)

    def replacements(self, at: str) -> dict[str, Replacement]:
        return {at + "q": self.see_q, at + "k": self.see_k, at + "pattern": self.pattern}

    def see_q(self, q: Tensor) -> Tensor:
        self.q = q if self.score_scale == 1 else q * self.score_scale
        return self.q

    def see_k(self, k: Tensor) -> Tensor:
        self.k = k
        return k

    def pattern(self, clean: Tensor) -> Tensor:
        scores = raw_scores(self.config, self.q, self.k)
        found = faulty_pattern(self.fault, scores, self.mask, self.unpadded, self.sinks)
        return found.to(clean)
