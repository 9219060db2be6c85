"""What a decoder expects where its source goes missing, whole or token by token.

The target is the one that was written with the source, so that each of its tokens is asked the
same question twice. KL divergence, in bits, between the two answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection.output_change import kl_bits
from blocks.model.models import Model
from blocks.model.probe import listening
from blocks.model.source_target import SourceTarget, SourceTargetMask
from blocks.observe.interventions import without_cross_attention
from blocks.observe.recording import Recorder
from blocks.observe.run import Input, Run

MOST_NUMBERS = 4_000_000
MOST_LAYERS, MOST_HIDDEN = 12, 64
LITTLE, MUCH = 0.1, 1.0  # bits
Bits = tuple[tuple[float, ...], ...]


class Missing(StrEnum):
    """How the source goes missing."""

    CROSS_OFF = "cross_off"
    HIDDEN = "hidden"
    EMPTY = "empty"


@dataclass(frozen=True, eq=False)
class WaysFacts:
    """By how many bits each next token moves without its source: (way, target).

    `ways`: how the source goes missing, or the layer whose cross-attention alone is off; the first
    is that of all layers. `labels`: what came after each token of the target.
    """

    ways: tuple[Missing | int, ...]
    bits: NDArray[np.float32]
    labels: tuple[str, ...]
    pinned: int
    seed: int | None

    @property
    def mean(self) -> float:
        """Without cross-attention, over all tokens of the target."""
        return float(self.bits[0].mean())

    @property
    def most(self) -> tuple[str, float]:
        """The token that moves most without cross-attention."""
        return self._at(int(self.bits[0].argmax()))

    @property
    def least(self) -> tuple[str, float]:
        """The token that moves least without cross-attention."""
        return self._at(int(self.bits[0].argmin()))

    @property
    def n_little(self) -> int:
        """How many tokens follow from the target alone."""
        return int((self.bits[0] < LITTLE).sum())

    def _at(self, place: int) -> tuple[str, float]:
        return self.labels[place], float(self.bits[0, place])


@dataclass(frozen=True, eq=False)
class HiddenFacts:
    """By how many bits each next token moves where one source token is hidden: (source, target)."""

    source: tuple[str, ...]
    bits: NDArray[np.float32]
    labels: tuple[str, ...]
    pinned_source: int
    pinned: int

    @property
    def strong(self) -> tuple[tuple[str, str, float], ...]:
        """Target token, source token and bits, where a target token hangs on a source token."""
        most = self.bits.argmax(axis=0)
        found = (
            (label, self.source[row], float(self.bits[row, column]))
            for column, (label, row) in enumerate(zip(self.labels, most, strict=True))
        )
        return tuple(each for each in found if each[-1] > MUCH)


def changed_runs(run: Run) -> dict[Missing | int, Run]:
    """The run without its source, in each way; and with one cross-attention off, layer by layer."""
    ways: dict[Missing | int, Run] = {way: without_source(run, way) for way in Missing}
    n_layers = run.config.n_decoder_layers
    shown = range(min(n_layers, MOST_LAYERS)) if n_layers > 1 else ()
    return ways | {layer: without_layer(run, layer) for layer in shown}


def hidden_in_turn(run: Run) -> list[tuple[int, ...]]:
    """The source tokens that are hidden one at a time, in batches that take a moment each."""
    places, size = range(min(run.input.shape[1], MOST_HIDDEN)), n_hidden_at_once(run)
    return [tuple(places[i : i + size]) for i in range(0, len(places), size)]


def ways_facts(run: Run, bits: Bits, labels: tuple[str, ...], pinned: int) -> WaysFacts:
    """Of as many of `changed_runs` as are measured."""
    found = np.array(bits, dtype=np.float32)
    seed = None if run.weights else run.seed
    return WaysFacts(tuple(changed_runs(run))[: len(found)], found, labels, pinned, seed)


def without_source(run: Run, missing: Missing) -> Run:
    """Remove the source from a run.

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
    """Switch off the cross-attention of one decoder layer."""
    off = without_cross_attention(run.config, [layer])
    return replace(run, interventions=(*run.interventions, *off))


def moved_bits(before: Tensor, changed: Run, model: Model) -> tuple[float, ...]:
    """KL(untouched‖changed) of the next token, in bits, after each token of the target.

    `before`: `logits` of the untouched run.
    """
    return tuple(kl_bits(before, logits(changed, model)).tolist())


def logits(run: Run, model: Model) -> Tensor:
    """Return the logits after each token of the target: (target, vocab_size)."""
    return _outputs(run, model, run.values(), run.build_mask())[0]


def _outputs(run: Run, model: Model, ids: SourceTarget, mask: SourceTargetMask) -> Tensor:
    with listening(Recorder((), run.replacements(model))), torch.no_grad():
        return model(ids, mask)


def moved_by_hiding(run: Run, places: Sequence[int], model: Model, before: Tensor) -> Bits:
    """Measure the change where one source token is hidden, from encoder and decoder alike.

    A row for each of the `places`, which are hidden one at a time in one batch. `before`:
    `logits` of the untouched run.
    """
    ids, mask, n = run.values(), run.build_mask(), len(places)
    sources = [each.repeat(n, 1, 1, 1) for each in (mask.source, mask.cross)]
    for row, place in enumerate(places):
        for each in sources:
            each[row, ..., place] = False
    hidden = SourceTargetMask(sources[0], mask.target, sources[1])
    batch = SourceTarget(ids.source.repeat(n, 1), ids.target.repeat(n, 1))
    after = _outputs(run, model, batch, hidden)
    return tuple(tuple(row) for row in kl_bits(before, after).tolist())


def n_hidden_at_once(run: Run) -> int:
    """How many tokens fit into one batch of moderate size."""
    source, target = run.input.shape[1], run.target_or_start.shape[1]
    width = run.config.vocab_size + run.config.n_heads * (source + target)
    return max(1, MOST_NUMBERS // (max(source, target) * width))
