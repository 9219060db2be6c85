"""What depth does to stacks of layers: curves over several seeds, and what follows from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from blocks.inspection.depth import MEASURES, DepthPass
from blocks.inspection.stack import Stack
from blocks.model.config import ModelConfig
from blocks.model.placements import own_placement

GRADIENTS = ("parameter_gradient", "stream_gradient")  # of the loss of all tokens
VANISHED, EXPLODED, ALIKE, SLOPE_TOLERANCE = 1e-3, 1e3, 0.99, 0.15
POWERS = {"post": 0.0, "pre": -0.5}
"""How the last gradient depends on depth: n_layers^k. Xiong et al. 2020, theorem 1."""
LEAST_DEPTHS = 3


class Ends(NamedTuple):
    """One measure of one placement in the first layer that has it, and in the last."""

    placement: str
    first_layer: int
    first: float
    last: float


@dataclass(frozen=True, eq=False)
class LayerCurves:
    """Every measure over the layers of some stacks.

    `table`: placement, measure, layer, and median, least, most over the seeds, NaN where one of
    them is no finite number; `even_bits`: the entropy of even attention weights.
    """

    n_layers: int
    table: pd.DataFrame
    even_bits: float

    @property
    def placements(self) -> tuple[str, ...]:
        """The norm placements, in the order in which they are drawn."""
        return tuple(dict.fromkeys(self.table["placement"]))

    @property
    def alone(self) -> str:
        """The measure that these are of; empty where there are several."""
        first, *more = dict.fromkeys(self.table["measure"])
        return "" if more else str(first)

    def ends(self, measure: str) -> tuple[Ends, ...]:
        """How a measure begins and ends, by placement; not where fewer than two layers have it."""
        found = ((name, self.of(name, measure).dropna(subset="median")) for name in self.placements)
        return tuple(
            Ends(name, int(curve["layer"].iloc[0]), *curve["median"].iloc[[0, -1]].map(float))
            for name, curve in found
            if len(curve) > 1
        )

    def of(self, placement: str, measure: str) -> pd.DataFrame:
        """One curve."""
        is_it = (self.table["placement"] == placement) & (self.table["measure"] == measure)
        return self.table[is_it].reset_index(drop=True)

    def only(self, measure: str) -> "LayerCurves":
        """One measure alone; all where nothing of it is known, or it is none of them."""
        found = self.table[self.table["measure"] == measure]
        return self if found["median"].isna().all() else replace(self, table=found)


class WayBack(NamedTuple):
    """The gradient of all parameters of the first layer and of the last, in one placement."""

    placement: str
    first: float
    last: float

    @property
    def ratio(self) -> float:
        """What arrives in the first layer of what the last has."""
        return self.first / self.last if self.last else float("nan")

    @property
    def arrives(self) -> bool:
        """Whether it neither vanishes nor explodes on its way."""
        return VANISHED <= self.ratio <= EXPLODED


class Overflow(NamedTuple):
    """A placement whose numbers leave the number format.

    `layer`: from where on the stream does; None where the gradients alone do.
    """

    placement: str
    layer: int | None


@dataclass(frozen=True, eq=False)
class DepthFacts:
    """What was measured in the first `stacks` of those that are wanted, with `n_wanted` in all.

    `loss`: of the first stack, in nats; `similarity`: the mean cosine of two tokens that go in
    (None where there is only one), and of two that the last layer leaves, by placement;
    `before`: what was drawn before these.
    """

    stacks: tuple[Stack, ...]
    n_wanted: int
    curves: LayerCurves
    loss: float
    ways_back: tuple[WayBack, ...]
    overflows: tuple[Overflow, ...]
    similarity_in: float | None
    similarity: Mapping[str, float]
    before: LayerCurves | None = None

    @property
    def first(self) -> Stack:
        """The first stack, which stands for all where they are alike."""
        return self.stacks[0]

    @property
    def own(self) -> str:
        """The placement of the run itself."""
        return own_placement(self.first.run.config)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds measured so far."""
        return tuple(dict.fromkeys(stack.seed for stack in self.stacks))

    @property
    def alike(self) -> tuple[str, ...]:
        """The placements in which all tokens become nearly one."""
        return tuple(name for name, cosine in self.similarity.items() if cosine > ALIKE)


