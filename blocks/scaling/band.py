"""How sure a fit is: the same fit to other runs that might have been there, again and again.

Each time one budget is left out, or the cheapest ones are as far as three remain, and as many runs
as the others have are drawn from them (Efron 1979, the bootstrap): a law that bends is off by the
same for all runs of a budget, and more so for small models, which drawing runs alone would not
show. Besiroglu et al. 2024 found that intervals as narrow as those published
for Chinchilla would need 600,000 trainings: a fit without a band says little.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from blocks.cost.loss_fit import Trained
from blocks.cost.scaling_laws import Band, LossFit
from blocks.scaling.projection import Floats, fit_weighted
from blocks.scaling.valleys import by_budget

N_FITS, SEED, COVERED = 100, 0, 0.9
N_CONSTANTS, FEWEST_BUDGETS = 5, 3


@dataclass(frozen=True, eq=False)
class Fitted:
    """A law, what it says of redrawn runs, and by how much each run is off it (relative)."""

    runs: tuple[Trained, ...]
    law: LossFit
    others: tuple[LossFit, ...]

    @cached_property
    def errors(self) -> Floats:
        """Of each run: loss over what the law says, minus 1."""
        return np.array([run.loss / self.law.loss(run.n, run.d) - 1 for run in self.runs])

    @property
    def spread(self) -> float:
        """The typical relative error, told from the freedom that five constants leave."""
        left = max(1, len(self.runs) - N_CONSTANTS)
        return float(np.sqrt((self.errors**2).sum() / left))

    @property
    def floor(self) -> Band:
        """E, with its band."""
        return _band(self.law.floor, [law.floor for law in self.others])

    @property
    def alpha(self) -> Band:
        """The power of the size."""
        return _band(self.law.alpha, [law.alpha for law in self.others])

    @property
    def beta(self) -> Band:
        """The power of the tokens."""
        return _band(self.law.beta, [law.beta for law in self.others])

    @property
    def power(self) -> Band:
        """With which power of the budget the best size grows."""
        return _band(self.law.power, [law.power for law in self.others])

    @property
    def is_determined(self) -> bool:
        """Whether there is a best size, by this law and by nearly all of the others."""
        return has_best(self.law) and len(self._with_best) >= COVERED * len(self.others)

    @cached_property
    def _with_best(self) -> list[LossFit]:
        return [law for law in self.others if has_best(law)]

    def best_size(self, flops: float) -> Band:
        """Parameters of the best model of a budget, in FLOPs, where it is determined."""
        sizes = [law.scale * flops**law.power for law in (self.law, *self._with_best)]
        return _band(sizes[0], sizes[1:])

    def expected(self, n: float, d: float) -> Band:
        """The loss of one more training: what the law is unsure of, and how runs scatter."""
        freedom = np.sqrt(len(self.runs) / max(1, len(self.runs) - N_CONSTANTS))
        scattered = 1 + freedom * self.errors
        found = np.array([law.loss(n, d) for law in self.others])
        return _band(self.law.loss(n, d), np.outer(found, scattered).ravel())


def has_best(law: LossFit) -> bool:
    """Whether some size is the best of a budget: the loss falls with the size and the tokens."""
    return law.a > 0 and law.b > 0


def fitted(runs: Sequence[Trained], *, n_fits: int = N_FITS) -> Fitted:
    """The law of these runs, with its band. Raises `ConfigError` for too few runs."""
    random = np.random.default_rng(SEED)
    left_out = _left_out([*by_budget(runs).values()])
    weights = [np.ones(len(runs))]
    for i in range(n_fits):
        kept = np.array([run not in left_out[i % len(left_out)] for run in runs])
        weights.append(random.multinomial(kept.sum(), kept / kept.sum()).astype(float))
    law, *others = fit_weighted(runs, np.array(weights))
    return Fitted(tuple(runs), law, tuple(others))


def _left_out(budgets: Sequence[list[Trained]]) -> list[list[Trained]]:
    """Which runs to leave out in turn: each budget, then the cheapest two, three, and so on."""
    if len(budgets) < FEWEST_BUDGETS:
        return [[]]
    cheapest = range(2, len(budgets) - FEWEST_BUDGETS + 1)
    return [*budgets, *([run for each in budgets[:k] for run in each] for k in cheapest)]


def _band(value: float, found: Iterable[float]) -> Band:
    least, most = np.quantile([*found], [(1 - COVERED) / 2, (1 + COVERED) / 2])
    return Band(value, float(least), float(most))
