"""Which tokens a prediction hangs on: each of those before it is hidden from all others in turn.

Leave one out, or occlusion: Li et al. 2016, "Understanding Neural Networks through Representation
Erasure".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor

from blocks.cost.parameters import total_parameters
from blocks.inspection.head_steps import reads
from blocks.model.attention import Attention
from blocks.model.kinds import RopeScaling
from blocks.model.masks import sees_ahead
from blocks.model.models import Encoder
from blocks.model.probe import listening
from blocks.observe.recording import Recorder, Recording
from blocks.observe.run import Run

MOST_NUMBERS = 2_000_000
MOST_WORK = 2**34  # parameters times tokens of a batch: less than a second of two cores
MOST_HIDDEN = 64
LITTLE = 0.1  # bits


@dataclass(frozen=True)
class Without:
    """What is predicted where one token is hidden.

    `bits`: log₂ of the probability that is left to what was predicted with all of them; `first`:
    the token id that is likeliest now.
    """

    bits: float
    first: int


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The likeliest token after a position of a run, and what is left of it without each before.

    `position` and `places` count from 0, padding included; `token_id` has the log₂ probability
    `bits` where nothing is hidden; one of `without` for each of the places, as far as measured.
    """

    run: Run
    position: int
    token_id: int
    bits: float
    places: tuple[int, ...]
    without: tuple[Without, ...]

    @classmethod
    def of(
        cls, run: Run, position: int, predicted: tuple[int, float], without: Mapping[int, Without]
    ) -> "LeftOut":
        """What was measured by place, in the order of the text."""
        places = tuple(sorted(without))
        return cls(run, position, *predicted, places, tuple(without[i] for i in places))

    @property
    def n_before(self) -> int:
        """How many tokens stand before the position, those that were not hidden too."""
        return len(_tokens_before(self.run, self.position))

    @property
    def is_whole(self) -> bool:
        """Whether each token before was hidden."""
        return len(self.places) == self.n_before

    @property
    def probability(self) -> float:
        """Of the predicted token, where nothing is hidden."""
        return float(2**self.bits)

    @property
    def effects(self) -> np.ndarray:
        """By how many bits each place makes the prediction more probable; below 0: less."""
        return np.array([self.bits - each.bits for each in self.without])

    @property
    def strongest(self) -> int | None:
        """Which of the places does most for it; None where none does more than a little."""
        return self._beyond_a_little(self.effects)

    @property
    def against(self) -> int | None:
        """Which of the places does most against it; None where none does more than a little."""
        return self._beyond_a_little(-self.effects)

    def most(self, n: int) -> list[int]:
        """Which of the places do more than a little, for it (the most first) or against it."""
        largest = np.argsort(-abs(self.effects), kind="stable")[:n].tolist()
        beyond = [i for i in largest if abs(self.effects[i]) > LITTLE]
        return sorted(beyond, key=lambda i: -self.effects[i])

    def left(self, i: int) -> float:
        """The probability that is left without one of the places."""
        return float(2 ** self.without[i].bits)

    def _beyond_a_little(self, effects: np.ndarray) -> int | None:
        if not len(effects) or effects.max() <= LITTLE:
            return None
        return int(effects.argmax())


def places_before(run: Run, position: int) -> tuple[int, ...]:
    """The tokens that can be hidden from a prediction: those before it, at most `MOST_HIDDEN`.

    The token itself cannot: the model reads it directly.
    """
    return _tokens_before(run, position)[-MOST_HIDDEN:]


def _tokens_before(run: Run, position: int) -> tuple[int, ...]:
    is_token = run.input.is_token()[0].tolist()
    return tuple(place for place in range(position) if is_token[place])


def in_turn(run: Run, position: int) -> list[tuple[int, ...]]:
    """The places before a position, the nearest first, in batches that take a moment each."""
    config, n = run.config, run.input.shape[1]
    work, is_on = total_parameters(config), _reads_on(run)
    batches: list[tuple[int, ...]] = [()]
    for place in places_before(run, position)[::-1]:
        rows, read = len(batches[-1]) + 1, position - place if is_on else n
        numbers = rows * (config.vocab_size + config.n_heads * read * n)
        if rows > 1 and (numbers > MOST_NUMBERS or rows * read * work > MOST_WORK):
            batches.append(())
        batches[-1] = (*batches[-1], place)
    return [batch for batch in batches if batch]


