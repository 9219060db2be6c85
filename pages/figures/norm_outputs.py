"""What comes out of each norm: mean, standard deviation and RMS, of every token or feature."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pages.figures.series import NORM_LINES
from pages.figures.theme import PINNED, TITLE, Picture, Translate, figure, plain, small
from pages.figures.token_axis import token_ticks

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
        _line(found, statistic, i, name, names[name], labels, table if is_sorted else None)
        for i, statistic in enumerate(STATISTICS)
        for name, found in table.groupby("norm", sort=False)
    ]
    height = (1 - 2 * GAP) / 3
    axes = {
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
