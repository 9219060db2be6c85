"""Questions with one right answer: copy, reverse, sort, addition.

A GPT reads "question = answer" and is asked for the answer only; an encoder reads the question and
says the answer at the same positions. A fingerprint of the question says which side it is on, so
no held-out question is ever learned from.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from blocks.faults import N_
from blocks.kinds import Architecture
from blocks.randomness import generator
from blocks.text.characters import CharacterTokenizer
from blocks.training.task import IGNORED, Batch, LogitsOf, asked_and_right

HELD_OUT_EVERY = 8
N_SCORED = 256
LETTERS = CharacterTokenizer("=abcdefghijklmnopqrstuvwxyz")
DIGITS = CharacterTokenizer("=+0123456789")
EQUALS, PLUS, FIRST_LETTER, ZERO = 0, 1, 1, 2

Draw = Callable[[int, torch.Generator], Tensor]
Answer = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class QuestionTask:
    """Questions that `draw` makes, (batch, n), and the answers that `answer` gives to them."""

    name: str
    architectures: tuple[Architecture, ...]
    causal: bool
    seq_len: int
    tokenizer: CharacterTokenizer
    draw: Draw
    answer: Answer

    score_name: ClassVar[str] = N_("exact answers")

    @property
    def vocab_size(self) -> int:
        """How many token ids there are."""
        return self.tokenizer.vocab_size

    def batch(self, batch_size: int, random: torch.Generator) -> Batch:
        """Questions to learn from."""
        return self._posed(self._drawn(batch_size, random, held_out=False))

    def held_out(self, batch_size: int, random: torch.Generator) -> Batch:
        """Questions never learned from."""
        return self._posed(self._drawn(batch_size, random, held_out=True))

    def score(self, logits_of: LogitsOf, random: torch.Generator) -> float:
        """Share of held-out questions whose whole answer is right.

        The likeliest token given the right answer so far is right everywhere exactly if writing
        the likeliest token each time gives the right answer.
        """
        asked, right = asked_and_right(self.held_out(N_SCORED, random), logits_of)
        return (right | ~asked).all(1).float().mean().item()

    def prompt(self) -> list[int] | None:
        """A held-out question with its equals sign; none for an encoder, which does not write."""
        question = self._drawn(1, generator(0, self.name, "prompt"), held_out=True)
        return [*question[0].tolist(), EQUALS] if self.causal else None

    def _drawn(self, batch_size: int, random: torch.Generator, *, held_out: bool) -> Tensor:
        """Questions of one side; those of the other are drawn anew."""
        n_tries = 2 * batch_size * (HELD_OUT_EVERY if held_out else 1)
        questions = self.draw(0, random)
        while len(questions) < batch_size:
            tried = self.draw(n_tries, random)
            questions = torch.cat([questions, tried[is_held_out(tried) == held_out]])
        return questions[:batch_size]

    def _posed(self, question: Tensor) -> Batch:
        answer = self.answer(question)
        if not self.causal:
            return Batch(question, answer)
        equals = torch.full((len(question), 1), EQUALS)
        whole = torch.cat([question, equals, answer], dim=1)
        targets = whole[:, 1:].clone()
        targets[:, : question.shape[1]] = IGNORED
        return Batch(whole[:, :-1], targets)


def letters_task(name: str, seq_len: int, *, causal: bool) -> QuestionTask:
    """Copy, reverse or sort letters; question and answer share `seq_len` in a GPT."""
    answer: dict[str, Answer] = {
        "copy": lambda question: question,
        "reverse": lambda question: question.flip(1),
        "sort": lambda question: question.sort(1).values,
    }
    n = seq_len // 2 if causal else seq_len
    return QuestionTask(
        name=name,
        architectures=(Architecture.GPT, Architecture.ENCODER),
        causal=causal,
        seq_len=2 * n if causal else n,
        tokenizer=LETTERS,
        draw=lambda batch, random: _random_letters(batch, n, random),
        answer=answer[name],
    )


def addition_task(seq_len: int) -> QuestionTask:
    """Add two numbers of as many digits as fit, written with leading zeros: 07+95=201.

    The answer is written from its last digit to its first (102 as 201), as one adds by hand:
    each digit then needs only digits and the carry before it.
    """
    n = (seq_len - 2) // 3
    return QuestionTask(
        name="addition",
        architectures=(Architecture.GPT,),
        causal=True,
        seq_len=3 * n + 2,
        tokenizer=DIGITS,
        draw=lambda batch, random: _random_sums(batch, n, random),
        answer=_sum_digits,
    )


def is_held_out(question: Tensor) -> Tensor:
    """The side of each question by its fingerprint: (batch, n) to (batch,).

    Multiply-shift hashing (Dietzfelbinger et al. 1997): the high bits of a weighted sum.
    """
    random = generator(0, "fingerprint", str(question.shape[1]))
    weights = torch.randint(1 << 62, question.shape[1:], generator=random) * 2 + 1
    fingerprint = (question * weights).sum(1) >> 40
    return fingerprint % HELD_OUT_EVERY == 0


def _random_letters(batch: int, n: int, random: torch.Generator) -> Tensor:
    return torch.randint(FIRST_LETTER, LETTERS.vocab_size, (batch, n), generator=random)


def _random_sums(batch: int, n: int, random: torch.Generator) -> Tensor:
    """Two numbers of n digits with a plus between them: (batch, 2n + 1)."""
    question = torch.randint(ZERO, ZERO + 10, (batch, 2 * n + 1), generator=random)
    question[:, n] = PLUS
    return question


def _sum_digits(question: Tensor) -> Tensor:
    """The digits of the sum, last digit first: (batch, 2n + 1) to (batch, n + 1)."""
    n = question.shape[1] // 2
    powers = 10 ** torch.arange(n + 1)
    place_values = powers[:n].flip(0)
    digits = question - ZERO
    total = (digits[:, :n] * place_values).sum(1) + (digits[:, n + 1 :] * place_values).sum(1)
    return total[:, None] // powers % 10 + ZERO
