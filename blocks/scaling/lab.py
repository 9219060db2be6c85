"""What the scaling lab shows: valleys with both fits, the miss of larger runs, the fitted floor."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from blocks.cost.loss_fit import Trained
from blocks.cost.scaling_laws import Band
from blocks.model.faults import N_, ConfigError, Fault
from blocks.scaling.band import FEWEST_BUDGETS, Fitted, fitted
from blocks.scaling.valleys import Line, Valley, flops_of, line_through, valleys

N_DRAWN, BEYOND = 40, 4.0  # points of a curve; how far it goes on beyond the runs


@dataclass(frozen=True, eq=False)
class ValleyFacts:
    """Runs of several budgets, the parabola of each, and one law of them all with its band.

    `line`: the best sizes by parabolas. `sizes`: of budgets, the best size by parabola and by the
    law, with its band. `n_inside`: how many valleys have their bottom between their runs.
    """

    runs: tuple[Trained, ...]
    fit: Fitted
    valleys: tuple[Valley, ...]
    line: Line | None

    @property
    def budgets(self) -> tuple[float, float]:
        """The least and the most FLOPs."""
        found = [flops_of(run) for run in self.runs]
        return min(found), max(found)

    @property
    def best_run(self) -> tuple[float, float, float]:
        """Of the largest budget: the best size, its tokens, and tokens per parameter."""
        flops = self.budgets[1]
        n = self.fit.best_size(flops).value
        return n, flops / 6 / n, flops / 6 / n**2

    @property
    def n_seeds(self) -> int:
        """Runs of one size and budget: the fewest there are."""
        return int(self.table.groupby(["n", "d"]).size().min())

    @property
    def above(self) -> tuple[int, int]:
        """Of the largest budget: the runs whose loss lies above the law, and all of them."""
        largest = self.table[[_is_near(each, self.budgets[1]) for each in self.table["flops"]]]
        return int((largest["off"] > 0).sum()), len(largest)

    @property
    def is_too_low(self) -> bool:
        """Whether most of the dearest runs lie above the law, beyond which it goes on."""
        above, n = self.above
        return above > 2 * n / 3

    @property
    def n_outside(self) -> int:
        """How many have it beyond their runs."""
        return len(self.valleys) - self.n_inside

    @property
    def n_inside(self) -> int:
        """How many valleys have their bottom between their runs."""
        return sum(each.is_inside for each in self.valleys)

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a run: n, d, flops, loss, what the law says, and by how much it is off."""
        rows = pd.DataFrame(self.runs)
        return rows.assign(
            flops=6 * rows["n"] * rows["d"],
            said=[self.fit.law.loss(run.n, run.d) for run in self.runs],
            off=self.fit.errors,
        ).sort_values(["flops", "n"], ignore_index=True)

    @cached_property
    def curves(self) -> pd.DataFrame:
        """For each valley: n, and the loss of parabola and law along it."""
        nothing = pd.DataFrame(columns=["valley", "n", "parabola", "law"])
        found = [self._curve(i, each) for i, each in enumerate(self.valleys)]
        return pd.concat(found) if found else nothing

    def _curve(self, i: int, valley: Valley) -> pd.DataFrame:
        sizes = [run.n for run in self.runs if _is_near(flops_of(run), valley.flops)]
        n = np.geomspace(min(sizes), max(sizes), N_DRAWN)
        return pd.DataFrame(
            {
                "valley": i,
                "n": n,
                "parabola": [valley.at(each) for each in n],
                "law": [self.fit.law.loss(each, valley.flops / 6 / each) for each in n],
            }
        )

    @cached_property
    def best(self) -> pd.DataFrame:
        """Budgets, from the least to some beyond the most: the best size by law and parabolas."""
        least, most = self.budgets
        flops = np.geomspace(least, most * BEYOND, N_DRAWN)
        bands = [self.fit.best_size(each) for each in flops]
        table = pd.DataFrame(bands).assign(flops=flops)
        line = self.line
        return table.assign(line=[line.size(each) if line else np.nan for each in flops])


def valley_facts(runs: Sequence[Trained]) -> ValleyFacts:
    """Both fits of these runs. Raises `ConfigError` where they are too few to determine a law."""
    found, fit = valleys(runs), fitted(runs)
    if not fit.is_determined:
        text = N_(
            "These {n} runs do not determine a best size: use runs with more sizes and "
            "budgets, in which the loss falls as the size and the number of tokens grow"
        )
        raise ConfigError([Fault(text, {"n": len(runs)})])
    return ValleyFacts(tuple(runs), fit, found, line_through(found))


def _is_near(flops: float, other: float) -> bool:
    return abs(np.log(flops / other)) < 0.25


@dataclass(frozen=True, eq=False)
class PredictFacts:
    """A law of cheap runs, and runs that it never saw, each with what was expected of it.

    `earlier`: the same of cheaper budgets, each foretold by those that are cheaper still.
    """

    fit: Fitted
    runs: tuple[Trained, ...]
    earlier: tuple["PredictFacts", ...] = ()

    @cached_property
    def expected(self) -> tuple[Band, ...]:
        """The loss of each held-out run, as the law says before it is trained."""
        return tuple(self.fit.expected(run.n, run.d) for run in self.runs)

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a held-out run: n, d, flops, loss, expected, least, most, miss, is_inside."""
        rows, bands = pd.DataFrame(self.runs), pd.DataFrame(self.expected)
        return pd.concat([rows, bands.rename(columns={"value": "expected"})], axis=1).assign(
            flops=6 * rows["n"] * rows["d"],
            miss=rows["loss"] / bands["value"] - 1,
            is_inside=rows["loss"].between(bands["least"], bands["most"]),
        )

    @property
    def n_inside(self) -> int:
        """How many lie in their band."""
        return int(self.table["is_inside"].sum())

    @property
    def inside_of_all(self) -> tuple[int, int]:
        """How many lie in their band, and of how many: those of earlier budgets count too."""
        every = (self, *self.earlier)
        return sum(each.n_inside for each in every), sum(len(each.runs) for each in every)

    @property
    def n_above(self) -> int:
        """How many came to a higher loss than expected."""
        return int((self.table["miss"] > 0).sum())

    @property
    def most_flops(self) -> float:
        """Of the runs that the law is fitted to."""
        return max(flops_of(run) for run in self.fit.runs)

    @property
    def times(self) -> float:
        """How many times as expensive the largest of the held-out runs is."""
        return max(flops_of(run) for run in self.runs) / self.most_flops

    @property
    def misses(self) -> tuple[float, float]:
        """The mean miss without its sign, and the worst with it: relative."""
        misses = self.table["miss"].to_numpy()
        return float(np.abs(misses).mean()), float(misses[np.abs(misses).argmax()])


def predict_facts(budgets: Sequence[Sequence[Trained]]) -> PredictFacts:
    """Each budget, the cheapest first, foretold by all that are cheaper: by three at least."""
    found = []
    for i in range(FEWEST_BUDGETS, len(budgets)):
        cheaper = [run for budget in budgets[:i] for run in budget]
        found.append(PredictFacts(fitted(cheaper), tuple(budgets[i])))
    *earlier, last = found
    return replace(last, earlier=tuple(earlier))
