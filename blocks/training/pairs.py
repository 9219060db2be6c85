"""Learning to write one text for another: what an encoder–decoder is for.

The source is the tokens of a text and nothing else. The target is read from its start token on
and asked for up to its stop token, each token given the right ones before it (teacher forcing;
Williams and Zipser 1989). Rows are filled up to the longest of their batch, which masks hide.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from blocks.model.kinds import Architecture
from blocks.model.randomness import generator
from blocks.model.source_target import SourceTarget, source_target_mask
from blocks.text.marks import Marks, marks_of
from blocks.text.tokenizer import Tokenizer
from blocks.training.task import IGNORED, N_WHOLE, Batch, LogitsOf, likeliest, right_as_a_whole

N_SHOWN = 6


class Row(NamedTuple):
    """The token ids of a text and of what is written for it, without marks around them."""

    source: Sequence[int]
    target: Sequence[int]


Links = Collection[tuple[int, int]]
"""Places (source, target) of tokens of which the one tells the other."""
LinksOf = Callable[[Row], Links]
Draw = Callable[[int, torch.Generator, bool], Sequence[Row]]
"""So many rows, of those that are held out or of the others."""


@dataclass(frozen=True, eq=False)
class PairTask:
    """Pairs that `draw` makes. Row i belongs to the group i mod n, where there are n groups.

    `links` says from where in the source each token of a target comes: what attention may find.

    `seq_len` is the length of the longest row, on either side, marks included.
    """

    name: str
    architectures: tuple[Architecture, ...]
    seq_len: int
    tokenizer: Tokenizer
    score_name: str
    draw: Draw
    links: LinksOf
    groups: tuple[str, ...] = ()
    learner: Architecture = field(default=Architecture.ENCODER_DECODER, init=False)

    @property
    def vocab_size(self) -> int:
        """How many token ids there are."""
        return self.tokenizer.vocab_size

    @property
    def marks(self) -> Marks:
        """The token ids that enclose a target."""
        return marks_of(self.tokenizer)

    def batch(self, batch_size: int, random: torch.Generator) -> Batch:
        """Pairs to learn from."""
        return padded_batch(self.draw(batch_size, random, False), self.marks)

    def held_out(self, batch_size: int, random: torch.Generator) -> Batch:
        """Pairs never learned from."""
        return padded_batch(self.draw(batch_size, random, True), self.marks)

    def score(self, logits_of: LogitsOf, random: torch.Generator) -> float:
        """Share of held-out sources whose whole target is right, its end included.

        The likeliest token given the right target so far is right everywhere exactly if writing
        the likeliest token each time writes the right target.
        """
        return self._exact(logits_of, random).float().mean().item()

    def group_scores(self, logits_of: LogitsOf, random: torch.Generator) -> dict[str, float]:
        """Score each group separately."""
        exact, n = self._exact(logits_of, random).float(), len(self.groups)
        return {name: exact[i::n].mean().item() for i, name in enumerate(self.groups)}

    def prompt(self) -> None:
        """None: a target begins with nothing but its start token."""

    def shown(self) -> Sequence[Row]:
        """A few held-out rows, always the same: what a learner is asked again and again."""
        return self.draw(N_SHOWN, generator(0, self.name, "shown"), True)

    def _exact(self, logits_of: LogitsOf, random: torch.Generator) -> Tensor:
        batch = self.held_out(N_WHOLE, random)
        return right_as_a_whole(batch, likeliest(batch, logits_of))


def padded_batch(rows: Sequence[Row], marks: Marks) -> Batch:
    """Rows of unequal lengths as one batch: source, target, and what comes after each token."""
    sources = [row.source for row in rows]
    written = [[marks.start, *row.target] for row in rows]
    asked = [[*row.target, marks.stop] for row in rows]
    source, target = (padded(each, marks.padding) for each in (sources, written))
    mask = source_target_mask(is_filled(sources), is_filled(written))
    return Batch(SourceTarget(source, target), padded(asked, IGNORED), mask)


def padded(rows: Sequence[Sequence[int]], filler: int) -> Tensor:
    """Rows filled up to the longest: (batch, longest)."""
    longest = max(map(len, rows), default=0)
    return torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows])


def is_filled(rows: Sequence[Sequence[int]]) -> Tensor:
    """(batch, longest), False where a row was filled up."""
    lengths = torch.tensor([len(row) for row in rows])
    return torch.arange(int(lengths.max())) < lengths[:, None]
