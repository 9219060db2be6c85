"""Which layer and matrix a rounded model loses its score in, and what it takes to get it back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pandas as pd

from blocks.efficiency.compression import N_BLAMED, Calibrated, Compression, layers, rounded_alone
from blocks.efficiency.frontier import Variant, measure_compression
from blocks.efficiency.matrix_places import layer_path, place_of
from blocks.efficiency.mixed import blame
from blocks.model.models import assemble

CLOSE = 0.01


@dataclass(frozen=True, eq=False)
class Traced:
    """`rows`: matrix, stack, layer, part, blame (nats that the loss rises by with it alone).

    Measured are the model as it was, rounded, with the rows that are most to blame at 8 bits, and
    with the layer of most blame as it was.
    """

    rows: pd.DataFrame
    original: Variant
    rounded: Variant
    kept: Variant
    whole_layer: Variant


@dataclass(frozen=True, eq=False)
class BlameFacts(Traced):
    """Blame traced with one recipe, in the terms of the model's own task."""

    how: Compression
    score_name: str
    is_share: bool

    @property
    def worst(self) -> pd.Series:
        """The matrix of most blame."""
        return self.rows.iloc[int(self.rows["blame"].argmax())]

    @property
    def layer(self) -> tuple[str, int]:
        """Stack and number of the layer of most blame."""
        return worst_layer(self.rows)

    def quality(self, variant: Variant) -> float:
        """Score, or held-out loss in nats."""
        return variant.score if self.is_share else variant.held_out_loss

    @property
    def is_close(self) -> bool:
        """Whether the rounded model is within a hundredth of the original's quality."""
        lost = abs(self.quality(self.original) - self.quality(self.rounded))
        return lost < CLOSE * abs(self.quality(self.original))

    def given_back(self, variant: Variant) -> float:
        """The share of what rounding lost that this has again; 0 where nothing was lost."""
        lost = self.quality(self.original) - self.quality(self.rounded)
        return (self.quality(variant) - self.quality(self.rounded)) / lost if lost else 0.0


def worst_layer(rows: pd.DataFrame) -> tuple[str, int]:
    """The layer whose matrices are most to blame together; what stands in none is left out."""
    inside = rows[rows["layer"] >= 0]
    sums = inside.groupby(["stack", "layer"], as_index=False)["blame"].sum()
    worst = sums.iloc[int(sums["blame"].argmax())]
    return str(worst["stack"]), int(worst["layer"])


def blame_rows(
    model: Calibrated,
    how: Compression,
    of_layer: Callable[[tuple[str, ...]], dict[str, float]] | None = None,
) -> pd.DataFrame:
    """The blame of each matrix that a recipe rounds; nothing else of it is done.

    `of_layer` gives the `blame_of` a layer.
    """
    found = map(of_layer or partial(blame_of, model, how), layers(model, how))
    return in_places({name: nats for each in found for name, nats in each.items()})


def blame_of(model: Calibrated, how: Compression, names: Sequence[str]) -> dict[str, float]:
    """The blame of some of its matrices, each rounded alone."""
    values = {name: each.values() for name, each in rounded_alone(model, how, names).items()}
    own = {name: each.float() for name, each in model.file.tensors.items()}
    own |= {name: own[name].clone() for name in names}  # which are exchanged and put back
    return blame(assemble(model.file.config, own), model.batches[:N_BLAMED], values)


def in_places(blames: Mapping[str, float]) -> pd.DataFrame:
    """The rows of `Traced` from the blame of each matrix by its name."""
    return pd.DataFrame([{**place_of(name), "blame": nats} for name, nats in blames.items()])


def without_layer(rows: pd.DataFrame, how: Compression) -> Compression:
    """The recipe that leaves the layer of most blame as it was."""
    stack, layer = worst_layer(rows)
    there = (rows["stack"] == stack) & (rows["layer"] == layer)
    return replace(how, exempt=how.exempt | {layer_path(rows.loc[there, "matrix"].iloc[0])})


def trace(model: Calibrated, kept: Compression) -> Traced:
    """All of it, for a recipe that keeps rows."""
    how = replace(kept, kept_share=0.0)
    rows = blame_rows(model, how)
    recipes = Compression(), how, kept, without_layer(rows, how)
    return Traced(rows, *(measure_compression(model, recipe) for recipe in recipes))
