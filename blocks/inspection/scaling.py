"""Why scores are divided by √d_head: what the softmax makes of them with and without."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from blocks.inspection.head_facts import HeadFacts
from blocks.inspection.head_steps import Array, AttentionSteps
from blocks.model.attention import soft_cap
from blocks.model.masks import everyone
from blocks.model.randomness import generator

D_HEADS = tuple(2**i for i in range(10))
LEAST_ROWS = 256
N_KEYS = 16  # of random vectors under no mask
TOLD = (4, 64, 512)  # the widths that a sentence names


class Divisor(StrEnum):
    """What scores are divided by: nothing, √d_head or d_head."""

    NOTHING = "nothing"
    ROOT = "root"
    WIDTH = "width"

    def of(self, d_head: int) -> float:
        """The number itself."""
        return {Divisor.NOTHING: 1.0, Divisor.ROOT: d_head**0.5, Divisor.WIDTH: d_head}[self]


class ScoreMeasure(StrEnum):
    """What is measured of such scores, as the columns of their table are called."""

    SPREAD = "score_std"
    LARGEST = "largest_weight"
    SLOPE = "slope"


@dataclass(frozen=True)
class Sharpness:
    """How sharp the rows of a pattern are, on average over the queries that have a choice.

    entropy_bits: 0 is one key alone; largest_weight: 1 is one key alone; slope: Σ p(1 − p), the
    sum of what each weight changes by per unit of its score: 0 where nothing can be learned.
    """

    entropy_bits: float
    largest_weight: float
    slope: float


def sharpness(scores: Tensor, mask: Tensor) -> Sharpness:
    """Measure how sharp the softmax of these scores is: (…, query, key), `mask` (query, key).

    Zeros (slope and weight of a certain choice) where no query has two keys to choose from.
    """
    has_choice = mask.sum(-1) > 1
    if not has_choice.any():
        return Sharpness(0.0, 1.0, 0.0)
    seen = scores.masked_fill(~mask, -torch.inf)[..., has_choice, :]
    pattern = seen.float().softmax(-1)
    entropy = torch.special.entr(pattern).sum(-1).mean() / torch.log(torch.tensor(2.0))
    slope = (pattern * (1 - pattern)).sum(-1).mean()
    numbers = torch.stack((entropy, pattern.amax(-1).mean(), slope))
    return Sharpness(*numbers.tolist())


def random_sharpness(mask: Tensor, seed: int, d_heads: tuple[int, ...] = D_HEADS) -> pd.DataFrame:
    """A row a width, with and without the division: random queries and keys from N(0, 1).

    Columns: d_head, is_scaled, score_std, and those of `Sharpness`. So many sequences are drawn
    that at least 256 queries are averaged; all see what `mask` (query, key) lets them see.
    """
    rows = []
    for d_head in d_heads:
        scores = _random_scores(mask, d_head, seed)
        for is_scaled in (True, False):
            divisor = Divisor.ROOT if is_scaled else Divisor.NOTHING
            found = _measured(scores / divisor.of(d_head), mask)
            rows.append({"d_head": d_head, "is_scaled": is_scaled, **found})
    return pd.DataFrame(rows)


def _measured(scores: Tensor, mask: Tensor) -> dict[str, float]:
    return {"score_std": float(scores.std()), **vars(sharpness(scores, mask))}


@dataclass(frozen=True, eq=False)
class RandomScoresFacts:
    """Scores of random vectors on 16 keys: one measure, divided by what is chosen and by less.

    `table`: a row a width and divisor, with a column for each measure.
    """

    table: pd.DataFrame
    measure: ScoreMeasure
    divisor: Divisor
    seed: int

    @property
    def drawn(self) -> tuple[Divisor, ...]:
        """Every divisor up to the chosen one."""
        known = tuple(Divisor)
        return known[: known.index(self.divisor) + 1]

    def curve(self, divisor: Divisor) -> pd.Series:
        """The measure by width."""
        rows = self.table[self.table["divisor"] == divisor]
        return rows.set_index("d_head")[self.measure]


def random_scores_facts(seed: int, measure: ScoreMeasure, divisor: Divisor) -> RandomScoresFacts:
    """What is measured of random scores, beside those that are divided by less."""
    return RandomScoresFacts(random_table(seed), measure, divisor, seed)


@lru_cache(maxsize=8)
def random_table(seed: int) -> pd.DataFrame:
    """Draw queries and keys of every width from N(0, 1), and measure their scores."""
    mask = everyone(N_KEYS)
    rows = []
    for d_head in D_HEADS:
        scores = _random_scores(mask, d_head, seed)
        rows += [
            {"d_head": d_head, "divisor": each, **_measured(scores / each.of(d_head), mask)}
            for each in Divisor
        ]
    return pd.DataFrame(rows)


def _random_scores(mask: Tensor, d_head: int, seed: int) -> Tensor:
    """QKᵀ of random queries and keys: (sequences, query, key)."""
    seq_len = mask.shape[-1]
    shape = (-(-LEAST_ROWS // seq_len), seq_len, d_head)
    drawn = (torch.randn(shape, generator=generator(seed, "scaling", name)) for name in "qk")
    q, k = (x.to(mask.device) for x in drawn)
    return q @ k.mT


@dataclass(frozen=True, eq=False)
class ScalingFacts:
    """One head with its scores divided by √d_head and without, and random vectors of every width.

    `random`: see `random_sharpness`; `is_scaled`: which of the two is looked at.
    """

    head: HeadFacts
    divided: Sharpness
    undivided: Sharpness
    random: pd.DataFrame
    is_scaled: bool

    @property
    def both(self) -> pd.DataFrame:
        """The sharpness of the head, a row for each way."""
        ways = ((True, self.divided), (False, self.undivided))
        d_head = self.head.steps.d_head
        return pd.DataFrame([{"d_head": d_head, "is_scaled": way, **vars(of)} for way, of in ways])

    def random_spread(self, is_scaled: bool, d_head: int) -> float:
        """The standard deviation of the scores of random vectors of this width."""
        table = self.random
        is_this = (table["is_scaled"] == is_scaled) & (table["d_head"] == d_head)
        return float(table.loc[is_this, "score_std"].iloc[0])

    def weights(self, is_scaled: bool) -> Array:
        """What the query puts on each key, as recorded, or where scores are not divided."""
        one, query = self.head.steps, self.head.query
        if is_scaled or self.head.is_blind:
            return self.head.weights
        before = one.scaled if one.capped is None else one.capped
        bias = 0 if one.biased is None else one.biased[query] - before[query]
        cap = self.head.run.config.attention.score_softcap
        raw = cap * np.tanh(one.raw[query] / cap) if cap else one.raw[query]
        scores = np.where(np.isnan(one.masked[query]), -np.inf, raw + bias)
        exp: Array = np.exp(scores - scores.max())
        sink = 0.0 if one.sink is None else np.exp(one.sink - scores.max())
        return exp / (exp.sum() + sink)


def sharpness_of(steps: AttentionSteps, head: int, *, is_scaled: bool) -> Sharpness:
    """How sharp a head is, with its scores divided by √d_head or without."""
    scores = steps.q[head] @ steps.k[head].mT
    if is_scaled:
        scores = scores * steps.q.shape[-1] ** -0.5
    scores = soft_cap(scores, steps.softcap)
    if steps.bias is not None:
        scores = scores + steps.bias[head]
    return sharpness(scores, steps.mask)
