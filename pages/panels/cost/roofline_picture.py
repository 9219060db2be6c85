"""A layer three ways: the sum of the estimates, of the measured parts, and measured whole."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from pages.figures.theme import (
    ATTENTION,
    BEFORE,
    EMBEDDING,
    FEED_FORWARD,
    NORM,
    PART_COLORS,
    RESIDUAL,
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
)

RATES_HEIGHT, RATES_BOTTOM = 300, 48
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
        height=RATES_HEIGHT,
        margin=(TITLE + 30, RATES_BOTTOM),
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


HEIGHT, ROOFLINE_ROW, ROOFLINE_BOTTOM = 540, 26, 48
TOGETHER = 0.2  # decades of intensity: nearer ones share a label
NAMES_A_LABEL, SLANT = 2, -60
DOT = 11
Place = tuple[str, str]
ON_ROOF: Place = ("intensity", "roof_flops_per_s")
AS_MEASURED: Place = ("intensity", "measured_flops_per_s")


class Roof(NamedTuple):
    """What the device reached: FLOP/s, and bytes a second."""

    flops_per_s: float
    bytes_per_s: float

    @property
    def ridge(self) -> float:
        """FLOPs a byte where both meet."""
        return self.flops_per_s / self.bytes_per_s


def roofline(
    table: pd.DataFrame, roof: Roof, groups: Mapping[str, str], *, title: str, _: Translate
) -> Picture:
    """A hollow dot on the roof for each estimate, a filled one for its measurement, joined.

    `table`: label, group, intensity, roof_flops_per_s, measured_flops_per_s (NaN: not measured),
    hover. `groups`: what each group is called.
    """
    edges = _intensities(table, roof)
    return figure(
        [
            _roof_line(edges, roof, _),
            _joins(table, ON_ROOF, AS_MEASURED),
            *_dots(table, groups, ON_ROOF, AS_MEASURED),
            *_key(_),
        ],
        title=title,
        height=HEIGHT,
        margin=(TITLE, ROOFLINE_BOTTOM),
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": -0.17, "yanchor": "top"},
        xaxis=_log(_("arithmetic intensity (FLOPs per byte)"), edges),
        yaxis=_log("FLOP/s", _speeds(table, roof)),
        shapes=[_ridge_line(roof)],
        annotations=[*_labels(table), _ridge(roof, _)],
    )


def durations(
    table: pd.DataFrame, groups: Mapping[str, str], *, title: str, _: Translate
) -> Picture:
    """A row an operation: its estimate (hollow), its measurement (filled, with quartiles).

    `table`: label, group, estimated_ms, measured_ms, low_ms, high_ms (NaN: not measured), hover.
    """
    labels = table["label"].tolist()[::-1]  # the first stands at the top
    times = pd.concat([table[name] for name in ("estimated_ms", "low_ms", "high_ms")]).dropna()
    estimated, measured = ("estimated_ms", "label"), ("measured_ms", "label")
    return figure(
        [
            _joins(table, estimated, measured),
            _quartiles(table),
            *(dots | {"showlegend": False} for dots in _dots(table, groups, estimated, measured)),
            *_key(_),
        ],
        title=title,
        height=max(HEIGHT, TITLE_AND_LEGEND + ROOFLINE_BOTTOM + ROOFLINE_ROW * len(labels)),
        margin=(TITLE_AND_LEGEND, ROOFLINE_BOTTOM),
        **legend(),
        xaxis=_log(_("milliseconds (log)"), [times.min() / 2, times.max() * 2], "none"),
        yaxis={
            "fixedrange": True,
            "categoryorder": "array",
            "categoryarray": labels,
            "range": [-0.7, len(labels) - 0.3],
        },
    )


def _intensities(table: pd.DataFrame, roof: Roof) -> list[float]:
    least = min(table["intensity"].min(), roof.ridge)
    most = max(table["intensity"].max(), roof.ridge)
    return [least / 3, most * 4]


def _speeds(table: pd.DataFrame, roof: Roof) -> list[float]:
    speeds = pd.concat([table["roof_flops_per_s"], table["measured_flops_per_s"]]).dropna()
    return [speeds.min() / 2, max(speeds.max(), roof.flops_per_s) * 30]


def _log(title: str, between: Sequence[float], exponents: str = "SI") -> dict[str, Any]:
    return {
        "title": {"text": title},
        "type": "log",
        "range": [math.log10(each) for each in between],
        "dtick": 1,
        "exponentformat": exponents,
        "fixedrange": True,
        "zeroline": False,
    }


def _roof_line(edges: Sequence[float], roof: Roof, _: Translate) -> dict[str, Any]:
    """Bytes a second up to the ridge, arithmetic from there on."""
    x = [edges[0], roof.ridge, edges[1]]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": [min(roof.flops_per_s, each * roof.bytes_per_s) for each in x],
        "name": _("the roofline, measured here"),
        "line": {"color": RESIDUAL, "width": 3},
        "hoverinfo": "skip",
    }


def _ridge_line(roof: Roof) -> dict[str, Any]:
    """From the ridge down to the axis."""
    return {
        "type": "line",
        "x0": roof.ridge,
        "x1": roof.ridge,
        "yref": "paper",
        "y0": 0,
        "y1": 0.72,
        "layer": "below",
        "line": {"color": faint(RESIDUAL, 0.5), "width": 1, "dash": "dot"},
    }


def _ridge(roof: Roof, _: Translate) -> dict[str, Any]:
    text = _("ridge point: {ridge} FLOPs per byte").format(
        ridge=f"{roof.ridge:,.0f}" if roof.ridge >= 100 else f"{roof.ridge:.3g}"
    )
    return {
        "x": math.log10(roof.ridge),
        "yref": "paper",
        "y": 0,
        "text": text,
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "bottom",
        "textangle": -90,
        "font": {"size": 11},
    }


def _joins(table: pd.DataFrame, first: Place, second: Place) -> dict[str, Any]:
    """A thin line from each estimate to its measurement, all of them in one trace."""
    rows = table.dropna(subset=[*second])
    return {
        "type": "scatter",
        "mode": "lines",
        "x": _broken(rows, first[0], second[0]),
        "y": _broken(rows, first[1], second[1]),
        "line": {"color": faint(RESIDUAL, 0.6), "width": 1.5},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _broken(rows: pd.DataFrame, first: str, second: str) -> list[Any]:
    """Two values a row, and a gap."""
    pairs = zip(rows[first].tolist(), rows[second].tolist(), strict=True)
    return [value for a, b in pairs for value in (a, b, None)]


def _dots(
    table: pd.DataFrame, groups: Mapping[str, str], estimated: Place, measured: Place
) -> list[dict[str, Any]]:
    """Of each group the hollow dots and the filled ones; the group is named once."""
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "x": rows[x].tolist(),
            "y": rows[y].tolist(),
            "name": name,
            "legendgroup": group,
            "showlegend": is_hollow,
            "customdata": rows[["hover"]].to_numpy().tolist(),
            "hovertemplate": "%{customdata[0]}<extra></extra>",
            "marker": _marker(PART_COLORS[group], is_hollow=is_hollow),
        }
        for group, name in groups.items()
        for (x, y), is_hollow in ((estimated, True), (measured, False))
        for rows in [table[table["group"] == group].dropna(subset=[x, y])]
    ]


def _marker(color: str, *, is_hollow: bool) -> dict[str, Any]:
    symbol = "circle-open" if is_hollow else "circle"
    return {"symbol": symbol, "size": DOT, "color": color, "line": {"width": 2, "color": color}}


def _key(_: Translate) -> list[dict[str, Any]]:
    """What hollow and filled mean, for the legend alone."""
    meanings = ((True, _("hollow: at best (estimate)")), (False, _("filled: measured here")))
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [None],
            "y": [None],
            "name": name,
            "marker": _marker(RESIDUAL, is_hollow=is_hollow),
            "hoverinfo": "skip",
        }
        for is_hollow, name in meanings
    ]


def _quartiles(table: pd.DataFrame) -> dict[str, Any]:
    """From the lower to the upper quartile of the repeats."""
    return {
        **_joins(table, ("low_ms", "label"), ("high_ms", "label")),
        "line": {"color": faint(RESIDUAL, 0.45), "width": 6},
    }


def _labels(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Names over the hollow dots, slanting; those that stand together share a label."""
    return [
        {
            "x": math.log10(place["intensity"].iloc[0]),
            "y": math.log10(place["roof_flops_per_s"].max()),
            "text": _names(place.sort_index()["label"].tolist()),
            "showarrow": False,
            "textangle": SLANT,
            "xanchor": "left",
            "yanchor": "bottom",
            "xshift": -5,
            "yshift": 8,
            "font": {"size": 11},
        }
        for place in _together(table.sort_values("intensity"))
    ]


