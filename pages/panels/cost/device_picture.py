"""How fast the device is: products of matrices against their size, memory against arrays."""

from collections.abc import Sequence
from typing import Any

from blocks.cost.device_speed import DeviceSpeed
from blocks.model.faults import N_
from pages.figures import marks, palette
from pages.figures.theme import TITLE, Picture, Translate, figure

HEIGHT, BOTTOM = 300, 48
LEGEND = 30
LABEL = 1 / 6  # of the axis
TRAFFICS = {
    "triad": (N_("triad a = b + s·c"), palette.FEED_FORWARD, "circle"),
    "copy": (N_("copy"), palette.NORM, "square"),
    "read": (N_("read"), palette.EMBEDDING, "diamond"),
}


def rates(facts: DeviceSpeed, *, _: Translate) -> Picture:
    """Left FLOP/s against the side of the squares, right bytes per second against the arrays.

    Dashed: what the roof is made of, once all is measured.
    """
    products = [(each.size, each.flops_per_s) for each in facts.products]
    moved = {
        name: [(each.array_bytes, each.bytes_per_s) for each in facts.moved if each.traffic == name]
        for name in TRAFFICS
    }
    arrays = [size for pairs in moved.values() for size, _rate in pairs]
    alone = _line(products, _("matrix product"), palette.ATTENTION, "circle", "", "FLOP/s")
    lines = [{**alone, "showlegend": False}]
    for name, (said, color, symbol) in TRAFFICS.items():
        if moved[name]:
            lines.append(_line(moved[name], _(said), color, symbol, "2", "B/s"))
    peak = facts.peak
    return figure(
        lines,
        title=_("Speed measured on this device"),
        height=HEIGHT,
        margin=(TITLE + LEGEND, BOTTOM),
        showlegend=True,
        legend2={"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"},
        xaxis={
            **_sizes([size for size, _rate in products], 1, _("matrix size")),
            "domain": [0, 0.41],
        },
        xaxis2={**_sizes(arrays, 10**6, _("array size (MB)")), "domain": [0.59, 1], "anchor": "y2"},
        yaxis=_speed("FLOP/s"),
        yaxis2={**_speed("B/s"), "anchor": "x2", "visible": bool(arrays)},
        shapes=[_level(peak.flops_per_s, ""), _level(peak.bytes_per_s, "2")] if peak else [],
    )


def _sizes(values: Sequence[int], unit: int, title: str) -> dict[str, Any]:
    ticks = _apart(sorted({*values}))
    return {
        "type": "log",
        "tickvals": ticks,
        "ticktext": [f"{tick / unit:g}" for tick in ticks],
        "title": title,
        "tickangle": 0,
        "visible": bool(ticks),
    }


def _apart(sizes: Sequence[int]) -> list[int]:
    """The sizes whose labels have room on a logarithmic axis, on a phone too."""
    found: list[int] = []
    for size in sizes:
        if not found or size / found[-1] >= (sizes[-1] / sizes[0]) ** LABEL:
            found.append(size)
    return found


def _speed(unit: str) -> dict[str, Any]:
    return {"title": {"text": unit}, "tickformat": "~s", "rangemode": "tozero"}


def _line(
    pairs: Sequence[tuple[int, float]], name: str, color: str, symbol: str, axis: str, unit: str
) -> dict[str, Any]:
    return marks.line(
        [size for size, _rate in pairs],
        [rate for _size, rate in pairs],
        mode="lines+markers",
        xaxis=f"x{axis}",
        yaxis=f"y{axis}",
        name=name,
        legend=f"legend{axis}",
        line={"color": color, "width": 2},
        marker={"symbol": symbol, "size": 9, "color": color},
        cliponaxis=False,
        hovertemplate=f"%{{x:~s}}: %{{y:.3~s}}{unit}<extra>{name}</extra>",
    )


def _level(y: float, axis: str) -> dict[str, Any]:
    line = marks.dashed(palette.RESIDUAL, width=2)
    return marks.level(y, xref=f"x{axis} domain", yref=f"y{axis}", line=line)
