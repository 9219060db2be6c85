"""Whether a pruned circuit stands for the model that it was cut out of."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

from blocks.known.bracket_texts import Texts, held_out
from blocks.known.pruned import attention, cosine
from blocks.known.sparse import Circuit, Weight, model_of
from blocks.model.randomness import generator
from blocks.training.task import IGNORED

N_DRAWS = 20


class Faithful(NamedTuple):
    """How far the circuit and the model agree on texts never learned.

    `most_changed`: the largest share of answers that change where a random half of the pruned
    weights leaves the model. `cosine`: that between the attention of both, in heads that write.
    """

    most_changed: float
    cosine: float


@lru_cache(maxsize=16)
def faithful(circuit: Circuit) -> Faithful:
    """Compare the circuit with the model before pruning."""
    texts = held_out(circuit.seed)
    whole = model_of(circuit.trained)
    before, random = _answers(whole, texts), generator(circuit.seed, "halves")
    changed = [
        (_answers(model_of((*circuit.kept, *_half(circuit.pruned, random))), texts) != before)
        .double()
        .mean()
        .item()
        for _draw in range(N_DRAWS)
    ]
    seen = texts.token_ids
    agreement = cosine(model_of(circuit.kept), seen, attention(whole, seen))
    return Faithful(max(changed), agreement)


def _half(weights: Sequence[Weight], random: torch.Generator) -> list[Weight]:
    stays = torch.rand(len(weights), generator=random) < 0.5
    return [each for each, stays_here in zip(weights, stays.tolist(), strict=True) if stays_here]


@torch.no_grad()
def _answers(model: nn.Module, texts: Texts) -> Tensor:
    return model(texts.token_ids).argmax(-1)[texts.answers != IGNORED]