def without_each(
    run: Run,
    places: Sequence[int],
    position: int,
    token_id: int,
    model: Encoder,
    seen: Recording | None = None,
) -> tuple[Without, ...]:
    """Predict what comes after `position` where each of `places` alone is hidden, in one batch.

    A hidden token still reads itself, and keeps its place: the others keep theirs. Only the
    position is unembedded. With the recording of the run, where no token sees ahead, only what
    comes after the first of the places is run again: all before is as it was.
    """
    with torch.no_grad():
        if seen is not None and _reads_on(run) and _reads(run, 0) in seen.tensors:
            stream = _read_on(run, places, position, model, seen)
        else:
            stream = _read_anew(run, places, position, model)
        logits = model.unembed_logits(stream)[:, 0]
    found = torch.stack((log2_probabilities(logits)[:, token_id], logits.argmax(-1).float()))
    return tuple(Without(bits, int(first)) for bits, first in found.T.tolist())


def _read_anew(run: Run, places: Sequence[int], position: int, model: Encoder) -> Tensor:
    """The stream at the position, read from the first token on: (place, 1, d_model)."""
    ids = run.values()[:1].repeat(len(places), 1)
    mask = _hidden(run.build_mask(), places, slice(ids.shape[1]))
    with listening(Recorder((), run.replacements(model))):
        return model.encode(ids, mask)[:, position : position + 1]


def _read_on(
    run: Run, places: Sequence[int], position: int, model: Encoder, seen: Recording
) -> Tensor:
    """The same, read from the first hidden place on: (place, 1, d_model)."""
    start, window_of = min(places) + 1, run.config.window_of
    x = model.embed_tokens(run.values()[:1, start : position + 1], start)
    x = x.repeat(len(places), 1, 1)
    layers = {window_of(number): number for number in range(len(model.layers))}
    queries = slice(start, position + 1)
    masks = {
        window: _hidden(run.build_mask(number), places, queries)
        for window, number in layers.items()
    }
    for number, layer in enumerate(model.layers):
        read = seen.tensors[_reads(run, number)][:1, :start]
        before = _Before(cast(Attention, layer.attention), read)
        x = layer(x, masks[window_of(number)], before)
    return model.final_norm(x[:, -1:])


class _Before:
    """Keys and values of the tokens before, of what attention reads there: (1, seen, d_model)."""

    def __init__(self, attention: Attention, x: Tensor):
        self.seen = x.shape[1]
        self.keys, self.values = attention.rotate(attention.keys(x), 0), attention.values(x)

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Those of the next tokens after them, in every row; nothing is kept."""
        both = ((self.keys, keys), (self.values, values))
        k, v = (torch.cat((old.expand(len(new), -1, -1, -1), new), dim=2) for old, new in both)
        return k, v


def _reads(run: Run, layer: int) -> str:
    return f"layers.{layer}.{reads(run.config, layer)}"


def _reads_on(run: Run) -> bool:
    """Whether what stands before a hidden token is as it was, and its keys and values tell all."""
    config = run.config
    is_plain = not (config.is_latent or config.n_mixer_layers or config.experts.expert_capacity)
    is_long = config.position.rope_scaling is RopeScaling.LONGROPE  # turns by the whole length
    is_changed = bool(run.interventions) or run.training
    return is_plain and not is_long and not is_changed and not sees_ahead(run.build_mask())


def _hidden(mask: Tensor, places: Sequence[int], queries: slice) -> Tensor:
    """The mask of the first text once for each place, which only itself may see: four axes.

    Of these queries alone, and of the keys up to the last of them.
    """
    n = mask.shape[-1]
    rows = mask.reshape(-1, 1, n, n)[:1, :, queries, : queries.stop].repeat(len(places), 1, 1, 1)
    readers = torch.arange(n, device=mask.device)[queries]
    for row, place in enumerate(places):
        rows[row, ..., place] &= readers == place
    return rows


def log2_probabilities(logits: Tensor) -> Tensor:
    """Of the last axis, in float32: not every accelerator has float64."""
    return logits.float().log_softmax(-1) / np.log(2)
