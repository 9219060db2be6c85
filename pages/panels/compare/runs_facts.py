"""What runs shows, measured."""

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks.inspection import pattern_distance as distance
from blocks.inspection import tiles
from blocks.inspection import two_predictions as predictions
from blocks.observe import heads as head_measures
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.table_rows import Row
from pages.panels.compare import shared
from pages.ui import cached, labelled, link, terms
from pages.ui.language import _, literal
from pages.ui.tokens import label

if TYPE_CHECKING:
    from torch import Tensor


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


def stages(pair: shared.Pair) -> tuple[str, ...]:
    """Stages that can be followed over the layers of both."""
    found = ["resid_post", "attention_out"]
    if not any(run.config.attention_only for run in pair.both):
        found.append("feed_forward_out")
    return tuple(found)


def _pattern(run: Run, layer: int) -> "Tensor":
    """(n_heads, query, key) of the first sequence, on the device."""
    return cached.recording(run).pattern(layer, stack=stack(run))[0]


def _mask(run: Run) -> "Tensor | None":
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
    return head_measures.frame(_pattern(run, layer)[None], mask, layer=layer, tokens=tokens)


@lru_cache(maxsize=32)
def mean_entropy(run: Run) -> float:
    """Bits of a head, averaged over all heads of all layers."""
    found = (
        head_measures.frame(_pattern(run, i)[None], _mask(run)) for i in range(run.config.n_layers)
    )
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


def measured_difference(pair: shared.Pair, layer: int, head: int) -> NDArray[np.float32]:
    """B − A at every cell; NaN where both are masked, 0 for the weight of one that is."""
    a, b = (one_head(run, layer, head).weights for run in pair.both)
    both_masked = np.isnan(a) & np.isnan(b)
    return np.where(both_masked, np.nan, np.nan_to_num(b) - np.nan_to_num(a))


@lru_cache(maxsize=32)
def _counts(a: Run, b: Run) -> "Tensor":
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


def distances(pair: shared.Pair) -> NDArray[np.float32]:
    """(layer, head) of all that both have: distance of heads with the same number."""
    return _distances(pair.a, pair.b)


@lru_cache(maxsize=32)
def _matrix(a: Run, b: Run, layer: int) -> NDArray[np.float32]:
    counts = _counts(a, b).to(a.device)
    return distance.all_distances(_pattern(a, layer), _pattern(b, layer), counts).cpu().numpy()


def measured_matrix(pair: shared.Pair, layer: int) -> NDArray[np.float32]:
    """(heads of A, heads of B) of a layer: distance of every head to every head."""
    return _matrix(pair.a, pair.b, layer)


def n_compared(pair: shared.Pair) -> int:
    """How many queries are averaged."""
    return int(_counts(pair.a, pair.b).sum())


@lru_cache(maxsize=32)
def expected(a: Run, b: Run, place: int) -> predictions.TwoPredictions:
    """What both expect at one token."""
    output_a, output_b = (cached.recording(run).output[0] for run in (a, b))
    return predictions.two_predictions(output_a, output_b, place, shared.N_LIKELIEST)


LEAST_SHARE = 1e-5


def expected_frame(pair: shared.Pair, place: int) -> pd.DataFrame:
    """The likeliest tokens of either, the same columns."""
    table = expected(pair.a, pair.b, place).table
    labels = [label(pair.b, token_id) for token_id in table["token_id"]]
    found = table.assign(label=labels, a=table["p_a"], b=table["p_b"])
    return shared._said(found, _percent)


def _percent(share: float) -> str:
    """Three digits, and what is next to nothing is said to be so."""
    return f"{100 * share:.3g}%" if share >= LEAST_SHARE else f"< {LEAST_SHARE:.3%}"


def heads_frame(pair: shared.Pair, side: int, layer: int) -> pd.DataFrame:
    """One row a head of one side: head, label, and under the cursor its measures and distance."""
    table = head_table(pair.both[side], layer)
    return table.assign(
        label=[_title(row) for row in table.itertuples()],
        hover=[_hover(pair, row, layer) for row in table.itertuples()],
    )


def _title(row: Row) -> str:
    name = f" {terms.head_name(row.name)}" if row.name else ""
    return f"<b>{from_one(row.head)}</b>{name}"


def _hover(pair: shared.Pair, row: Row, layer: int) -> str:
    said = labelled.head_hover(row)
    if not pair.reads_the_same or row.head >= pair.n_heads:
        return said
    text = _("{said}<br>{distance:.3f} from head {head} of the other")
    distance = distances(pair)[layer, row.head]
    return text.format(said=said, distance=distance, head=from_one(row.head))


def side_label(found: shared.Pair, side: int) -> str:
    """What one of both is called in a sentence."""
    return literal(shared.names(found)[side])


def looked_at_layer(found: shared.Pair) -> int:
    """The layer that is looked at, of those that both have."""
    return min(link.value("layer"), found.n_layers - 1)


def looked_at_head(found: shared.Pair) -> int:
    """The head that is looked at, of those that both have."""
    return min(link.value("head"), found.n_heads - 1)
