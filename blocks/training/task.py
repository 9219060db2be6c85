"""What every task offers to the training loop: batches, unseen batches and a score."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from blocks.model.kinds import Architecture
from blocks.model.source_target import SourceTarget, SourceTargetMask
from blocks.text.tokenizer import Tokenizer

IGNORED = -100
"""The target where nothing is asked; what `torch.nn.functional.cross_entropy` leaves out."""

N_WHOLE = 256
"""Questions of a score where each is right or wrong as a whole."""

LogitsOf = Callable[..., Tensor]
"""A model as a score sees it: what `Batch.read` holds to logits (batch, seq, vocab_size)."""


@dataclass(frozen=True, eq=False)
class Batch:
    """What a model reads and what it should say: token ids and targets, both (batch, seq).

    An encoder–decoder reads two texts, and says what comes after each token of the second; its
    `mask` hides what only fills up rows. A GPT without a `mask` is causal.
    """

    token_ids: Tensor | SourceTarget
    targets: Tensor
    mask: Tensor | SourceTargetMask | None = None

    @property
    def read(self) -> tuple[Any, ...]:
        """What a model is called with."""
        return (self.token_ids,) if self.mask is None else (self.token_ids, self.mask)

    @property
    def tensors(self) -> tuple[Any, ...]:
        """All that it is made of."""
        return self.token_ids, self.targets, self.mask

    @property
    def n_tokens(self) -> int:
        """Tokens that are read, in all rows."""
        ids = self.token_ids
        return sum(each.numel() for each in (ids if isinstance(ids, SourceTarget) else (ids,)))

    def to(self, device: str) -> "Batch":
        """Move the batch to a device."""
        return Batch(*(to_device(each, device) for each in self.tensors))


def to_device(values: Any, device: torch.device | str) -> Any:
    """Move a tensor, or a named tuple of tensors, to a device; None stays None."""
    if isinstance(values, tuple):
        return type(values)(*(to_device(each, device) for each in values))
    return None if values is None else values.to(device)


class Task(Protocol):
    """A task to learn. In a next-token task `targets[t]` is the token after `token_ids[t]`."""

    @property
    def name(self) -> str:
        """The kind of the task, as links write it."""

    @property
    def architectures(self) -> tuple[Architecture, ...]:
        """What can learn it."""

    @property
    def learner(self) -> Architecture:
        """What it is posed for: the three architectures read and answer in different places."""

    @property
    def tokenizer(self) -> Tokenizer:
        """What the token ids mean."""

    @property
    def vocab_size(self) -> int:
        """How many token ids there are."""

    @property
    def seq_len(self) -> int:
        """Tokens in each row of a batch."""

    @property
    def score_name(self) -> str:
        """What the score counts."""

    def batch(self, batch_size: int, random: torch.Generator) -> Batch:
        """Draw a batch to learn from, on the CPU."""

    def held_out(self, batch_size: int, random: torch.Generator) -> Batch:
        """Draw a batch that `batch` never gives, by construction."""

    def score(self, logits_of: LogitsOf, random: torch.Generator) -> float:
        """How well a model does on what it has never seen."""

    def prompt(self) -> list[int] | None:
        """How a sample starts, or None where the task is not one of writing on."""


def likeliest(batch: Batch, logits_of: LogitsOf) -> Tensor:
    """The top prediction at each place, given the right tokens before it: (batch, seq)."""
    return logits_of(*batch.read).argmax(-1).to("cpu")


def right_as_a_whole(batch: Batch, answers: Tensor) -> Tensor:
    """Which rows have the right answer wherever one is asked for: (batch,)."""
    return ((answers == batch.targets) | (batch.targets == IGNORED)).all(1)


def share_right(batch: Batch, logits_of: LogitsOf) -> float:
    """Accuracy of the top prediction over the scored positions."""
    right, asked = likeliest(batch, logits_of) == batch.targets, batch.targets != IGNORED
    return (right.sum() / asked.sum()).item()
