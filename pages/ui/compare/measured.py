"""What is counted and measured of two models: kept, keyed on their runs."""

from collections.abc import Callable
from functools import lru_cache
from statistics import median
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks import ModelConfig
from blocks.cost.breakdown import count_kinds
from blocks.cost.paired_time import measure_round
from blocks.cost.passes import PassKind, operations, pass_kinds
from blocks.cost.summary import Summary, summarise
from blocks.cost.timing import Times
from blocks.inspection import pattern_distance as distance
from blocks.inspection import tiles
from blocks.inspection import two_predictions as predictions
from blocks.model.kinds import Architecture
from blocks.observe import heads
from blocks.observe.run import Run
from pages.ui import cached
from pages.ui.compare.sides import Pair

N_ROUNDS, N_LIKELIEST = 7, 6


@lru_cache(maxsize=256)
def summary(config: ModelConfig, n: int, weight_format: str) -> Summary:
    """The numbers by which one is chosen, bytes in this number format."""
    return summarise(config, n=n, dtype=weight_format)


@lru_cache(maxsize=64)
def by_kind(a: ModelConfig, b: ModelConfig) -> pd.DataFrame:
    """Parameters of each kind that either has: name, a, b."""
    return _joined(*({str(k): v for k, v in count_kinds(each).items()} for each in (a, b)))


@lru_cache(maxsize=64)
def by_operation(a: ModelConfig, b: ModelConfig, n: int) -> pd.DataFrame:
    """FLOPs of each operation, for one token of a text of n that is read: name, a, b."""
    return _joined(*({o.name: o.flops / n for o in _reading(each, n)} for each in (a, b)))


def _reading(config: ModelConfig, n: int):
    writes = PassKind.DECODE in pass_kinds(config)
    return operations(config, PassKind.PREFILL if writes else PassKind.FORWARD, n=n)


def _joined(a: dict[str, float], b: dict[str, float]) -> pd.DataFrame:
    """Everything that either has, in its order; what one lacks is 0."""
    order = [*b, *(name for name in a if name not in b)] if len(b) > len(a) else [*a]
    order += [name for name in b if name not in order]
    rows = [(name, a.get(name, 0), b.get(name, 0)) for name in order]
    return pd.DataFrame(rows, columns=["name", "a", "b"])


class PairTimes(NamedTuple):
    """Forward passes of both, taken in turn, and what a pass of B takes for one of A."""

    a: Times
    b: Times
    ratio: float


def rounds(pair: Pair, attempt: int) -> list[Callable[[], tuple[float, float]]]:
    """One measurement of each, as often as there are rounds."""
    return [lambda i=i: one_round(pair.a, pair.b, attempt, i) for i in range(N_ROUNDS)]


@lru_cache(maxsize=256)
def one_round(a: Run, b: Run, attempt: int, i: int) -> tuple[float, float]:
    """Seconds of A, then of B, where nothing else runs on the device."""
    models = cached.model(a), cached.model(b)
    with cached.turn(b.device):
        return measure_round(a, models[0], b, models[1])


def times(found: list[tuple[float, float]]) -> PairTimes:
    """The median of the ratios of all rounds, which is steadier than the ratio of medians."""
    a, b = (Times(seconds) for seconds in zip(*found, strict=True))
    return PairTimes(a, b, median(theirs / ours for ours, theirs in found))


def stack(run: Run) -> str:
    """The half that reads the text, of an encoder–decoder."""
    return "encoder" if run.has_target else ""


@lru_cache(maxsize=64)
def over_layers(run: Run, stage: str, moment: str) -> pd.DataFrame:
    """One number of one stage in every layer: layer (from 1; 0 is what goes in), value."""
    table = cached.whole_flow(run)
    if "stack" in table:
        table = table[table["stack"] == stack(run)]
    rows = table[(table["stage"] == stage) & table["layer"].notna()]
    layers, values = [*(rows["layer"] + 1)], [*rows[moment]]
    if stage == "resid_post":
        first = table[(table["stage"] == "resid_pre") & (table["layer"] == 0)]
        layers, values = [*(0 for _row in first[moment]), *layers], [*first[moment], *values]
    return pd.DataFrame({"layer": layers, "value": values}).astype({"layer": int, "value": float})


@lru_cache(maxsize=32)
def is_finite(run: Run) -> bool:
    """Whether all values that passed are numbers: a narrow format can overflow."""
    return bool(np.isfinite(cached.whole_flow(run)["rms"]).all())


def stages(pair: Pair) -> tuple[str, ...]:
    """Stages that can be followed over the layers of both."""
    found = ["resid_post", "attention_out"]
    if not any(run.config.attention_only for run in pair.both):
        found.append("feed_forward_out")
    return tuple(found)


