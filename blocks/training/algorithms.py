"""Questions that an algorithm answers: sums on a clock, parity, brackets.

Questions and answers are short, so that a small model learns them in a minute and one can find out
how. Modular sums: Power et al. 2022, "Grokking" (arXiv:2201.02177).
"""

from functools import partial

import torch
from torch import Tensor

from blocks.model.kinds import Architecture
from blocks.model.randomness import generator
from blocks.text.characters import CharacterTokenizer
from blocks.text.tokenizer import Tokenizer
from blocks.text.vocabulary import WordTokenizer
from blocks.training.questions import Answer, Draw, QuestionTask, Splits, is_held_out

MODULUS = 59
NUMBERS = WordTokenizer(("=", *map(str, range(MODULUS))))
BITS, BRACKETS = CharacterTokenizer("=01"), CharacterTokenizer("=()[]")
FIRST = 1  # the id of 0 among the numbers, and among the bits
OPENING = torch.tensor([1, 3])  # ( and [; what closes them is the id after
MODULAR_LENGTH = 3


def algorithm_task(name: str, seq_len: int, learned_percent: int) -> QuestionTask:
    """The task of a name.

    modular_addition, modular_subtraction: a + b or a − b on a clock of 59 hours, where so many
    percent of all pairs are learned from. parity: bit by bit, whether the number of ones so far is
    odd, which is easier than to say it at once: 1101=1001. brackets: which bracket closes the
    innermost open one, in the beginning of a Dyck word of two kinds; of an odd length, so that one
    is open.
    """
    match name:
        case "parity":
            n = seq_len // 2
            return _task(name, BITS, n, partial(_random_bits, n=n), _parities, n_answered=n)
        case "brackets":
            n = seq_len - 1 - seq_len % 2
            return _task(name, BRACKETS, n, partial(_random_brackets, n=n), _closing)
        case _:
            answer = partial(_modular, sign=1 if name == "modular_addition" else -1)
            splits = partial(_is_beyond, percent=learned_percent)
            return _task(name, NUMBERS, 2, _random_pairs, answer, splits)


def all_pairs() -> Tensor:
    """Every question of a modular task, a before b: (59², 2)."""
    numbers = torch.arange(MODULUS) + FIRST
    return torch.cartesian_prod(numbers, numbers)


def _task(
    name: str,
    tokenizer: Tokenizer,
    n: int,
    draw: Draw,
    answer: Answer,
    splits: Splits = is_held_out,
    n_answered: int = 1,
) -> QuestionTask:
    """Questions of n tokens, which a GPT reads with an equals sign behind them."""
    return QuestionTask(
        name=name,
        architectures=(Architecture.GPT,),
        learner=Architecture.GPT,
        seq_len=n + n_answered,
        tokenizer=tokenizer,
        draw=draw,
        answer=answer,
        splits=splits,
    )


def _random_pairs(batch: int, random: torch.Generator) -> Tensor:
    return torch.randint(FIRST, FIRST + MODULUS, (batch, 2), generator=random)


def _modular(question: Tensor, *, sign: int) -> Tensor:
    a, b = (question - FIRST).unbind(1)
    return ((a + sign * b) % MODULUS + FIRST)[:, None]


def _is_beyond(question: Tensor, *, percent: int) -> Tensor:
    """A split without any pattern but one: a, b and b, a are on one side, so that no sum is told.

    The fingerprint is a sum, and would be one on this clock.
    """
    n_sets = MODULUS * (MODULUS + 1) // 2
    rank = torch.randperm(n_sets, generator=generator(0, "pairs"))
    least, most = (question - FIRST).sort(1).values.unbind(1)
    return rank[most * (most + 1) // 2 + least] >= percent * n_sets / 100


def _random_bits(batch: int, random: torch.Generator, *, n: int) -> Tensor:
    return torch.randint(FIRST, FIRST + 2, (batch, n), generator=random)


def _parities(question: Tensor) -> Tensor:
    return (question - FIRST).cumsum(1) % 2 + FIRST


def _random_brackets(batch: int, random: torch.Generator, *, n: int) -> Tensor:
    """At each place one opens or the innermost closes, alike often where both can be."""
    opens = torch.rand(batch, n, generator=random) < 0.5
    kinds = OPENING[torch.randint(2, (batch, n), generator=random)]
    rows, depth = torch.arange(batch), torch.zeros(batch, dtype=torch.long)
    stack, written = torch.zeros(batch, n + 1, dtype=torch.long), torch.zeros_like(kinds)
    for t in range(n):
        is_opening = opens[:, t] | (depth == 0)
        written[:, t] = torch.where(is_opening, kinds[:, t], stack[rows, depth] + 1)
        depth = depth + torch.where(is_opening, 1, -1)
        stack[rows, depth] = torch.where(is_opening, kinds[:, t], stack[rows, depth])
    return written


def _closing(question: Tensor) -> Tensor:
    """The innermost open bracket is the last one whose depth is never undercut after it."""
    change = torch.isin(question, OPENING) * 2 - 1
    depth = change.cumsum(1)
    least_after = depth.flip(1).cummin(1).values.flip(1)
    stays = (change > 0) & (depth <= least_after)
    last = question.shape[1] - 1 - stays.flip(1).int().argmax(1)
    return question.gather(1, last[:, None]) + 1
