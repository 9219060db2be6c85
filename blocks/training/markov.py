"""Text of known entropy: what a model loses above it is what it has not learned yet."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch

from blocks.corpora.markov import SYMBOLS, MarkovSource, markov_source
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.model.randomness import generator
from blocks.text.characters import CharacterTokenizer
from blocks.training.task import Batch, LogitsOf

TOKENS = CharacterTokenizer(SYMBOLS)
N_SCORED = 2048  # rows


@dataclass(frozen=True, eq=False)
class MarkovTask:
    """Rows of a Markov source, drawn anew for each batch: no text comes twice."""

    seq_len: int

    name: ClassVar[str] = "markov"
    architectures: ClassVar[tuple[Architecture, ...]] = (Architecture.GPT,)
    learner: ClassVar[Architecture] = Architecture.GPT
    tokenizer: ClassVar[CharacterTokenizer] = TOKENS
    score_name: ClassVar[str] = N_("nats above the entropy")

    @property
    def vocab_size(self) -> int:
        """How many token ids there are."""
        return TOKENS.vocab_size

    @cached_property
    def source(self) -> MarkovSource:
        """What the rows are drawn from; its symbols are the tokens, in their order."""
        return markov_source()

    def batch(self, batch_size: int, random: torch.Generator) -> Batch:
        """Rows to learn from."""
        rows = self.source.draw(batch_size, self.seq_len + 1, random)
        return Batch(rows[:, :-1], rows[:, 1:])

    def held_out(self, batch_size: int, random: torch.Generator) -> Batch:
        """Rows of the same source: one that was learned from hardly ever comes again."""
        return self.batch(batch_size, random)

    def score(self, logits_of: LogitsOf, random: torch.Generator) -> float:
        """Expected loss above the least that is possible, in nats a token; lower is better.

        The KL divergence from what really follows to what the model expects, over fresh rows: the
        luck of what came next is not in it.
        """
        rows = self.batch(N_SCORED, random).token_ids
        assert isinstance(rows, torch.Tensor)
        likely = self.source.expected(rows)
        found = logits_of(rows).double().log_softmax(-1)
        return float((likely * (likely.log() - found)).sum(-1).mean())

    def prompt(self) -> list[int]:
        """The beginning of a row."""
        rows = self.source.draw(1, max(self.seq_len // 4, 1), generator(0, self.name, "prompt"))
        prompt: list[int] = rows[0].tolist()
        return prompt
