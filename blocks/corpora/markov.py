"""Text whose entropy is known exactly: each symbol is drawn from what the two before it allow.

Shannon 1948, "A Mathematical Theory of Communication", sections 3 and 7: a Markov source of second
order, and its entropy. In the terms of grammars it is a stochastic regular grammar. No model can
expect less loss on it than its entropy, and one that has learned its table reaches it.
"""

import string
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

SYMBOLS = string.ascii_lowercase + string.ascii_uppercase + string.digits + "+-"
SPREADS = 1.5, 0.75  # of how much the symbol before, and the one before that, change what follows
DECAY = 0.7  # the k-th direction of these changes is k^−DECAY as strong
SEED, ALMOST = 0, 1e-15

Table = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MarkovSource:
    """`transition[a, b, c]` is how likely c is after a and b; every number is above 0."""

    transition: Table

    @property
    def n_symbols(self) -> int:
        """How many symbols there are."""
        return len(self.transition)

    @cached_property
    def pairs(self) -> Table:
        """How often each pair of neighbours stands in an endless text: (first, second)."""
        pairs = np.full((self.n_symbols, self.n_symbols), self.n_symbols**-2.0)
        while True:
            found = np.einsum("ab,abc->bc", pairs, self.transition)
            if np.abs(found - pairs).max() < ALMOST:
                return found / found.sum()
            pairs = found

    @cached_property
    def after_one(self) -> Table:
        """How likely a symbol is where only the one before is seen: (before, symbol)."""
        return self.pairs / self.pairs.sum(1, keepdims=True)

    @property
    def entropy_rate(self) -> float:
        """Nats a symbol that nobody can tell who sees all before it: Σ P(a, b) · H(a, b)."""
        return float(np.einsum("ab,ab->", self.pairs, entropy(self.transition)))

    @property
    def entropy_after_one(self) -> float:
        """Nats a symbol where only the one before is seen: what a bigram can come to at best."""
        return float(self.pairs.sum(1) @ entropy(self.after_one))

    @property
    def entropy_of_one(self) -> float:
        """Nats a symbol where nothing is seen but how often each stands."""
        return float(entropy(self.pairs.sum(0)))

    def least_loss(self, seq_len: int) -> float:
        """The expected loss of the best reader of rows of so many symbols, in nats a symbol.

        The first prediction of a row sees one symbol, every other one sees two or more.
        """
        return (self.entropy_after_one + (seq_len - 1) * self.entropy_rate) / seq_len

    def draw(self, n: int, length: int, random: torch.Generator) -> Tensor:
        """Rows from anywhere in an endless text: (n, length)."""
        size = self.n_symbols
        pair = torch.multinomial(self._flat_pairs, n, replacement=True, generator=random)
        drawn = torch.rand(max(length - 2, 0), n, dtype=torch.float64, generator=random)
        columns = [pair // size, pair % size]
        for uniform in drawn:
            at = torch.searchsorted(self._steps, pair + uniform, right=True)  # pair · size + next
            pair = at % size**2
            columns.append(at % size)
        return torch.stack(columns[:length], dim=1)

    def expected(self, rows: Tensor) -> Tensor:
        """How likely each symbol is as the next of each place: (n, seq) to (n, seq, symbols)."""
        first = torch.from_numpy(self.after_one)[rows[:, :1]]
        table = torch.from_numpy(self.transition)
        return torch.cat([first, table[rows[:, :-1], rows[:, 1:]]], dim=1)

    @cached_property
    def _flat_pairs(self) -> Tensor:
        return torch.from_numpy(self.pairs.ravel())

    @cached_property
    def _steps(self) -> Tensor:
        """Sums of likelihoods, the row of each pair above that of the one before it."""
        sums = self.transition.reshape(-1, self.n_symbols).cumsum(1)
        sums[:, -1] = 1.0  # to the last digit
        return torch.from_numpy((sums + np.arange(len(sums))[:, None]).ravel())


def entropy(p: Table) -> Table:
    """In nats, along the last axis."""
    return -(p * np.log(p)).sum(-1)


@cache
def markov_source() -> MarkovSource:
    """Our own: symbols as frequent as in Zipf's law, moved by the one and the other before.

    How they move is a product of tables whose directions grow weak as a power of their number, so
    that there is always something finer to learn: such a tail, which language has too, is what
    makes losses fall as powers of size and tokens (Maloney et al. 2022, arXiv:2210.16859).
    """
    n, random = len(SYMBOLS), np.random.default_rng(SEED)
    near, far = (spread * _table(n, random) for spread in SPREADS)
    scores = -np.log(np.arange(1, n + 1)) + near[None] + far[:, None]  # (first, second, next)
    likely = np.exp(scores - scores.max(-1, keepdims=True))
    return MarkovSource(likely / likely.sum(-1, keepdims=True))


def _table(n: int, random: np.random.Generator) -> Table:
    """Of each symbol to each, with a spread of 1."""
    strengths = np.arange(1, n + 1) ** -DECAY
    left, right = random.standard_normal((2, n, n))
    table: Table = (left * strengths) @ right / np.sqrt((strengths**2).sum())
    return table
