"""What a decoder expects where its source goes missing, whole or token by token.

The target is the one that was written with the source, so that each of its tokens is asked the
same question twice. KL divergence, in bits, between the two answers.
"""

from dataclasses import replace
from enum import StrEnum

import torch
from torch import Tensor

from blocks.inspection.output_change import kl_bits
from blocks.interventions import without_cross_attention
from blocks.models import Model
from blocks.probe import record
from blocks.run import Input, Run
from blocks.source_target import SourceTargetMask


class Missing(StrEnum):
    """How the source goes missing."""

    CROSS_OFF = "cross_off"
    HIDDEN = "hidden"
    EMPTY = "empty"


def without_source(run: Run, missing: Missing) -> Run:
    """The same run without its source.

    `cross_off`: cross-attention of every layer writes nothing; `hidden`: every token of the
    source is padding, which no one may see; `empty`: a single token of padding that is seen.
    """
    source = run.input
    match missing:
        case Missing.CROSS_OFF:
            off = without_cross_attention(run.config)
            kept = tuple(
                each for each in run.interventions if each.path not in {o.path for o in off}
            )
            return replace(run, interventions=(*kept, *off))
        case Missing.HIDDEN:
            n = source.shape[1]
            return replace(run, input=replace(source, tokens=(), token_ids=(), n_padding=n))
        case Missing.EMPTY:
            return replace(run, input=empty(source))


def empty(source: Input) -> Input:
    """A source of one token, that of padding."""
    return replace(source, tokens=("∅",), token_ids=(source.padding_id,), n_padding=0)


def without_layer(run: Run, layer: int) -> Run:
    """The same run with the cross-attention of one layer of the decoder off."""
    off = without_cross_attention(run.config, [layer])
    return replace(run, interventions=(*run.interventions, *off))


def moved_bits(run: Run, changed: Run, model: Model) -> tuple[float, ...]:
    """KL(untouched‖changed) of the next token, in bits, after each token of the target."""
    return tuple(kl_bits(logits(run, model), logits(changed, model)).tolist())


def logits(run: Run, model: Model) -> Tensor:
    """What comes after each token of the target: (target, vocab_size)."""
    return _logits(run, model, run.build_mask())


def moved_by_hiding(run: Run, place: int, model: Model, before: Tensor) -> tuple[float, ...]:
    """The same where one token of the source is hidden, from the encoder and the decoder alike.

    `before`: `logits` of the untouched run.
    """
    mask = run.build_mask()
    source, cross = mask.source.clone(), mask.cross.clone()
    source[..., place], cross[..., place] = False, False
    hidden = SourceTargetMask(source, mask.target, cross)
    return tuple(kl_bits(before, _logits(run, model, hidden)).tolist())


def _logits(run: Run, model: Model, mask: SourceTargetMask) -> Tensor:
    replaced = run.replacements(model)
    with torch.no_grad():
        return record(model, run.values(), mask=mask, keep=(), replace=replaced).output[0]