def depth_facts(
    stacks: Sequence[Stack],
    passes: Sequence[DepthPass],
    *,
    n_wanted: int,
    before: LayerCurves | None = None,
) -> DepthFacts:
    """What the stacks showed in their passes."""
    curves = stack_curves(stacks, passes)
    names = curves.placements
    similarity = {name: curves.of(name, "similarity")["median"] for name in names}
    start = float(similarity[names[0]].iloc[0])
    ends = {name: float(found.iloc[-1]) for name, found in similarity.items()}
    of_placement = {
        name: [p.layers for s, p in zip(stacks, passes, strict=True) if s.placement == name]
        for name in names
    }
    overflows = (_overflow(name, frames) for name, frames in of_placement.items())
    return DepthFacts(
        stacks=tuple(stacks),
        n_wanted=n_wanted,
        curves=curves,
        loss=passes[0].loss,
        ways_back=tuple(filter(None, (_way_back(curves, name) for name in names))),
        overflows=tuple(filter(None, overflows)),
        similarity_in=start if np.isfinite(start) else None,
        similarity={name: end for name, end in ends.items() if np.isfinite(end)},
        before=before,
    )


def stack_curves(stacks: Sequence[Stack], passes: Sequence[DepthPass]) -> LayerCurves:
    """The curves of several stacks, by placement."""
    return layer_curves([stack.placement for stack in stacks], passes)


def layer_curves(names: Sequence[str], passes: Sequence[DepthPass]) -> LayerCurves:
    """The curves of several passes; those of one name are different seeds of it."""
    frames = [found.layers.assign(placement=n) for n, found in zip(names, passes, strict=True)]
    table = pd.concat(frames).melt(["placement", "layer"], list(MEASURES), "measure")
    over = over_seeds(table, ["placement", "measure", "layer"])
    return LayerCurves(len(passes[0].layers) - 1, over, passes[0].even_bits)


