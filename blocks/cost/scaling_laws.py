"""Scaling laws: which size and how many tokens make most of a budget, and which loss to expect.

Each law is told with its source, what it counts as the size of a model, and the budgets of the
trainings that it was fitted to. Losses are in nats per token of the text and tokenizer that the law
was fitted on: on another text they are other numbers.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from blocks.model.faults import N_, Table

PF_DAY = 8.64e19  # FLOPs of a day at 10¹⁵ FLOP/s, the unit of Kaplan et al. 2020


class Counted(StrEnum):
    """What a law calls the size of a model.

    `all`: all parameters; `inner`: without embedding and output tables; `work`: FLOPs of training
    per token, attention between tokens included, the vocabulary left out.
    """

    ALL = "all"
    INNER = "inner"
    WORK = "work"


class Band(NamedTuple):
    """A number, and the least and most that it may be."""

    value: float
    least: float
    most: float


@dataclass(frozen=True)
class LossFit:
    """L(N, D) = E + A/N^α + B/D^β (Hoffmann et al. 2022, equation 2); `floor` is E."""

    floor: float
    a: float
    b: float
    alpha: float
    beta: float

    def loss(self, n: float, d: float) -> float:
        """After d tokens, of a model of size n."""
        return float(self.floor + self.a * n**-self.alpha + self.b * d**-self.beta)

    @property
    def power(self) -> float:
        """With which power of the budget the best size grows."""
        return self.beta / (self.alpha + self.beta)

    @property
    def scale(self) -> float:
        """The best size at 1 FLOP: N = (αA/βB)^(1/(α+β)) · (C/6)^power (Hoffmann, equation 4)."""
        ratio = self.alpha * self.a / (self.beta * self.b)
        return float(ratio ** (1 / (self.alpha + self.beta)) / 6**self.power)


@dataclass(frozen=True)
class Law:
    """The best size is `scale` · C^`power`; of what is `counted`.

    `budgets`: least and most FLOPs of the trainings that it was fitted to; `fit`: the loss of any
    size and any number of tokens, where one is stated; `fits`: of the same trainings by others.
    """

    title: str
    source: str
    counted: Counted
    scale: float
    power: float
    budgets: tuple[float, float]
    fit: LossFit | None = None
    fits: tuple[LossFit, ...] = ()

    def size(self, flops: float) -> float:
        """The best size for this budget."""
        return float(self.scale * flops**self.power)

    def tokens(self, flops: float) -> float:
        """The tokens that remain for it: C = 6·N·D, or work · D."""
        each = 1 if self.counted is Counted.WORK else 6
        return flops / (each * self.size(flops))

    def loss(self, n: float, d: float) -> Band | None:
        """The loss expected after d tokens, and what all fits of the same trainings say."""
        if self.fit is None:
            return None
        found = [fit.loss(n, d) for fit in (self.fit, *self.fits)]
        return Band(found[0], min(found), max(found))

    def beyond(self, flops: float) -> float:
        """How many times larger than the largest training of the fit, or smaller than the least."""
        least, most = self.budgets
        return max(1.0, flops / most, least / flops)


def law_of(fit: LossFit, title: str, source: str, budgets: tuple[float, float], *others: LossFit,
           counted: Counted = Counted.ALL) -> Law:  # fmt: skip
    """The law that follows from a loss: where it is least at equal 6·N·D."""
    return Law(title, source, counted, fit.scale, fit.power, budgets, fit, others)


# Hoffmann et al. 2022, appendix D.3, to the digits of its source; Besiroglu et al. 2024, table 1.
HOFFMANN = LossFit(1.6934, 406.4, 410.7, 0.3392, 0.2849)
BESIROGLU = LossFit(1.8172, 482.01, 2085.43, 0.3478, 0.3658)
CHINCHILLA_RUNS = (1.4e18, 1.3e22)  # FLOPs of the trainings in Hoffmann et al. 2022, figure 4

LAWS = Table(
    N_("There is no scaling law named {name}: the nearest names are {names}"),
    {
        "besiroglu": law_of(
            BESIROGLU,
            "Chinchilla, corrected (2024)",
            "Besiroglu et al. 2024, arXiv:2404.10102, table 1",
            CHINCHILLA_RUNS,
            HOFFMANN,
        ),
        "hoffmann": law_of(
            HOFFMANN,
            "Chinchilla, approach 3 (2022)",
            "Hoffmann et al. 2022, arXiv:2203.15556, appendix D.3",
            CHINCHILLA_RUNS,
            BESIROGLU,
        ),
        "deepseek": Law(
            "DeepSeek LLM (2024)",
            "DeepSeek-AI 2024, arXiv:2401.02954, equation 4",
            Counted.WORK,
            0.1715,
            0.5243,
            (1e17, 3e20),
        ),
        "kaplan": Law(
            "Kaplan (2020)",
            "Kaplan et al. 2020, arXiv:2001.08361, table 6",
            Counted.INNER,
            1.3e9 / PF_DAY**0.73,
            0.73,
            (1e-4 * PF_DAY, 10 * PF_DAY),
        ),
    },
)


def batch_tokens(flops: float) -> float:
    """Tokens of the best batch (DeepSeek-AI 2024, equation 1)."""
    return float(0.2920 * flops**0.3271)


def learning_rate(flops: float) -> float:
    """The best peak learning rate, beside that batch (DeepSeek-AI 2024, equation 1)."""
    return float(0.3118 * flops**-0.1250)


def critical_batch(loss: float) -> float:
    """Tokens beyond which a larger batch saves few steps (Kaplan et al. 2020, equation 1.4)."""
    return float(2.1e8 * loss ** (-1 / 0.21))
