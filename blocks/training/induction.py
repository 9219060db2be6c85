"""Finding what came before and saying what followed it: the task of induction heads.

A row is a random run of different tokens, repeated until the row is full. From the second time
on, the next token can be told by looking for the same token earlier, and for what came after it.
Source: Olsson et al. 2022, "In-context Learning and Induction Heads" (arXiv:2209.11895).
"""

import string
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.model.randomness import generator
from blocks.text.characters import CharacterTokenizer
from blocks.training.task import IGNORED, Batch, LogitsOf, share_right

TOKENS = CharacterTokenizer(string.ascii_uppercase + string.ascii_lowercase + string.digits + "+-")
N_SCORED = 128


@dataclass(frozen=True, eq=False)
class InductionTask:
    """Rows of `seq_len` tokens that repeat after a distance drawn for each row.

    Distances lie between an eighth and half of `seq_len`; every fourth is held out. With one
    distance only, a head that always looks equally far back would do, and none would search.
    """

    seq_len: int

    name: ClassVar[str] = "induction"
    architectures: ClassVar[tuple[Architecture, ...]] = (Architecture.GPT,)
    learner: ClassVar[Architecture] = Architecture.GPT
    tokenizer: ClassVar[CharacterTokenizer] = TOKENS
    score_name: ClassVar[str] = N_("induction score")

    @property
    def vocab_size(self) -> int:
        """How many token ids there are."""
        return TOKENS.vocab_size

    def distances(self, *, held_out: bool) -> Tensor:
        """The distances of one side, ascending."""
        distances = torch.arange(self.seq_len // 8, self.seq_len // 2 + 1)
        return distances[(distances % 4 == 3) == held_out]

    def batch(self, batch_size: int, random: torch.Generator) -> Batch:
        """Rows with the distances that are learned."""
        return self._rows(self._drawn(batch_size, random, held_out=False), random)

    def held_out(self, batch_size: int, random: torch.Generator) -> Batch:
        """Rows with distances never learned."""
        return self._rows(self._drawn(batch_size, random, held_out=True), random)

    def score(self, logits_of: LogitsOf, random: torch.Generator) -> float:
        """Share of repeats told right, in fresh rows with distances never learned."""
        return share_right(self.held_out(N_SCORED, random), logits_of)

    def prompt(self) -> list[int]:
        """One run and the first token of its repeat."""
        random = generator(0, self.name, "prompt")
        distance = self.distances(held_out=True)[:1]
        return self._repeating(distance, random)[0, : int(distance) + 1].tolist()

    def _drawn(self, batch_size: int, random: torch.Generator, *, held_out: bool) -> Tensor:
        distances = self.distances(held_out=held_out)
        return distances[torch.randint(len(distances), (batch_size,), generator=random)]

    def _rows(self, distance: Tensor, random: torch.Generator) -> Batch:
        """A row for each distance (batch,), asked wherever the token was seen before."""
        row = self._repeating(distance, random)
        was_seen = torch.arange(self.seq_len) >= distance[:, None]
        return Batch(row[:, :-1], row[:, 1:].where(was_seen, IGNORED))

    def _repeating(self, distance: Tensor, random: torch.Generator) -> Tensor:
        """Tokens that repeat after each distance: (batch,) to (batch, seq + 1)."""
        shuffled = torch.rand(len(distance), self.vocab_size, generator=random).argsort(1)
        return shuffled.gather(1, torch.arange(self.seq_len + 1) % distance[:, None])
