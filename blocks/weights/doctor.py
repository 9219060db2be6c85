"""Which conversion fault a wrong model has: each is undone in turn, and what comes of it is seen.

Where the right logits are known, the fault that brings them back is the one that was made.
Without them the loss on a plain text says nearly as much: a fault undone lowers it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

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
    tensors = {name: each.to(dtype) for name, each in loaded.tensors.items()}
    model = loaded._replace(tensors=tensors).build()
    ids = torch.tensor([[*loaded.prefix, *text.token_ids]])
    if isinstance(model, EncoderDecoder):
        return model(SourceTarget(ids, torch.tensor([text.target_ids])))[0]
    return model(ids)[0, len(loaded.prefix) :]


def distance(found: Tensor, right: Tensor) -> float:
    """‖found − right‖ / ‖right‖, of logits that are only compared with each other."""
    found, right = (each.double() - each.double().mean(-1, keepdim=True) for each in (found, right))
    return float((found - right).norm() / right.norm())


def diagnosis(
    loaded: Loaded, text: Text, right: Tensor, dtype: torch.dtype = torch.float64
) -> Diagnosis:
    """Which fault explains that this model's logits are not the right ones.

    Nothing is named where they are, up to rounding, or where no fault undone brings them back.
    """
    as_it_is, undone = _tried(loaded, lambda each: distance(logits(each, text, dtype), right))
    best = min(undone, key=undone.__getitem__)
    is_wrong = not as_it_is <= ROUNDING[dtype]
    is_found = is_wrong and undone[best] <= max(CLOSER * as_it_is, ROUNDING[dtype])
    return Diagnosis(as_it_is, undone, best if is_found else None)


def has_loss(loaded: Loaded) -> bool:
    """Whether the model says what comes next, so that any text can be its judge."""
    return loaded.config.architecture is Architecture.GPT


def text_loss(loaded: Loaded, text: Text, dtype: torch.dtype = torch.float64) -> float:
    """Cross entropy of each next token, in nats."""
    found = logits(loaded, text, dtype)
    return float(F.cross_entropy(found[:-1], torch.tensor(text.token_ids[1:])))


def suspicion(loaded: Loaded, text: Text, dtype: torch.dtype = torch.float64) -> Diagnosis:
    """Which fault, undone, makes a plain text most expected; of a GPT that was trained.

    Nothing is named where none lowers the loss by much, or the text stays strange to the model.
    """
    as_it_is, undone = _tried(loaded, lambda each: text_loss(each, text, dtype))
    best = min(undone, key=undone.__getitem__)
    most = min(LOWER * as_it_is, FAMILIAR * math.log(loaded.config.vocab_size))
    return Diagnosis(as_it_is, undone, best if undone[best] < most else None)


def _tried(
    loaded: Loaded, measure: Callable[[Loaded], float]
) -> tuple[float, dict[ConversionFault, float]]:
    """A measure of the model as it is, and with each fault undone in the way that is best."""
    undone: dict[ConversionFault, float] = {}
    for fault in ConversionFault:
        if found := [_finite(measure(each)) for each in mends(fault, loaded)]:
            undone[fault] = min(found)
    return _finite(measure(loaded)), undone


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.inf
