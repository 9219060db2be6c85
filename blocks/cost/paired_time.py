"""Two models timed in turn, so that whatever else the machine does falls on both alike."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

import torch
from torch import Tensor

from blocks.cost.timing import Times, measure_times
from blocks.cost.two_models import operations_of_both
from blocks.model.layout import pack_weights_for_decoding
from blocks.model.models import Model
from blocks.observe.run import Run

SAMPLES = 3
MOST_SPREAD = 0.3  # between quartiles, of the median
Forward = Callable[[], Tensor]


@dataclass(frozen=True)
class PairTimes:
    """Forward passes of both, taken in turn: seconds of A and of B, a pair a round.

    `flops_ratio`: how long B would take for one of A if FLOPs were all.
    """

    device: str
    rounds: tuple[tuple[float, float], ...]
    flops_ratio: float

    @property
    def a(self) -> Times:
        """The times of A."""
        return Times(tuple(a for a, _b in self.rounds))

    @property
    def b(self) -> Times:
        """The times of B."""
        return Times(tuple(b for _a, b in self.rounds))

    @property
    def ratios(self) -> list[float]:
        """Time of B over that of A, the least first."""
        return sorted(b / a for a, b in self.rounds)

    @property
    def ratio(self) -> float:
        """The median over all rounds, steadier than the ratio of the medians."""
        return median(self.ratios)

    @property
    def is_busy(self) -> bool:
        """Whether the rounds of B lie so far apart that others compute here too."""
        low, high = self.b.quartiles
        return high - low > MOST_SPREAD * self.b.median


def pair_times(a: Run, b: Run, rounds: tuple[tuple[float, float], ...]) -> PairTimes:
    """Summarize the rounds, with the ratio that FLOPs alone would give."""
    table = operations_of_both(a.config, b.config, b.input.shape[1])
    return PairTimes(b.device, rounds, float(table["b"].sum() / table["a"].sum()))


def measure_round(a: Run, model_a: Model, b: Run, model_b: Model) -> tuple[float, float]:
    """Seconds of one forward pass of A, then of B, each warmed up; nothing is observed.

    The median of a few samples each. Both read what their run says, in evaluation.
    """
    seconds_a, seconds_b = (
        measure_times(_forward(run, model), run.device, repeats=SAMPLES).median
        for run, model in ((a, model_a), (b, model_b))
    )
    return seconds_a, seconds_b


def _forward(run: Run, model: Model) -> Forward:
    values, mask = run.values(), run.build_mask()

    def forward() -> Tensor:
        with torch.no_grad():
            return model(values, mask)

    return forward


@dataclass(frozen=True)
class PairSeries:
    """Rounds of two runs, for the how-many-th time.

    Weights are drawn from the seeds: time depends on their shapes, not on their values.
    """

    a: Run
    b: Run
    attempt: int
    n_steps: int
    is_timed: ClassVar[bool] = True

    @property
    def device(self) -> str:
        """The device on which both are timed."""
        return self.b.device

    def results(self, done: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
        """Seconds of A, then of B, round by round."""
        a, b = (pack_weights_for_decoding(run.build()) for run in (self.a, self.b))
        for _round in range(len(done), self.n_steps):
            yield measure_round(self.a, a, self.b, b)
