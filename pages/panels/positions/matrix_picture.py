"""Positions as curves: one pair of features, all wavelengths, likeness by distance."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pages.figures.theme import (
    ATTENTION,
    BEFORE,
    EDGE,
    EMBEDDING,
    PINNED,
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
)

HEIGHT = 250
DEEPEST_BIAS = 8


class Axes(NamedTuple):
    """Title of a picture and of its axes, in the reader's language."""

    title: str
    x: str
    y: str


def pair(
    curves: pd.DataFrame, names: Sequence[str], axes: Axes, *, pinned: int, _: Translate
) -> Picture:
    """One or two curves over the positions, with a mark at the pinned one.

    `curves`: position, first and, where there is one, second; `names`: what they are called.
    """
    columns = [name for name in ("first", "second") if name in curves]
    traces = []
    for column, name, color in zip(columns, names, (EMBEDDING, ATTENTION), strict=False):
        traces.append(
            {
                **_line(curves["position"], curves[column], color),
                "name": name,
                "hovertemplate": f"{axes.x} %{{x}}<br>{name} %{{y:.4f}}<extra></extra>",
            }
        )
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": [pinned] * len(columns),
        "y": [float(curves[column][pinned]) for column in columns],
        "marker": {"color": PINNED, "size": 9},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    return _picture([*traces, dots], axes, shapes=[_upright(pinned, PINNED)], **legend())


def scale(
    table: pd.DataFrame,
    axes: Axes,
    *,
    chosen: int,
    first: int = 0,
    length: int,
    length_name: str,
    _: Translate,
) -> Picture:
    """A length in positions for each pair or head, logarithmic; a click returns its number.

    `table`: number (from 0, shown from `first`), length; the dashed line is at `length`.
    """
    kept = {"marker": {"opacity": 1}}
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": (table["number"] + first).tolist(),
        "y": table["length"].tolist(),
        "customdata": [[number] for number in table["number"]],
        "marker": {
            "opacity": 1,
            "size": [11 if number == chosen else 6 for number in table["number"]],
            "color": [PINNED if number == chosen else EMBEDDING for number in table["number"]],
        },
        "hovertemplate": f"{axes.x} %{{x}}<br>%{{y:.3~s}} · {axes.y}<extra></extra>",
        "selected": kept,
        "unselected": kept,
    }
    return _picture(
        [dots],
        axes,
        yaxis=_log(),
        shapes=[_level(length)],
        annotations=[_level_name(np.log10(length), length_name)],
    )


def spectrum(table: pd.DataFrame, axes: Axes, *, even_name: str, _: Translate) -> Picture:
    """Share of each wave in a table, and the share that noise would give each.

    `table`: wavelength, share.
    """
    line = {
        **_line(table["wavelength"], table["share"], EMBEDDING),
        "mode": "lines+markers",
        "marker": {"size": 4, "color": EMBEDDING},
        "hovertemplate": f"{axes.x} %{{x:.1f}}<br>{axes.y} %{{y:.1%}}<extra></extra>",
    }
    even = 1 / max(1, len(table))
    return _picture(
        [line],
        axes,
        xaxis={**_log(), "title": {"text": axes.x}},
        yaxis={"tickformat": ".0%", "rangemode": "tozero"},
        shapes=[_level(even)],
        annotations=[_level_name(even, even_name)],
    )


def likeness(
    table: pd.DataFrame, axes: Axes, *, mean_name: str, band_name: str, _: Translate
) -> Picture:
    """A mean by distance within a band; `table`: distance, mean, least, most.

    With a column `expected`: a dotted line of it, named as in the formula.
    """
    x = table["distance"].tolist()
    band = {
        "type": "scatter",
        "mode": "lines",
        "x": x + x[::-1],
        "y": [*table["most"], *table["least"][::-1]],
        "fill": "toself",
        "fillcolor": faint(EMBEDDING, 0.25),
        "line": {"width": 0},
        "name": band_name,
        "hoverinfo": "skip",
    }
    mean = {
        **_line(table["distance"], table["mean"], EMBEDDING),
        "name": mean_name,
        "hovertemplate": f"{axes.x} %{{x}}<br>{mean_name} %{{y:.3f}}<extra></extra>",
    }
    traces = [band, mean]
    if "expected" in table:
        dotted = {"color": BEFORE, "width": 1.5, "dash": "dot"}
        expected = _line(table["distance"], table["expected"], BEFORE)
        name = _("formula")
        traces.append({**expected, "line": dotted, "name": name, "hoverinfo": "skip"})
    return _picture(traces, axes, **legend())


def biases(
    slopes: Sequence[float], axes: Axes, *, n: int, chosen: int, name: str, _: Translate
) -> Picture:
    """What ALiBi adds at each distance, a line for each head, the chosen one in colour."""
    far = float(n - 1)
    others = [slope for head, slope in enumerate(slopes) if head != chosen]
    lines = {
        "type": "scatter",
        "mode": "lines",
        "x": [x for _slope in others for x in (0.0, far, None)],
        "y": [y for slope in others for y in (0.0, -slope * far, None)],
        "line": {"color": faint(BEFORE, 0.7), "width": 1},
        "name": _("other heads"),
        "hoverinfo": "skip",
        "showlegend": bool(others),
    }
    distances = np.arange(n)
    one = {
        **_line(distances, -slopes[chosen] * distances, EMBEDDING),
        "name": name,
        "hovertemplate": f"{axes.x} %{{x}}<br>{axes.y} %{{y:.3f}}<extra></extra>",
    }
    deepest = min(DEEPEST_BIAS, max(slopes) * far) or 1.0
    return _picture([lines, one], axes, yaxis={"range": [-1.03 * deepest, 0.4]}, **legend())


def _picture(traces: list[dict[str, Any]], axes: Axes, **more: Any) -> Picture:
    top = TITLE_AND_LEGEND if more.get("showlegend") else TITLE + 12
    yaxis = {"title": {"text": axes.y}, "fixedrange": True, "zeroline": False}
    xaxis = {"title": {"text": axes.x}, "fixedrange": True, "zeroline": False}
    return figure(
        traces,
        title=axes.title,
        height=HEIGHT + top,
        margin=(top, EDGE),
        **{
            **more,
            "xaxis": {**xaxis, **more.get("xaxis", {})},
            "yaxis": {**yaxis, **more.get("yaxis", {})},
        },
    )


def _line(x: Any, y: Any, color: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(map(float, x)),
        "y": list(map(float, y)),
        "line": {"color": color, "width": 2},
    }


def _log() -> dict[str, Any]:
    return {"type": "log", "exponentformat": "power", "dtick": 1}


def _upright(x: float, color: str) -> dict[str, Any]:
    place = {"x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper"}
    return {"type": "line", **place, "line": {"color": color, "width": 1.5, "dash": "dot"}}


def _level(y: float) -> dict[str, Any]:
    place = {"x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y}
    return {"type": "line", **place, "line": {"color": BEFORE, "width": 1.5, "dash": "dash"}}


def _level_name(y: float, text: str) -> dict[str, Any]:
    """`y` as the axis has it: of a logarithmic one the logarithm."""
    place = {"x": 0, "xref": "paper", "xanchor": "left", "y": y, "yanchor": "bottom"}
    return {**place, "text": text, "showarrow": False}
