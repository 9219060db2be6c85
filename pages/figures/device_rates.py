"""What was measured of the device: products of growing squares, and arrays of growing size."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pages.figures.theme import (
    ATTENTION,
    EMBEDDING,
    FEED_FORWARD,
    NORM,
    RESIDUAL,
    TITLE,
    Picture,
    Translate,
    figure,
)

HEIGHT, BOTTOM = 300, 48
LOOKS = {
    "triad": (FEED_FORWARD, "circle"),
    "copy": (NORM, "square"),
    "read": (EMBEDDING, "diamond"),
}


def rates(
    products: pd.DataFrame,
    moved: pd.DataFrame,
    names: Mapping[str, str],
    best: tuple[float, float] | None,
    *,
    title: str,
    _: Translate,
) -> Picture:
    """Left FLOP/s against the side of the squares, right bytes a second against the arrays.

    `products`: size, gflops; `moved`: traffic, mib, gigabytes; `best`: what the roof is made of,
    in the same units, as dashed lines; None where not all is measured yet.
    """
    lines = [
        _line(products, "size", "gflops", (ATTENTION, "circle"), _("matrix product"), "", "GFLOP/s")
    ]
    lines += [
        _line(moved[moved["traffic"] == kind], "mib", "gigabytes", LOOKS[kind], name, "2", "GB/s")
        for kind, name in names.items()
        if kind in set(moved["traffic"])
    ]
    return figure(
        lines,
        title=title,
        height=HEIGHT,
        margin=(TITLE + 30, BOTTOM),
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        legend2={"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"},
        xaxis={**_axis(products["size"], _("matrix size")), "domain": [0, 0.41]},
        xaxis2={
            **_axis(moved["mib"], _("size of an array (MiB)")),
            "domain": [0.59, 1],
            "anchor": "y2",
        },
        yaxis={"title": {"text": "GFLOP/s"}, "rangemode": "tozero", "fixedrange": True},
        yaxis2={
            "title": {"text": "GB/s"},
            "rangemode": "tozero",
            "fixedrange": True,
            "anchor": "x2",
            "visible": len(moved) > 0,
        },
        shapes=[_level(best[0], ""), _level(best[1], "2")] if best else [],
    )


def _axis(values: pd.Series, title: str) -> dict[str, Any]:
    ticks = sorted(values.unique().tolist())
    return {
        "type": "log",
        "tickvals": ticks,
        "ticktext": [f"{tick:g}" for tick in ticks],
        "title": {"text": title},
        "tickangle": 0,
        "fixedrange": True,
        "visible": len(ticks) > 0,
    }


def _line(
    rows: pd.DataFrame,
    x: str,
    y: str,
    look: tuple[str, str],
    name: str,
    axis: str,
    unit: str,
) -> dict[str, Any]:
    color, symbol = look
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": rows[x].tolist(),
        "y": rows[y].tolist(),
        "xaxis": f"x{axis}",
        "yaxis": f"y{axis}",
        "name": name,
        "legend": f"legend{axis}",
        "line": {"color": color, "width": 2},
        "marker": {"symbol": symbol, "size": 9, "color": color},
        "cliponaxis": False,
        "hovertemplate": f"%{{x:g}}: %{{y:.3~g}} {unit}<extra>{name}</extra>",
    }


def _level(y: float, axis: str) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": f"x{axis} domain",
        "yref": f"y{axis}",
        "x0": 0,
        "x1": 1,
        "y0": y,
        "y1": y,
        "line": {"color": RESIDUAL, "width": 2, "dash": "dash"},
    }
