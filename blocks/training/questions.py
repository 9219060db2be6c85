"""Questions with one right answer: copy, reverse, sort, addition.

A GPT reads "question = answer" and is asked for the answer only; an encoder reads the question and
says the answer at the same positions; an encoder–decoder reads the question and writes the answer
between two equals signs, of letters as many as there are in this question. A fingerprint of the
question says which side it is on, so no held-out question is ever learned from.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.model.randomness import generator
from blocks.text.characters import CharacterTokenizer
from blocks.text.tokenizer import Tokenizer
from blocks.training.events import Answer as Answered
from blocks.training.pairs import N_SHOWN, Links, LinksOf, PairTask, Row
from blocks.training.task import IGNORED, N_WHOLE, Batch, LogitsOf, likeliest, right_as_a_whole

HELD_OUT_EVERY = 8
LETTERS = CharacterTokenizer("=abcdefghijklmnopqrstuvwxyz")
DIGITS = CharacterTokenizer("=+0123456789")
EQUALS, PLUS, FIRST_LETTER, ZERO = 0, 1, 1, 2

EXACT = N_("exact answers")
Draw = Callable[[int, torch.Generator], Tensor]
Answer = Callable[[Tensor], Tensor]
Splits = Callable[[Tensor], Tensor]
ANSWERS: dict[str, Answer] = {
    "copy": lambda question: question,
    "reverse": lambda question: question.flip(1),
    "sort": lambda question: question.sort(1).values,
}


def fingerprint(question: Tensor) -> Tensor:
    """A number that looks random and is always the same for a question: (batch, n) to (batch,).

    Multiply-shift hashing (Dietzfelbinger et al. 1997): the high bits of a weighted sum.
    """
    random = generator(0, "fingerprint", str(question.shape[1]))
    weights = torch.randint(1 << 62, question.shape[1:], generator=random) * 2 + 1
    return (question * weights).sum(1) >> 40


def is_held_out(question: Tensor) -> Tensor:
    """The side of each question by its fingerprint: (batch, n) to (batch,)."""
    return fingerprint(question) % HELD_OUT_EVERY == 0


@dataclass(frozen=True, eq=False)
class QuestionTask:
    """Questions that `draw` makes, (batch, n), and the answers that `answer` gives to them.

    `splits` says which of them are held out.
    """

    name: str
    architectures: tuple[Architecture, ...]
    learner: Architecture
    seq_len: int
    tokenizer: Tokenizer
    draw: Draw
    answer: Answer
    splits: Splits = is_held_out

    score_name: ClassVar[str] = EXACT

    @property
    def vocab_size(self) -> int:
        """How many token ids there are."""
        return self.tokenizer.vocab_size

    def batch(self, batch_size: int, random: torch.Generator) -> Batch:
        """Questions to learn from."""
        return self.posed(self._one_side(batch_size, random, held_out=False))

    def held_out(self, batch_size: int, random: torch.Generator) -> Batch:
        """Questions never learned from."""
        return self.posed(self._one_side(batch_size, random, held_out=True))

    def score(self, logits_of: LogitsOf, random: torch.Generator) -> float:
        """Share of held-out questions whose whole answer is right.

        The likeliest token given the right answer so far is right everywhere exactly if writing
        the likeliest token each time gives the right answer.
        """
        batch = self.held_out(N_WHOLE, random)
        return right_as_a_whole(batch, likeliest(batch, logits_of)).float().mean().item()

    def prompt(self) -> list[int] | None:
        """A held-out question with its equals sign; none for an encoder, which does not write."""
        if self.learner is not Architecture.GPT:
            return None
        question = self._one_side(1, generator(0, self.name, "prompt"), held_out=True)
        return [*question[0].tolist(), EQUALS]

    def answered(self, logits_of: LogitsOf) -> tuple[Answered, ...]:
        """What a model makes of a few held-out questions, always the same, and what is right.

        A GPT writes the likeliest token each time, an encoder says all of them at once.
        """
        questions = self._one_side(N_SHOWN, generator(0, self.name, "shown"), held_out=True)
        right = self.answer(questions)
        if self.learner is Architecture.ENCODER:
            written = logits_of(questions).argmax(-1)
        else:
            read = torch.cat([questions, torch.full((len(questions), 1), EQUALS)], dim=1)
            for _ in range(right.shape[1]):
                read = torch.cat([read, logits_of(read)[:, -1:].argmax(-1)], dim=1)
            written = read[:, questions.shape[1] + 1 :]
        rows = zip(questions.tolist(), written.tolist(), right.tolist(), strict=True)
        return tuple(Answered(*map(self.tokenizer.decode, row)) for row in rows)

    def _one_side(self, n: int, random: torch.Generator, *, held_out: bool) -> Tensor:
        return _one_side(self.draw, n, random, held_out=held_out, splits=self.splits)

    def posed(self, question: Tensor) -> Batch:
        """What is read of each question, and what is to be said where."""
        answer = self.answer(question)
        if self.learner is Architecture.ENCODER:
            return Batch(question, answer)
        equals = torch.full((len(question), 1), EQUALS)
        whole = torch.cat([question, equals, answer], dim=1)
        targets = whole[:, 1:].clone()
        targets[:, : question.shape[1]] = IGNORED
        return Batch(whole[:, :-1], targets)


def letters_task(name: str, seq_len: int, learner: Architecture) -> QuestionTask | PairTask:
    """Copy, reverse or sort letters; question and answer share `seq_len` in a GPT.

    An encoder–decoder is asked for two letters to all that leave room for the equals sign.
    """
    architectures = (Architecture.GPT, Architecture.ENCODER, Architecture.ENCODER_DECODER)
    answer = ANSWERS[name]
    if learner is Architecture.ENCODER_DECODER:
        draw = partial(_random_strings, most=seq_len - 1)
        return _pairs(name, architectures, seq_len, LETTERS, draw, answer)
    n = seq_len // 2 if learner is Architecture.GPT else seq_len
    return QuestionTask(
        name=name,
        architectures=architectures,
        learner=learner,
        seq_len=2 * n if learner is Architecture.GPT else n,
        tokenizer=LETTERS,
        draw=partial(_random_letters, n=n),
        answer=answer,
    )


def addition_task(seq_len: int, learner: Architecture) -> QuestionTask | PairTask:
    """Add two numbers of as many digits as fit, written with leading zeros: 07+95=201.

    The answer is written from its last digit to its first (102 as 201), as one adds by hand:
    each digit then needs only digits and the carry before it.
    """
    architectures = (Architecture.GPT, Architecture.ENCODER_DECODER)
    n = (seq_len - 2) // 3
    draw = partial(_random_sums, n=n)
    if learner is Architecture.ENCODER_DECODER:
        longest = max(2 * n + 1, n + 2)
        return _pairs("addition", architectures, longest, DIGITS, draw, _sum_digits)
    return QuestionTask(
        name="addition",
        architectures=architectures,
        learner=learner,
        seq_len=3 * n + 2,
        tokenizer=DIGITS,
        draw=draw,
        answer=_sum_digits,
    )


def _pairs(
    name: str,
    architectures: tuple[Architecture, ...],
    seq_len: int,
    tokenizer: CharacterTokenizer,
    draw: Draw,
    answer: Answer,
) -> PairTask:
    """Question and answer apart; what fills a question up is no part of it."""

    def rows(n: int, random: torch.Generator, held_out: bool) -> list[Row]:
        questions = _one_side(draw, n, random, held_out=held_out)
        asked = [question[question != EQUALS] for question in questions]
        return [Row(each.tolist(), answer(each[None])[0].tolist()) for each in asked]

    return PairTask(name, architectures, seq_len, tokenizer, EXACT, rows, LINKS[name])


def _one_side(
    draw: Draw, n: int, random: torch.Generator, *, held_out: bool, splits: Splits = is_held_out
) -> Tensor:
    """Questions of one split; questions of the other are drawn again."""
    n_tries = 2 * n * (HELD_OUT_EVERY if held_out else 1)
    questions = draw(0, random)
    while len(questions) < n:
        tried = draw(n_tries, random)
        questions = torch.cat([questions, tried[splits(tried) == held_out]])
    return questions[:n]


def _copied(row: Row) -> Links:
    return [(i, i) for i in range(len(row.source))]


def _reversed(row: Row) -> Links:
    return [(i, j) for j, i in enumerate(reversed(range(len(row.source))))]


def _sorted(row: Row) -> Links:
    order = sorted(range(len(row.source)), key=row.source.__getitem__)
    return [(i, j) for j, i in enumerate(order)]


def _added(row: Row) -> Links:
    """Both digits of the same value; the last digit of the sum is only a carry."""
    n = len(row.source) // 2
    return [(i, j) for j in range(n) for i in (n - 1 - j, 2 * n - j)]


LINKS: dict[str, LinksOf] = {
    "copy": _copied,
    "reverse": _reversed,
    "sort": _sorted,
    "addition": _added,
}


def _random_letters(batch: int, random: torch.Generator, *, n: int) -> Tensor:
    return torch.randint(FIRST_LETTER, LETTERS.vocab_size, (batch, n), generator=random)


def _random_strings(batch: int, random: torch.Generator, *, most: int) -> Tensor:
    """Letters in every length alike, from 2 to `most`, filled up: (batch, most)."""
    letters = _random_letters(batch, random, n=most)
    lengths = torch.randint(2, most + 1, (batch, 1), generator=random)
    return letters.where(torch.arange(most) < lengths, EQUALS)


def _random_sums(batch: int, random: torch.Generator, *, n: int) -> Tensor:
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
