"""Results of steps as plain values, so that a picture is kept by them, and back as frames."""

from collections.abc import Mapping, Sequence

import pandas as pd

LAYER_COLUMNS = ("layer", "dead", "saturated", "active")
RATIO_COLUMNS = ("ratio", "parameters", "flops", "write_rms", "stream_rms", "change")
Rows = tuple[tuple[float, ...], ...]


def layer_shares(found: Sequence[Mapping[str, float]]) -> Rows:
    """One row a layer: LAYER_COLUMNS."""
    return tuple(tuple(row[name] for name in LAYER_COLUMNS) for row in found)


def layer_frame(rows: Rows) -> pd.DataFrame:
    """The same as a frame."""
    return pd.DataFrame(list(rows), columns=list(LAYER_COLUMNS)).astype({"layer": int})


def ratio_rows(found: Sequence[Mapping[str, float]]) -> Rows:
    """One row a ratio: RATIO_COLUMNS."""
    return tuple(tuple(row[name] for name in RATIO_COLUMNS) for row in found)


def ratio_frame(rows: Rows) -> pd.DataFrame:
    """The same as a frame."""
    return pd.DataFrame(list(rows), columns=list(RATIO_COLUMNS))
