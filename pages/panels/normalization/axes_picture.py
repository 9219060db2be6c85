"""What comes out of each norm: mean, standard deviation and RMS, of every token or feature."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pages.figures.series import NORM_LINES
from pages.figures.theme import (
    HIDDEN_AXIS,
    NORM,
    PINNED,
    RESIDUAL,
    TITLE,
    Picture,
    Translate,
    faint,
    figure,
    plain,
    small,
    token_label,
)
from pages.figures.token_axis import token_ticks
from pages.figures.weights import outline

MOST_FEATURES, MOST_SEQUENCES = 10, 3
MOST_TOKENS, MOST_TOKENS_OF_SEVERAL = 12, 6
AXES_GAP, SEQUENCE_GAP = 1.6, 0.7
ROW, TOP, BOTTOM = 21, 108, 30
OTHER, SHARED = 1, 2
COLORS = {OTHER: faint(RESIDUAL, 0.24), SHARED: faint(NORM, 0.85)}


class Grid(NamedTuple):
    """One norm: `title` and `note` stand above it; `is_per_token`: rows share, else columns."""

    title: str
    note: str
    is_per_token: bool


class Shape(NamedTuple):
    """What the norms read: sizes, and the names of the tokens of each sequence."""

    batch: int
    tokens: Sequence[str]
    d_model: int


def shared_cells(grids: Sequence[Grid], shape: Shape, *, pinned: int, _: Translate) -> Picture:
    """A grid for each norm: sequences above each other, tokens down, features across.

    Coloured are the cells that share their statistics with the first feature of the pinned token
    of the first sequence; as many are drawn as there is room for, the pinned token among them.
    """
    most = MOST_TOKENS if shape.batch == 1 else MOST_TOKENS_OF_SEVERAL
    shown = shown_tokens(len(shape.tokens), pinned, most)
    n_sequences = min(shape.batch, MOST_SEQUENCES)
    n_features = min(shape.d_model, MOST_FEATURES)
    width, height = n_features + AXES_GAP, len(shown) + SEQUENCE_GAP
    rows = [[i * height + j for j in range(len(shown))] for i in range(n_sequences)]
    pinned_row = shown.index(pinned)
    cells = [
        _cells(i * width, rows, n_features, pinned_row if grid.is_per_token else None)
        for i, grid in enumerate(grids)
    ]
    total = (len(grids) * width - AXES_GAP, n_sequences * height - SEQUENCE_GAP)
    return figure(
        [trace for pair in cells for trace in pair],
        title=_("Numbers that share one mean and one variance"),
        height=int(TOP + BOTTOM + ROW * total[1]),
        margin=(TOP, BOTTOM),
        barmode="overlay",
        xaxis={**HIDDEN_AXIS, "range": [-0.6, total[0] - 0.4]},
        yaxis={
            "range": [total[1] - 0.4, -0.6],
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
            "tickvals": [row for sequence in rows for row in sequence],
            "ticktext": [token_label(shape.tokens[i], 10) for i in shown] * n_sequences,
        },
        shapes=[
            outline(i * width - 0.5, pinned_row - 0.5, n_features, 1) for i in range(len(grids))
        ],
        annotations=[
            *(_above(i * width, grid) for i, grid in enumerate(grids)),
            _below(n_features, shape.d_model, total, _),
        ],
    )


def shown_tokens(n_tokens: int, pinned: int, most: int) -> list[int]:
    """The first tokens, and the pinned one if it comes later."""
    if pinned < most:
        return list(range(min(n_tokens, most)))
    return [*range(most - 1), pinned]


def _cells(
    left: float, rows: list[list[float]], n_features: int, pinned: int | None
) -> list[dict[str, Any]]:
    """Squares in two colours: those that share, and the rest."""
    places: dict[int, list[tuple[float, float]]] = {OTHER: [], SHARED: []}
    for i, sequence in enumerate(rows):
        for j, y in enumerate(sequence):
            for feature in range(n_features):
                is_row = i == 0 and j == pinned
                is_shared = feature == 0 if pinned is None else is_row
                places[SHARED if is_shared else OTHER].append((left + feature, y))
    return [_squares(np.array(found or [(np.nan, np.nan)]), kind) for kind, found in places.items()]


def _squares(places: np.ndarray, kind: int) -> dict[str, Any]:
    """As bars, since these keep their size relative to the axes."""
    return {
        "type": "bar",
        "orientation": "h",
        "x": np.full(len(places), 0.9, dtype=np.float32),
        "base": (places[:, 0] - 0.45).astype(np.float32),
        "y": places[:, 1].astype(np.float32),
        "width": 0.9,
        "marker": {"color": COLORS[kind], "line": {"width": 0}},
        "hoverinfo": "skip",
    }


def _above(left: float, grid: Grid) -> dict[str, Any]:
    place = {"x": left - 0.5, "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom"}
    text = f"<b>{grid.title}</b><br>{grid.note}"
    return {**place, "text": text, "align": "left", "showarrow": False, "font": {"size": 12}}


def _below(
    n_features: int, d_model: int, total: tuple[float, float], _: Translate
) -> dict[str, Any]:
    place = {"x": -0.5, "xanchor": "left", "y": 0, "yref": "paper", "yanchor": "top"}
    text = _("features 1 to {shown} of {d_model}").format(shown=n_features, d_model=d_model)
    return {**place, "text": f"→ {text}", "showarrow": False, "font": {"size": 12}}


STATISTICS = ("mean", "std", "rms")
PANEL, GAP, LEGEND, MOST_TICKS = 120, 0.09, 66, 20


def of_tokens(
    table: pd.DataFrame,
    names: Mapping[str, str],
    tokens: Sequence[str],
    *,
    pinned: int,
    _: Translate,
) -> Picture:
    """Over the features of each token. `table`: norm, token, mean, std, rms; `names`: by norm."""
    axis = {**token_ticks(tokens, MOST_TICKS), "tickangle": -45}
    line = {"type": "line", "x0": pinned, "x1": pinned, "y0": 0, "y1": 1, "yref": "paper"}
    return _panels(
        table.rename(columns={"token": "at"}),
        names,
        [plain(token) for token in tokens],
        title=_("Over the features, per token"),
        axis=axis,
        shapes=[{**line, "line": {"color": PINNED, "width": 2}}],
        _=_,
    )


def of_features(table: pd.DataFrame, names: Mapping[str, str], *, _: Translate) -> Picture:
    """Over all tokens, for each feature; features stand in the order of the input's own values."""
    title = _("feature, in the order of the input values")
    label = _("feature {n}")
    found = [label.format(n=i + 1) for i in range(table["feature"].max() + 1)]
    return _panels(
        table.rename(columns={"feature": "at"}),
        names,
        found,
        title=_("Over all tokens, per feature"),
        axis={"title": {"text": title}, "fixedrange": True, "showticklabels": False},
        is_sorted=True,
        _=_,
    )


