"""How models trained on short texts read longer ones, by the way they are told positions."""

from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from blocks.model.config import ModelConfig
from blocks.model.kinds import PositionKind
from blocks.training import lengths
from blocks.training.recipe import Recipe


@dataclass(frozen=True)
class ReadOn:
    """Bits per token of one kind in bands of positions: the mean over the seeds, least, most."""

    kind: PositionKind
    mean: tuple[float, ...]
    least: tuple[float, ...]
    most: tuple[float, ...]
    n_trained: int

    @property
    def inside(self) -> float:
        """Of the last band that was trained."""
        return self.mean[self.n_trained - 1]

    @property
    def beyond(self) -> float:
        """Over all positions beyond, as far as it was measured."""
        return fmean(self.mean[self.n_trained :])

    @property
    def rise(self) -> float:
        """By how many bits longer texts are worse."""
        return self.beyond - self.inside


@dataclass(frozen=True)
class LengthsFacts:
    """All kinds, from the one that loses least; `band` tokens a band; `model`: their shape."""

    kinds: tuple[ReadOn, ...]
    band: int
    trained_len: int
    longest: int
    model: ModelConfig
    recipe: Recipe
    seeds: tuple[int, ...]

    @property
    def middles(self) -> list[float]:
        """The position in the middle of each band, from 1."""
        n = len(self.kinds[0].mean)
        return [i * self.band + (self.band + 1) / 2 for i in range(n)]


@lru_cache(maxsize=1)
def lengths_facts() -> LengthsFacts | None:
    """What was trained and measured; None where a run of it does not ship."""
    series = lengths.SERIES
    if (runs := series.complete()) is None:
        return None
    kinds = [_read_on(PositionKind(name), found) for name, found in runs.items()]
    return LengthsFacts(
        kinds=tuple(sorted(kinds, key=lambda each: each.rise)),
        band=lengths.BAND,
        trained_len=lengths.TRAINED_LEN,
        longest=lengths.LONGEST,
        model=next(iter(series.configs().values())),
        recipe=series.recipe,
        seeds=series.seeds,
    )


def _read_on(kind: PositionKind, runs: tuple[tuple[float, ...], ...]) -> ReadOn:
    bands = list(zip(*runs, strict=True))
    return ReadOn(
        kind,
        mean=tuple(map(fmean, bands)),
        least=tuple(map(min, bands)),
        most=tuple(map(max, bands)),
        n_trained=lengths.TRAINED_LEN // lengths.BAND,
    )