def _together(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Rows by ascending intensity, cut where the next is far from the first of its place."""
    places: list[list[int]] = []
    start = -math.inf
    for i, intensity in enumerate(table["intensity"]):
        if math.log10(intensity) - start > TOGETHER:
            places.append([])
            start = math.log10(intensity)
        places[-1].append(i)
    return [table.iloc[place] for place in places]


def _names(labels: list[str]) -> str:
    """A few of them, and how many more."""
    shown = list(dict.fromkeys(labels))
    rest = len(shown) - NAMES_A_LABEL
    return ", ".join([*shown[:NAMES_A_LABEL], *([f"+ {rest}"] if rest > 0 else [])])


ROW, BOTTOM = 52, 48


def sums(
    parts: pd.DataFrame,
    groups: Mapping[str, str],
    rows: Sequence[str],
    whole: float,
    *,
    title: str,
    _: Translate,
) -> Picture:
    """Stacked bars of milliseconds by group, and below them one for the whole.

    `parts`: row, group, ms; `rows`: what the rows are called, the last one that of the whole.
    """
    totals = [*(parts.loc[parts["row"] == row, "ms"].sum() for row in rows[:-1]), whole]
    bars = [_bar(parts[parts["group"] == group], group, name) for group, name in groups.items()]
    return figure(
        [*bars, _whole(rows[-1], whole), _ends(rows, totals)],
        title=title,
        height=TITLE_AND_LEGEND + BOTTOM + ROW * len(rows),
        margin=(TITLE_AND_LEGEND, BOTTOM),
        **legend(),
        barmode="stack",
        bargap=0.35,
        xaxis={
            "title": {"text": _("milliseconds")},
            "range": [0, 1.25 * max(totals)],
            "fixedrange": True,
        },
        yaxis={
            "categoryorder": "array",
            "categoryarray": list(rows)[::-1],
            "fixedrange": True,
        },
    )


def _bar(rows: pd.DataFrame, group: str, name: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": rows["ms"].tolist(),
        "y": rows["row"].tolist(),
        "name": name,
        "marker": {"color": PART_COLORS[group]},
        "hovertemplate": "%{x:.3~g} ms<extra>" + name + "</extra>",
    }


def _whole(row: str, whole: float) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": [whole],
        "y": [row],
        "showlegend": False,
        "marker": {"color": BEFORE, "line": {"color": RESIDUAL, "width": 2}},
        "hovertemplate": "%{x:.3~g} ms<extra></extra>",
    }


def _ends(rows: Sequence[str], totals: Sequence[float]) -> dict[str, Any]:
    """How long each is, written at its end."""
    return {
        "type": "scatter",
        "mode": "text",
        "x": list(totals),
        "y": list(rows),
        "text": [f" {total:,.0f} ms" if total >= 100 else f" {total:.3g} ms" for total in totals],
        "textposition": "middle right",
        "hoverinfo": "skip",
        "showlegend": False,
    }
