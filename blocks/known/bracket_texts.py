"""Texts of brackets and letters, and which bracket closes next: a task that is small and exact.

One bracket is open at a time: ( a b ) [ b ] { a. So where one is open it is the last that opened.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from blocks.model.randomness import generator
from blocks.training.task import IGNORED

OPENING, CLOSING, LETTERS = "([{<", ")]}>", "ab"
CHARACTERS = OPENING + CLOSING + LETTERS
N_KINDS, SEQ_LEN = len(OPENING), 12
N_LEARNED, N_HELD_OUT = 1024, 1024


@dataclass(frozen=True, eq=False)
class Texts:
    """Token ids and, at each token, the bracket that closes next: both (n, seq).

    Where no bracket is open nothing is asked.
    """

    token_ids: Tensor
    answers: Tensor

    def rows(self, rows: Tensor) -> "Texts":
        """Some of the texts."""
        return Texts(self.token_ids[rows], self.answers[rows])


@lru_cache(maxsize=8)
def learned(seed: int, n_texts: int = N_LEARNED, *, is_shuffled: bool = False) -> Texts:
    """The texts that a model learns, always the same ones.

    Shuffled: the answers are dealt out anew among all beginnings that differ, so that each still
    has one answer, and as many have each.
    """
    texts = drawn(n_texts, generator(seed, "bracket texts"))
    return shuffled(texts, generator(seed, "bracket answers")) if is_shuffled else texts


@lru_cache(maxsize=8)
def held_out(seed: int) -> Texts:
    """Others of the same kind."""
    return drawn(N_HELD_OUT, generator(seed, "other bracket texts"))


def drawn(n: int, random: torch.Generator) -> Texts:
    """So many texts: half of the tokens are letters, the others brackets."""
    rows = [_text(random) for _ in range(n)]
    return Texts(*(torch.tensor([row[i] for row in rows]) for i in (0, 1)))


def _text(random: torch.Generator) -> tuple[list[int], list[int]]:
    """One text and its answers: a letter, or the bracket that opens or closes, equally likely."""
    row, answers, is_open = [], [], IGNORED
    for _ in range(SEQ_LEN):
        if _below(2, random):
            row.append(2 * N_KINDS + _below(len(LETTERS), random))
        elif is_open == IGNORED:
            row.append(_below(N_KINDS, random))
            is_open = N_KINDS + row[-1]
        else:
            row.append(is_open)
            is_open = IGNORED
        answers.append(is_open)
    return row, answers


def shuffled(texts: Texts, random: torch.Generator) -> Texts:
    """The same texts with the answers of their beginnings dealt out anew."""
    known: dict[tuple[int, ...], int] = {}
    rows = texts.token_ids.tolist()
    for row, said in zip(rows, texts.answers.tolist(), strict=True):
        known |= {tuple(row[: i + 1]): each for i, each in enumerate(said) if each != IGNORED}
    order = torch.randperm(len(known), generator=random).tolist()
    values = [*known.values()]
    dealt = dict(zip(known, (values[i] for i in order), strict=True))
    new = [[dealt.get(tuple(row[: i + 1]), IGNORED) for i in range(len(row))] for row in rows]
    return Texts(texts.token_ids, torch.tensor(new))


def _below(n: int, random: torch.Generator) -> int:
    return int(torch.randint(n, (1,), generator=random))


def opened(token_ids: Sequence[int]) -> int | None:
    """The place of the bracket that is still open after these tokens; None where none is."""
    last = max((i for i, each in enumerate(token_ids) if each < 2 * N_KINDS), default=None)
    return last if last is not None and token_ids[last] < N_KINDS else None
