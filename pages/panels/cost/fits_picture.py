"""How memory grows with the length of the text, and which device it outgrows where."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from blocks.cost.device_fit import FitFacts
from pages.figures import marks, palette
from pages.figures.axes import half_of_last, log_sizes, room_for_legend
from pages.figures.marks import dashed, level, level_name
from pages.figures.theme import Picture, Translate, figure, plain
from pages.panels.cost.memory_picture import COLORS

PLOT, APART = 320, 2.5  # pixels; sizes whose names do not touch, on a projector too
DASHES = {"activations": "dash", "cache": "dot"}


def growth(
    facts: FitFacts,
    names: Mapping[str, str],
    devices: Sequence[tuple[str, int]],
    *,
    title: str,
    _: Translate,
) -> Picture:
    """A line for the total and for each part against n, on logarithmic axes; devices across."""
    table, n = facts.growth, facts.shape.n
    lines, n_names = _apart(devices), len(names) + 2
    ticks = [tick for tick in table["n"].tolist() if tick & (tick - 1) == 0][::4]
    traces = [
        *(_line(table, part, name) for part, name in names.items()),
        {**_line(table, "total", _("total")), "line": {"color": palette.PINNED, "width": 3}},
        _own(n, float(table[table["n"] == n].iloc[0]["total"]), _),
    ]
    return figure(
        traces,
        title=title,
        **room_for_legend(PLOT, n_names),
        right=half_of_last(ticks),
        shapes=[_device_line(size) for _name, size in lines],
        annotations=[_device_name(name, size) for name, size in lines],
        xaxis=log_sizes(_("n · tokens (logarithmic)"), ticks),
        yaxis={
            "title": _("bytes (logarithmic)"),
            "type": "log",
            "tickformat": "~s",
            "ticksuffix": "B",
            "dtick": 1,
        },
    )


def _own(n: int, total: float, _: Translate) -> dict[str, Any]:
    """The reader's own length."""
    return marks.dots(
        [n],
        [total],
        name=_("your n = {n:,}").format(n=n),
        marker={
            "symbol": "circle-open",
            "size": 12,
            "color": palette.PINNED,
            "line": {"width": 3, "color": palette.PINNED},
        },
        hovertemplate="n = %{x:,}: %{y:,.0f} B<extra></extra>",
    )


def _apart(lines: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Devices whose names do not stand on each other, from the smallest on."""
    found: list[tuple[str, int]] = []
    for name, size in sorted(lines, key=lambda line: line[1]):
        if not found or size >= APART * found[-1][1]:
            found.append((name, size))
    return found


def _line(table: pd.DataFrame, part: str, name: str) -> dict[str, Any]:
    return marks.line(
        table["n"].tolist(),
        table[part].tolist(),
        name=name,
        line={
            "color": COLORS.get(part, palette.PINNED),
            "width": 2,
            "dash": DASHES.get(part, "solid"),
        },
        hovertemplate=f"n = %{{x:,}}: %{{y:,.0f}} B<extra>{name}</extra>",
    )


def _device_line(size: int) -> dict[str, Any]:
    return level(size, line=dashed(dash="dot", width=1))


def _device_name(name: str, size: int) -> dict[str, Any]:
    return {
        **level_name(math.log10(size), plain(name)),
        "font": {"size": 11},
    }
