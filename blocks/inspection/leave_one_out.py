"""Which tokens a prediction hangs on: each of those before it is hidden from all others in turn.

Leave one out, or occlusion: Li et al. 2016, "Understanding Neural Networks through Representation
Erasure".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from blocks.cost.parameters import total_parameters
from blocks.model.models import Encoder
from blocks.model.probe import listening
from blocks.observe.recording import Recorder
from blocks.observe.run import Run

MOST_NUMBERS = 2_000_000
MOST_WORK = 2**33  # parameters times tokens of a batch: less than a second of two cores
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
        cls,
        run: Run,
        position: int,
        predicted: tuple[int, float],
        without: Mapping[int, Without],
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
    places, n = places_before(run, position)[::-1], run.input.shape[1]
    by_numbers = MOST_NUMBERS // (run.config.vocab_size + run.config.n_heads * n * n)
    size = max(1, min(by_numbers, MOST_WORK // (total_parameters(run.config) * n)))
    return [places[i : i + size] for i in range(0, len(places), size)]


def without_each(
    run: Run, places: Sequence[int], position: int, token_id: int, model: Encoder
) -> tuple[Without, ...]:
    """Predict what comes after `position` where each of `places` alone is hidden, in one batch.

    A hidden token still reads itself, and keeps its place: the others keep theirs. Only the
    position is unembedded.
    """
    ids, n = run.values()[:1], len(places)
    seq_len = ids.shape[1]
    mask = run.build_mask().reshape(-1, 1, seq_len, seq_len)[:1].repeat(n, 1, 1, 1)
    for row, place in enumerate(places):
        mask[row, ..., place] &= torch.arange(seq_len, device=mask.device) == place
    with listening(Recorder((), run.replacements(model))), torch.no_grad():
        stream = model.encode(ids.repeat(n, 1), mask)[:, position : position + 1]
        logits = model.unembed_logits(stream)[:, 0]
    found = torch.stack((log2_probabilities(logits)[:, token_id], logits.argmax(-1).float()))
    return tuple(Without(bits, int(first)) for bits, first in found.T.tolist())


def log2_probabilities(logits: Tensor) -> Tensor:
    """Of the last axis, in float32: not every accelerator has float64."""
    return logits.float().log_softmax(-1) / np.log(2)