def over_seeds(table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Median, least and most of `value`; NaN where any of them is not finite."""
    found = table["value"].where(np.isfinite(table["value"]))
    groups = table.assign(value=found).groupby(by, sort=False)["value"]
    summed = groups.agg(median="median", least="min", most="max", n="count", all="size")
    is_whole = summed.pop("n") == summed.pop("all")
    return summed.where(is_whole).reset_index()


def _way_back(curves: LayerCurves, placement: str) -> WayBack | None:
    found = curves.of(placement, "parameter_gradient")["median"][1:]
    if found.isna().any():
        return None
    return WayBack(placement, float(found.iloc[0]), float(found.iloc[-1]))


def _overflow(placement: str, frames: Sequence[pd.DataFrame]) -> Overflow | None:
    first = _first_broken(frames, "stream_norm", start=0)
    if first is None and _first_broken(frames, "parameter_gradient", start=1) is None:
        return None
    return Overflow(placement, first)


def _first_broken(frames: Sequence[pd.DataFrame], column: str, *, start: int) -> int | None:
    broken = [
        int(layer)
        for frame in frames
        for layer in frame["layer"][start:][~np.isfinite(frame[column][start:])]
    ]
    return min(broken, default=None)


class Slope(NamedTuple):
    """The last gradient as n_layers^`measured`, and the power that theory expects."""

    placement: str
    measured: float
    expected: float

    @property
    def agrees(self) -> bool:
        """Whether both are the same within the tolerance."""
        return abs(self.measured - self.expected) <= SLOPE_TOLERANCE


class Trend(NamedTuple):
    """The deepest stack against the shallowest, as ratios.

    `gradient`: of the last matrix; `stream`: the size of what the last layer leaves.
    """

    placement: str
    gradient: float
    stream: float


@dataclass(frozen=True, eq=False)
class TheoryFacts:
    """The gradient of the last matrix in stacks of growing depth, beside Xiong et al. 2020.

    `table`: placement, n_layers, median, least, most. Once all of the stacks are measured:
    `trends` of all placements whose numbers stay finite, `slopes` of those that theory speaks of.
    """

    config: ModelConfig
    n_done: int
    n_wanted: int
    table: pd.DataFrame
    trends: tuple[Trend, ...]
    slopes: tuple[Slope, ...]

    @property
    def is_as_predicted(self) -> bool:
        """Whether both placements of the theorem were measured, and behave as it says."""
        are_measured = POWERS.keys() <= {each.placement for each in self.trends}
        return are_measured and [each.agrees for each in self.slopes] == [True] * len(POWERS)


def theory_facts(
    stacks: Sequence[Stack], passes: Sequence[DepthPass], *, n_wanted: int
) -> TheoryFacts:
    """What the stacks showed, of different depths, against theory."""
    of_passes = {
        "gradient": [found.last_write_gradient for found in passes],
        "stream": [found.layers["stream_norm"].iloc[-1] for found in passes],
    }
    depths = [(stack.placement, stack.n_layers) for stack in stacks]
    frames = {
        what: over_seeds(
            pd.DataFrame(depths, columns=["placement", "n_layers"]).assign(value=values),
            ["placement", "n_layers"],
        )
        for what, values in of_passes.items()
    }
    table = frames["gradient"]
    trends, slopes = tuple[Trend, ...](), tuple[Slope, ...]()
    if len(stacks) == n_wanted:
        found = (
            Trend(name, *(_deep_against_shallow(frame, name) for frame in frames.values()))
            for name in dict.fromkeys(table["placement"])
        )
        trends = tuple(each for each in found if np.isfinite(each.gradient * each.stream))
        slopes = tuple(
            Slope(name, power_law, power)
            for name, power in POWERS.items()
            if np.isfinite(power_law := slope(table[table["placement"] == name]))
        )
    return TheoryFacts(stacks[0].config, len(stacks), n_wanted, table, trends, slopes)


def _deep_against_shallow(table: pd.DataFrame, placement: str) -> float:
    found = table[table["placement"] == placement].set_index("n_layers")["median"]
    first = found[found.index.min()]
    return float(found[found.index.max()] / first) if first else float("nan")


def slope(table: pd.DataFrame) -> float:
    """k of the power law n_layers^k that fits best; NaN where there are fewer than three depths."""
    kept = table[(table["median"] > 0) & (table["n_layers"] > 1)]
    if len(kept) < LEAST_DEPTHS:
        return float("nan")
    return float(np.polyfit(np.log(kept["n_layers"]), np.log(kept["median"]), 1)[0])


def depths_below(n_layers: int) -> tuple[int, ...]:
    """The depths at which the last gradient is compared: powers of two, and this one."""
    powers = (2**k for k in range(n_layers.bit_length()))
    return tuple(sorted({*powers, n_layers}))


class Jump(NamedTuple):
    """The layer (from 1) that adds most to the mean norm of a token: what it was before and after.

    `before_apart` and `after_apart`: the same without the sinks.
    """

    layer: int
    before: float
    after: float
    before_apart: float
    after_apart: float


@dataclass(frozen=True, eq=False)
class OwnFacts:
    """The layers of a trained model on its own loss, beside the same with random weights.

    Losses are in nats; `strongest` and `weakest`: the layers (from 1) with the largest and the
    smallest gradient, trained. `jump`: what sinks do to the stream, where they are set apart.
    """

    curves: LayerCurves
    trained_loss: float
    random_loss: float
    seed: int
    strongest: int
    weakest: int
    jump: Jump | None = None


def own_facts(
    trained: DepthPass, random: DepthPass, seed: int, apart: DepthPass | None = None
) -> OwnFacts:
    """What the passes showed; `apart`: the trained one, its measures taken without the sinks."""
    gradient = trained.layers["parameter_gradient"][1:]
    passes = {"trained": trained, "apart": apart, "random": random}
    there = {name: found for name, found in passes.items() if found is not None}
    curves = layer_curves([*there], [*there.values()])
    same = curves.table["placement"].eq("apart") & curves.table["measure"].isin(GRADIENTS)
    return OwnFacts(
        replace(curves, table=curves.table[~same]),
        trained.loss,
        random.loss,
        seed,
        strongest=1 + int(gradient.argmax()),
        weakest=1 + int(gradient.argmin()),
        jump=None if apart is None else _jump(trained.layers, apart.layers),
    )


def _jump(trained: pd.DataFrame, apart: pd.DataFrame) -> Jump:
    norms, others = trained["stream_norm"].to_numpy(), apart["stream_norm"].to_numpy()
    layer = 1 + int(np.diff(norms).argmax())
    values = (norms[layer - 1], norms[layer], others[layer - 1], others[layer])
    return Jump(layer, *map(float, values))
