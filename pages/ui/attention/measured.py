"""What the page of attention measures: kept, bounded, keyed on the run."""

from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks.inspection import contribution as parts
from blocks.inspection import head_steps as steps
from blocks.inspection import scaling
from blocks.observe.run import Run
from pages.ui import cached, layers


@lru_cache(maxsize=2)
def attention(run: Run, layer: int) -> steps.AttentionSteps:
    """One layer taken apart, on the device of the run."""
    seen, model = cached.recording(run), cached.model(run)
    with cached.turn(run.device):
        return steps.attention_steps(
            seen, model, run.config, layer, run.build_mask(), replace=run.replacements(model)
        )


@lru_cache(maxsize=4)
def head(run: Run, layer: int, number: int) -> steps.HeadSteps:
    """One head of it, on the host."""
    return steps.head_steps(attention(run, layer), number)


@lru_cache(maxsize=64)
def contribution(run: Run, layer: int, number: int | None, query: int) -> parts.Contribution:
    """What each key adds at a query, of one head or of all."""
    return parts.contribution(attention(run, layer), query, number)


@lru_cache(maxsize=64)
def first_token(run: Run, layer: int) -> pd.DataFrame:
    """How much of each head's weight rests on the first token, and what that moves."""
    return parts.first_token(attention(run, layer)).assign(layer=layer)


@lru_cache(maxsize=32)
def sharpness(run: Run, layer: int, number: int, is_scaled: bool) -> scaling.Sharpness:
    """How sharp a head is, with its scores divided by √d_head and without."""
    found = attention(run, layer)
    scores = found.q[number] @ found.k[number].mT
    if is_scaled:
        scores = scores * found.q.shape[-1] ** -0.5
    if found.bias is not None:
        scores = scores + found.bias[number]
    return scaling.sharpness(scores, found.mask)


@lru_cache(maxsize=16)
def random_sharpness(run: Run) -> pd.DataFrame:
    """The same of random queries and keys of every width, under the mask of the run."""
    return scaling.random_sharpness(attention(run, 0).mask, run.seed)


@lru_cache(maxsize=32)
def all_heads(run: Run) -> pd.DataFrame:
    """One row a head of the whole model: its measures."""
    return layers.heads(run)


@lru_cache(maxsize=64)
def strongest(run: Run, layer: int, query: int) -> tuple[int, int, float]:
    """Head, key and weight of the largest weight of a query on another token."""
    row = cached.recording(run).pattern(layer)[0, :, query].float().clone()
    row[:, query] = 0
    place = int(row.argmax())
    head, key = divmod(place, row.shape[-1])
    return head, key, float(row.flatten()[place])


@lru_cache(maxsize=16)
def sinks(run: Run) -> pd.DataFrame:
    """`first_token` of all layers."""
    found = [first_token(run, layer) for layer in range(run.config.n_layers)]
    return pd.concat(found, ignore_index=True)


def both_ways(run: Run, layer: int, number: int) -> pd.DataFrame:
    """`sharpness` with and without the division, a row each."""
    rows = [
        {"d_head": run.config.d_head, "is_scaled": way, **vars(sharpness(run, layer, number, way))}
        for way in (True, False)
    ]
    return pd.DataFrame(rows)


@lru_cache(maxsize=64)
def row_weights(
    run: Run, layer: int, number: int, query: int, is_scaled: bool
) -> NDArray[np.float64]:
    """The weights of one query, as recorded, or of scores that are not divided: (key,)."""
    one = head(run, layer, number)
    if is_scaled:
        return np.nan_to_num(one.pattern[query])
    bias = 0 if one.biased is None else one.biased[query] - one.scaled[query]
    scores = np.where(np.isnan(one.masked[query]), -np.inf, one.raw[query] + bias)
    if np.isinf(scores).all():
        return np.zeros_like(scores)
    exp = np.exp(scores - scores.max())
    return exp / exp.sum()
