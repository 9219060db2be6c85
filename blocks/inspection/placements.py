"""A model's weights with another norm placement."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from blocks.cost.parameters import total_parameters
from blocks.inspection import tiles, values
from blocks.model.placements import placed
from blocks.observe import flow
from blocks.observe.recording import record
from blocks.observe.run import Run

LARGEST_WHOLE = 30_000_000
SMALLEST_SHOWN = 1e-3


@dataclass(frozen=True, eq=False)
class Placed:
    """What one layer leaves and how one head reads, in one placement.

    `moments`: of all values of resid_post, by name as in `flow.MOMENTS`; `spread`: value, density
    of the values, and `sizes` the same of log₁₀ of their sizes, but for those under a thousandth
    of the RMS (both None where values are not finite, or all alike); `codes`: the pattern of the
    head in the first sequence, one byte a cell.
    """

    moments: dict[str, float]
    spread: pd.DataFrame | None
    sizes: pd.DataFrame | None
    codes: NDArray[np.uint8]


def placement_run(run: Run) -> Run:
    """The run in which placements are compared: its weights drawn from the seed.

    A model that is too large to be built in every placement is represented by one layer of it.
    """
    n_parameters = total_parameters(run.config)
    config = run.config if n_parameters <= LARGEST_WHOLE else run.config.one_block()
    return replace(run, config=config, weights="")


def measure_placed(run: Run, placement: str, layer: int, head: int) -> Placed:
    """Build the model of a run with its norm there, run it, and keep what is small.

    Weights are drawn by name, each from its own generator: those that two placements share are
    equal under one seed.
    """
    there = replace(run, config=placed(run.config, placement))
    paths = f"layers.{layer}.resid_post", f"layers.{layer}.pattern"
    seen = record(
        there.build(),
        there.values(),
        mask=there.build_mask(),
        keep=paths,
        training_seed=run.seed if run.training else None,
    )
    stream, pattern = (seen.tensor(path) for path in paths)
    moments = dict(zip(flow.MOMENTS, flow.moments(stream).tolist(), strict=True))
    codes = tiles.encode(pattern[:1, head : head + 1].nan_to_num(), there.build_mask())[0, 0]
    is_drawn = bool(np.isfinite(list(moments.values())).all()) and moments["std"] > 0
    spread = _density(stream) if is_drawn else None
    sizes = _density(_sizes(stream, moments["rms"])) if is_drawn else None
    return Placed(moments, spread, sizes, codes.cpu().numpy())


def _sizes(x: Tensor, rms: float) -> Tensor:
    sizes = x.float().abs()
    return sizes[sizes > SMALLEST_SHOWN * rms].log10()


def _density(x: Tensor) -> pd.DataFrame | None:
    """Share of all values per unit of value, so that scales can be compared: value, density."""
    found = values.histogram(x)
    width = found["value"][1] - found["value"][0]
    if not width > 0:
        return None
    return pd.DataFrame({"value": found["value"], "density": found["share"] / width})