def _panels(
    table: pd.DataFrame,
    names: Mapping[str, str],
    labels: Sequence[str],
    *,
    title: str,
    axis: dict[str, Any],
    is_sorted: bool = False,
    _: Translate,
    **more: Any,
) -> Picture:
    """Three panels above each other on one axis."""
    titles = {"mean": _("mean"), "std": _("standard deviation"), "rms": "RMS"}
    traces = [
        _line(
            found, statistic, i, str(name), names[str(name)], labels, table if is_sorted else None
        )
        for i, statistic in enumerate(STATISTICS)
        for name, found in table.groupby("norm", sort=False)
    ]
    height = (1 - 2 * GAP) / 3
    axes: dict[str, Any] = {
        _axis(i): {
            "domain": [max(0.0, 1 - (i + 1) * height - i * GAP), 1 - i * (height + GAP)],
            "title": {"text": titles[statistic]},
            "fixedrange": True,
            "zeroline": statistic == "mean",
            "rangemode": "normal" if statistic == "mean" else "tozero",
            "nticks": 5,
        }
        for i, statistic in enumerate(STATISTICS)
    }
    return figure(
        traces,
        title=title,
        height=3 * PANEL + TITLE + LEGEND + 60,
        margin=(TITLE + LEGEND, 4),
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        xaxis={**axis, "anchor": "y3"},
        **axes,
        **more,
    )


def _axis(i: int) -> str:
    return "yaxis" if i == 0 else f"yaxis{i + 1}"


def _line(
    found: pd.DataFrame,
    statistic: str,
    panel: int,
    norm: str,
    name: str,
    labels: Sequence[str],
    ordered_by: pd.DataFrame | None,
) -> dict[str, Any]:
    values = found[statistic].to_numpy(float)
    order = range(len(values))
    if ordered_by is not None:
        of_input = ordered_by[ordered_by["norm"] == "input"][statistic]
        order = of_input.to_numpy(float).argsort(kind="stable").tolist()
    return {
        "type": "scatter",
        "mode": "lines" if len(values) > 1 else "markers",
        "x": list(range(len(values))),
        "y": small(values[list(order)]),
        "yaxis": f"y{panel + 1}" if panel else "y",
        "name": name,
        "legendgroup": norm,
        "showlegend": panel == 0,
        "line": NORM_LINES[norm],
        "marker": {"size": 10, "color": NORM_LINES[norm]["color"]},
        "text": [labels[i] for i in order],
        "hovertemplate": f"{name}<br>%{{text}}: %{{y:.3f}}<extra></extra>",
    }
