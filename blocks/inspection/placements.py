"""A model's weights with another norm placement."""

from collections.abc import Mapping
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
FAR_APART = 6.0
MOMENTS = ("mean", "std", "min", "max", "rms")


@dataclass(frozen=True, eq=False)
class Placed:
    """What one layer leaves and how one head reads, in one placement.

    `moments`: of all values of resid_post, by name as in `flow.MOMENTS`; `spread`: value, density
    of the values, and `sizes` the same of log₁₀ of their sizes, but for those under a thousandth
    of the RMS (both None where values are not finite, or all alike); `codes`: the pattern of the
    head in the first sequence, one byte per cell.
    """

    moments: dict[str, float]
    spread: pd.DataFrame | None
    sizes: pd.DataFrame | None
    codes: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class PlacementFacts:
    """One layer and one of its heads in several placements of the norm; `own`: the run's."""

    layer: int
    head: int
    own: str
    placed: Mapping[str, Placed]

    @property
    def names(self) -> tuple[str, ...]:
        """The placements, in the order in which they are drawn."""
        return tuple(self.placed)

    @property
    def moments(self) -> pd.DataFrame:
        """One row per placement: its name as the index, the moments of all values."""
        rows = {name: found.moments for name, found in self.placed.items()}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("placement")

    @property
    def differences(self) -> pd.DataFrame | None:
        """How far the moments are from those of the run's own placement, where it is among them."""
        table = self.moments
        return table - table.loc[self.own] if self.own in table.index else None

    @property
    def sizes(self) -> dict[str, float]:
        """The RMS of all values in each placement, the largest first; finite ones only."""
        rms = self.moments["rms"]
        return rms[np.isfinite(rms)].sort_values(ascending=False, kind="stable").to_dict()

    @property
    def overflowing(self) -> tuple[str, ...]:
        """The placements in which values are not finite."""
        return tuple(name for name in self.placed if name not in self.sizes)

    @property
    def is_far_apart(self) -> bool:
        """Whether one axis of values would show one placement only."""
        drawn = (found for found in self.placed.values() if found.spread is not None)
        stds = [found.moments["std"] for found in drawn]
        return bool(stds) and max(stds) > FAR_APART * min(stds)

    @property
    def spreads(self) -> dict[str, pd.DataFrame]:
        """How the values are spread, of their sizes where the placements are far apart."""
        tables = {
            name: found.sizes if self.is_far_apart else found.spread
            for name, found in self.placed.items()
        }
        return {name: table for name, table in tables.items() if table is not None}


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
    codes = tiles.encode(pattern[:1, head : head + 1].nan_to_num(), there.build_mask(layer))[0, 0]
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
