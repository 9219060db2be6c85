"""All heads of a layer without all of their weights: some queries at a time.

A long text has too many weights to keep them. What is measured of them and what is drawn of them
small is taken while they are there; memory grows with the text, and not with its square.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection import tiles
from blocks.model.attention import query_blocks
from blocks.observe import heads
from blocks.observe.recording import Recording


class Received(NamedTuple):
    """What keys get, each (n_heads, key): from `all` queries of the first text, and their own."""

    all: Tensor
    own: Tensor


class Digest(NamedTuple):
    """What is kept of the weights of a layer.

    `measures`: one row per head (see `blocks.observe.heads`).
    """

    measures: pd.DataFrame
    received: Received


def digest(
    seen: Recording, layer: int, mask: Tensor | None, tokens: Sequence[Hashable] = ()
) -> Digest:
    """All heads of a layer, looked at once."""
    found = list[Received]()

    def some() -> Iterator[Tensor]:
        for rows, pattern in _blocks(seen, layer):
            found.append(_received(rows, pattern))
            yield pattern

    measures = heads.frame_of(some(), mask, layer=layer, tokens=tokens)
    return Digest(measures, _joined(found))


def received_by_keys(seen: Recording, layer: int, queries: slice) -> Received:
    """What the keys of a layer get from some queries."""
    batch, n_heads, n, n_keys = seen.pattern_shape(layer)
    some, found = range(n)[queries], []
    for rows in query_blocks((batch, n_heads, len(some), n_keys)):
        block = some[rows]
        there = slice(block.start, block.stop, block.step)
        found.append(_received(there, seen.pattern(layer, queries=there)))
    return _joined(found)


def small_codes(
    seen: Recording, layer: int, mask: Tensor | None, blank: Sequence[int] = ()
) -> Tensor:
    """Small maps of the first sequence, each cell the largest code of k × k (see `tiles.shrink`).

    (n_heads, rows, columns), one byte each. `blank`: keys that count for nothing.
    """
    k, found = tiles.cells_per_side(seen.pattern_shape(layer)[-1]), []
    for rows, pattern in _blocks(seen, layer, times=k):
        codes = tiles.encode(pattern[:1], None if mask is None else mask[..., rows, :])[0]
        codes[..., list(blank)] = tiles.BLANK
        found.append(tiles.shrink(codes, k))
    return torch.cat(found, dim=1)


def tiled(codes: Iterable[Tensor], columns: int = 0) -> NDArray[np.uint8]:
    """All heads of some layers side by side, one byte per cell (see `tiles.tile`).

    Without `columns` a column is a layer and a row a head; else heads go on from layer to layer.
    """
    each = [*codes]
    ordered = torch.cat(each) if columns else torch.stack(each, dim=1).flatten(0, 1)
    return tiles.tile(tiles.shrink(ordered), columns or len(each))


def _blocks(seen: Recording, layer: int, times: int = 1) -> Iterator[tuple[slice, Tensor]]:
    for rows in query_blocks(seen.pattern_shape(layer), times):
        yield rows, seen.pattern(layer, queries=rows)


def _received(rows: slice, pattern: Tensor) -> Received:
    weights = pattern[0]
    own = torch.zeros_like(weights[:, 0], dtype=torch.float32)
    queries = torch.arange(weights.shape[-1], device=weights.device)[rows]
    own[:, queries] = weights[:, torch.arange(len(queries)), queries].float()
    return Received(weights.sum(dim=1, dtype=torch.float32), own)


def _joined(found: Sequence[Received]) -> Received:
    return Received(*(torch.stack(each).sum(0) for each in zip(*found, strict=True)))
