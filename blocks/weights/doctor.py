"""Which conversion fault a wrong model has: each is undone in turn, and what comes of it is seen.

Where the right logits are known, the fault that brings them back is the one that was made.
Without them the loss on a plain text says nearly as much: a fault undone lowers it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from blocks.model.kinds import Architecture
from blocks.model.models import EncoderDecoder
from blocks.model.source_target import SourceTarget
from blocks.weights.conversion_faults import ConversionFault, Loaded, mends

ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-4}  # of logits, in proportion to their size
CLOSER, LOWER = 0.1, 0.9  # the share that is left of a distance, and of a loss
FAMILIAR = 0.75  # of the loss of a uniform guess: beyond, a text says nothing of a model


@dataclass(frozen=True)
class Text:
    """What a model is tried on: the tokens of a text without prefix, and of its target."""

    token_ids: tuple[int, ...]
    target_ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class Diagnosis:
    """How wrong a model is, and how wrong it would be with each fault undone.

    In proportion to the right logits, or in nats per token; `names`: the fault that explains it.
    """

    as_it_is: float
    undone: dict[ConversionFault, float]
    names: ConversionFault | None

    @property
    def ranked(self) -> tuple[ConversionFault, ...]:
        """All faults that can be undone, the likeliest first."""
        return tuple(sorted(self.undone, key=self.undone.__getitem__))


@torch.no_grad()
def logits(loaded: Loaded, text: Text, dtype: torch.dtype = torch.float64) -> Tensor:
    """What a model makes of each token of the text, or of its target: (n, vocab_size)."""
    model = in_format(loaded, dtype).build()
    ids = torch.tensor([[*loaded.prefix, *text.token_ids]])
    if isinstance(model, EncoderDecoder):
        return model(SourceTarget(ids, torch.tensor([text.target_ids])))[0]
    return model(ids)[0, len(loaded.prefix) :]


def in_format(loaded: Loaded, dtype: torch.dtype) -> Loaded:
    """The same weights in another number format; those that have it already are not copied."""
    return loaded._replace(tensors={name: each.to(dtype) for name, each in loaded.tensors.items()})


def distance(found: Tensor, right: Tensor) -> float:
    """‖found − right‖ / ‖right‖, of logits that are only compared with each other."""
    found, right = (each.double() - each.double().mean(-1, keepdim=True) for each in (found, right))
    return float((found - right).norm() / right.norm())


def text_loss(found: Tensor, text: Text) -> float:
    """Cross entropy of each next token, in nats."""
    return float(F.cross_entropy(found[:-1], torch.tensor(text.token_ids[1:])))


def tried(
    loaded: Loaded,
    text: Text,
    *measures: Callable[[Tensor], float],
    dtype: torch.dtype = torch.float64,
) -> tuple[Diagnosis, ...]:
    """Measure the logits of a model as it is and with each fault undone; nothing is named yet.

    Each is run once for all measures. A fault may be undone in several ways: the best one counts.
    """
    loaded = in_format(loaded, dtype)

    def measured(each: Loaded) -> list[float]:
        found = logits(each, text, dtype)
        return [_finite(measure(found)) for measure in measures]

    ways = {fault: [*map(measured, mends(fault, loaded))] for fault in ConversionFault}
    best = {
        fault: [min(each) for each in zip(*found, strict=True)]
        for fault, found in ways.items()
        if found
    }
    return tuple(
        Diagnosis(as_it_is, {fault: least[i] for fault, least in best.items()}, None)
        for i, as_it_is in enumerate(measured(loaded))
    )


def diagnosis(distances: Diagnosis, dtype: torch.dtype = torch.float64) -> Diagnosis:
    """Which fault explains that the logits are not the right ones, by `distance` from these.

    Nothing is named where they are, up to rounding, or where no fault undone brings them back.
    """
    best = distances.ranked[0]
    is_wrong = not distances.as_it_is <= ROUNDING[dtype]
    most = max(CLOSER * distances.as_it_is, ROUNDING[dtype])
    is_found = is_wrong and distances.undone[best] <= most
    return replace(distances, names=best if is_found else None)


def has_loss(loaded: Loaded) -> bool:
    """Whether the model says what comes next, so that any text can be its judge."""
    return loaded.config.architecture is Architecture.GPT


def suspicion(losses: Diagnosis, vocab_size: int) -> Diagnosis:
    """Which fault, undone, makes a plain text most expected, by its `text_loss` of a trained GPT.

    Nothing is named where none lowers the loss by much, or the text stays strange to the model.
    """
    best = losses.ranked[0]
    most = min(LOWER * losses.as_it_is, FAMILIAR * math.log(vocab_size))
    return replace(losses, names=best if losses.undone[best] < most else None)


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.inf
