"""Loss against the cost of use at equal total cost, and the sizes and tokens that people chose."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from blocks.cost.budget_shape import ShapeFacts
from blocks.cost.parameters import active_parameters
from blocks.cost.scaling_laws import LAWS, Law, LossFit
from blocks.cost.trained_tokens import LANDMARKS, TRAINED
from blocks.cost.training_cost import TOKENS_PER_PARAMETER
from blocks.model.presets import PRESET_TABLE, PUBLISHED_TABLE

TIMES = 2.0 ** np.arange(-5, 3.01, 0.05)  # the best size that a front goes through
SERVED = 10  # tokens that are served for each that is trained on, where nobody says otherwise


@dataclass(frozen=True)
class FrontFacts:
    """Loss of each size at equal cost: of training alone, and of training and use together.

    `law`: the one that was asked, or the corrected one where that states no loss.

    `rows`: size, tokens and loss each way. `served`: tokens in use; `best`: the row of the least
    loss with use, `start` that of training alone; `here`: the row of the GPT that was found.
    """

    law: Law
    rows: pd.DataFrame
    served: float
    best: pd.Series
    start: pd.Series
    total: float
    here: pd.Series
    of_rule: float


def loss_front(found: ShapeFacts) -> FrontFacts:
    """Smaller and trained longer (Sardana et al. 2023): 2·N for each token in use.

    Training costs 6·N·D times what it does of the GPT that was found, which so lies on the front.
    Both costs together are those of the size that is best without use.
    """
    law = found.law if found.law.fit else LAWS["besiroglu"]
    of_rule = found.cost.done / found.cost.rule
    flops = found.budget.flops / of_rule
    assert law.fit is not None
    fit = law.fit
    best = fit.scale * flops**fit.power
    served = found.wish.served or SERVED * flops / (6 * best)
    total = of_rule * flops + 2 * best * served
    rows = pd.DataFrame({"n": best * TIMES})
    rows["tokens"] = flops / (6 * rows["n"])
    rows["loss"] = _losses(fit, rows["n"], rows["tokens"])
    left = total / rows["n"] - 2 * served
    rows["tokens_served"] = (left / (6 * of_rule)).where(left > 0)
    rows["loss_served"] = _losses(fit, rows["n"], rows["tokens_served"])
    here = {"n": found.n_parameters, "loss": fit.loss(found.n_parameters, found.n_tokens)}
    return FrontFacts(
        law,
        rows,
        served,
        rows.iloc[int(np.nanargmin(rows["loss_served"]))],
        rows.iloc[int(np.argmin(rows["loss"]))],
        total,
        pd.Series(here),
        of_rule,
    )


def _losses(fit: LossFit, n: "pd.Series[float]", d: "pd.Series[float]") -> "pd.Series[float]":
    return fit.floor + fit.a * n**-fit.alpha + fit.b * d**-fit.beta


@dataclass(frozen=True)
class PeopleFacts:
    """What people chose (`rows`: title, active parameters n, tokens, source), and what is here."""

    rows: pd.DataFrame
    found: ShapeFacts

    @property
    def ratios(self) -> "pd.Series[float]":
        """Tokens per active parameter."""
        return self.rows["tokens"] / self.rows["n"]

    @property
    def n_above(self) -> int:
        """How many were trained on more than twenty."""
        return int((self.ratios > TOKENS_PER_PARAMETER).sum())

    @property
    def most(self) -> float:
        """The most tokens per active parameter."""
        return float(self.ratios.max())

    @property
    def longest(self) -> str:
        """Which was trained on most for its size."""
        return str(self.rows["title"].iloc[int(np.argmax(self.ratios))])


def people_beside(found: ShapeFacts) -> PeopleFacts:
    """Published models beside what the budget buys."""
    return PeopleFacts(published_rows(), found)


@lru_cache(maxsize=1)
def published_rows() -> pd.DataFrame:
    """Published models whose tokens are told; `named` are those that all know."""
    table = PRESET_TABLE | PUBLISHED_TABLE
    rows = [
        (table[name].title, active_parameters(table[name].config), told.tokens, told.source)
        if name in table
        else (told.title, told.n_parameters, told.tokens, told.source)
        for name, told in TRAINED.items()
    ]
    found = pd.DataFrame(rows, columns=["title", "n", "tokens", "source"])
    named = [
        title if name in LANDMARKS else ""
        for name, title in zip(TRAINED, found["title"], strict=True)
    ]
    return found.assign(named=named)