def _pattern(run: Run, layer: int):
    """(n_heads, query, key) of the first sequence, on the device."""
    return cached.recording(run).pattern(layer, stack=stack(run))[0]


def _mask(run: Run):
    """Who may see whom in the first sequence, (query, key), or None."""
    mask, n = run.build_mask(), run.input.shape[1]
    mask = mask.source if run.has_target else mask
    return None if mask is None else mask.expand(*mask.shape[:-2], n, n).reshape(-1, n, n)[0]


@lru_cache(maxsize=32)
def head_tiles(run: Run, layer: int) -> NDArray[np.uint8]:
    """All heads of a layer side by side, one byte a cell."""
    codes = tiles.shrink(tiles.encode(_pattern(run, layer), _mask(run)))
    return tiles.tile(codes, tiles.columns(len(codes)))


@lru_cache(maxsize=64)
def head_table(run: Run, layer: int) -> pd.DataFrame:
    """One row a head of a layer: its measures."""
    mask, tokens = _mask(run), run.input.tokens or ()
    return heads.frame(_pattern(run, layer)[None], mask, layer=layer, tokens=tokens)


@lru_cache(maxsize=32)
def mean_entropy(run: Run) -> float:
    """Bits of a head, averaged over all heads of all layers."""
    found = (heads.frame(_pattern(run, i)[None], _mask(run)) for i in range(run.config.n_layers))
    return float(np.mean([table["entropy_bits"].mean() for table in found]))


class OneHead(NamedTuple):
    """One head: codes to colour, and weights with NaN where masked, (query, key) each."""

    codes: NDArray[np.uint8]
    weights: NDArray[np.float32]


@lru_cache(maxsize=32)
def one_head(run: Run, layer: int, head: int) -> OneHead:
    """The pattern of one head, on the host."""
    pattern, mask = _pattern(run, layer)[None, head : head + 1], _mask(run)
    codes = tiles.encode(pattern, mask)[0, 0].cpu().numpy()
    return OneHead(codes, tiles.weights(pattern, mask))


def difference(pair: Pair, layer: int, head: int) -> NDArray[np.float32]:
    """B − A at every cell; NaN where both are masked, 0 for the weight of one that is."""
    a, b = (one_head(run, layer, head).weights for run in pair.both)
    both_masked = np.isnan(a) & np.isnan(b)
    return np.where(both_masked, np.nan, np.nan_to_num(b) - np.nan_to_num(a))


@lru_cache(maxsize=32)
def _counts(a: Run, b: Run):
    return distance.comparable_queries(_mask(a), _mask(b), a.input.shape[1])


@lru_cache(maxsize=16)
def _distances(a: Run, b: Run) -> NDArray[np.float32]:
    counts = _counts(a, b).to(a.device)
    n_layers = min(a.config.n_layers, b.config.n_layers)
    rows = [
        distance.head_distances(_pattern(a, layer), _pattern(b, layer), counts)
        for layer in range(n_layers)
    ]
    return np.stack([row.cpu().numpy() for row in rows])


def distances(pair: Pair) -> NDArray[np.float32]:
    """(layer, head) of all that both have: distance of heads with the same number."""
    return _distances(pair.a, pair.b)


@lru_cache(maxsize=32)
def _matrix(a: Run, b: Run, layer: int) -> NDArray[np.float32]:
    counts = _counts(a, b).to(a.device)
    return distance.all_distances(_pattern(a, layer), _pattern(b, layer), counts).cpu().numpy()


def matrix(pair: Pair, layer: int) -> NDArray[np.float32]:
    """(heads of A, heads of B) of a layer: distance of every head to every head."""
    return _matrix(pair.a, pair.b, layer)


def n_compared(pair: Pair) -> int:
    """How many queries are averaged."""
    return int(_counts(pair.a, pair.b).sum())


def predicts_alike(pair: Pair) -> bool:
    """Whether what both expect can be compared: one architecture, one vocabulary, one text."""
    a, b = pair.both
    is_one_kind = a.config.architecture is b.config.architecture
    predicts = b.config.architecture in (Architecture.GPT, Architecture.ENCODER)
    return (
        is_one_kind
        and predicts
        and pair.reads_the_same
        and a.input.vocabulary == b.input.vocabulary
        and a.input.padded_ids == b.input.padded_ids
    )


@lru_cache(maxsize=32)
def expected(a: Run, b: Run, place: int) -> predictions.TwoPredictions:
    """What both expect at one token."""
    outputs = (cached.recording(run).output[0] for run in (a, b))
    return predictions.two_predictions(*outputs, place, N_LIKELIEST)
