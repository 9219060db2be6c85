"""Two models timed in turn, so that whatever else the machine does falls on both alike."""

from collections.abc import Callable

import torch
from torch import Tensor

from blocks.cost.timing import measure_times
from blocks.model.models import Model
from blocks.observe.run import Run

SAMPLES = 3
Forward = Callable[[], Tensor]


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
