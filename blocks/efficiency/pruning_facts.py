"""How good a model stays as more of it goes: a line for each criterion, measured."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from blocks.efficiency.frontier import Variant, can_take
from blocks.efficiency.names import compression_of
from blocks.efficiency.pruning import Criterion
from blocks.model.config import ModelConfig

SHARES = {"sparse": (20, 40, 50, 60, 70, 80), "units": (10, 25, 50, 75)}


class Pruned(StrEnum):
    """What is removed: single weights, hidden units, heads."""

    WEIGHTS = "weights"
    HIDDEN_UNITS = "hidden_units"
    HEADS = "heads"


def recipes(config: ModelConfig, pruned: Pruned) -> dict[Criterion, tuple[str, ...]]:
    """Names of what is measured for each criterion, the least first; those that cannot be go."""
    heads = [f"heads{n}" for n in range(1, config.n_kv_heads)]
    names = {
        Pruned.WEIGHTS: [f"sparse{share}" for share in SHARES["sparse"]],
        Pruned.HIDDEN_UNITS: [f"units{share}" for share in SHARES["units"]],
        Pruned.HEADS: heads,
    }[pruned]
    return {
        criterion: tuple(
            name
            for each in names
            if can_take(config, compression_of(name := each + ENDINGS[criterion]))
        )
        for criterion in Criterion
    }


ENDINGS = {Criterion.MAGNITUDE: "", Criterion.WANDA: "-wanda", Criterion.RANDOM: "-random"}


@dataclass(frozen=True, eq=False)
class PruningFacts:
    """`rows`: criterion, removed (share), score, standard_error, loss, bytes, seconds, variant.

    `original` is the model with nothing taken out.
    """

    pruned: Pruned
    rows: pd.DataFrame
    original: Variant
    score_name: str
    is_share: bool

    @property
    def time_ratio(self) -> float:
        """The time of a batch over that of the original.

        With the most taken out; of masks, which change no shape, the median of all.
        """
        seconds = self.rows["seconds"]
        is_masked = self.pruned is Pruned.WEIGHTS
        return float(seconds.median() if is_masked else seconds.iloc[-1]) / self.original.seconds

    def kept_up_to(self, criterion: Criterion, share_of_score: float) -> float:
        """The largest share that went while this much of the score stayed, 0 where none did.

        Of a loss: while it rose by at most as much as the score may fall.
        """
        rows = self.rows[self.rows["criterion"] == criterion]
        good = rows[rows["score"] >= share_of_score * self.original.score]
        if not self.is_share:
            good = rows[rows["loss"] <= (2 - share_of_score) * self.original.held_out_loss]
        return float(good["removed"].max()) if len(good) else 0.0


def pruning_facts(
    config: ModelConfig,
    pruned: Pruned,
    n_measured: int | None,
    measured: Callable[[str], Variant],
    score_name: str,
    is_share: bool,
) -> PruningFacts:
    """Facts of the first measurements (all: `None`) in the order of `in_order`."""
    rows = [
        _row(criterion, config, name, measured(name))
        for criterion, name in in_order(config, pruned)[:n_measured]
    ]
    return PruningFacts(pruned, pd.DataFrame(rows), measured(""), score_name, is_share)


def in_order(config: ModelConfig, pruned: Pruned) -> list[tuple[Criterion, str]]:
    """All measurements, the criteria in turn, so that their lines grow together."""
    lines = recipes(config, pruned)
    steps = zip(*lines.values(), strict=True)
    return [(c, name) for step in steps for c, name in zip(lines, step, strict=True)]


def _row(
    criterion: Criterion, config: ModelConfig, name: str, variant: Variant
) -> dict[str, object]:
    how = compression_of(name)
    heads = how.removed_heads / config.n_kv_heads
    return {
        "criterion": criterion,
        "removed": how.sparsity or how.removed_units or heads,
        "score": variant.score,
        "standard_error": variant.spread,
        "loss": variant.held_out_loss,
        "bytes": variant.n_bytes,
        "seconds": variant.seconds,
        "variant": name,
    }
