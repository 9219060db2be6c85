"""Memory by what it is for: a bar for each way to do it, and the devices it has to fit into."""

from collections.abc import Mapping, Sequence
from typing import Any

from blocks.cost.fit import Need
from blocks.cost.need import MemoryFacts
from blocks.cost.units import bytes_text
from pages.figures import marks, palette
from pages.figures.axes import room_for_legend
from pages.figures.marks import bar_ends
from pages.figures.theme import Picture, Translate, figure, plain

ROW, DEVICE_ROOM = 26, 16
NEAREST = 0.07  # of the longest bar: how close to each other, or to nothing, devices are drawn
COLORS = {
    "weights": palette.RESIDUAL,
    "gradients": palette.NORM,
    "master": palette.BEFORE,
    "optimizer": palette.EMBEDDING,
    "activations": palette.FEED_FORWARD,
    "cache": palette.ATTENTION,
}


def memory_bars(
    facts: MemoryFacts,
    names: Mapping[str, str],
    labels: Sequence[str],
    devices: Sequence[tuple[str, int]],
    *,
    title: str,
    _: Translate,
) -> Picture:
    """One bar per variant, stacked by what bytes are for, with its total at the end.

    `devices` are drawn at their memory; those far beyond the bars are left out.
    """
    needs = [each.need for each in facts.variants]
    most = float(max(each.total for each in needs))
    drawn = _apart(devices, most)
    rows, edge = len(needs), max([most, *(float(size) for _name, size in drawn)])
    below = [rows - 0.3 + i / 2 for i in range(len(drawn))]  # so that no line meets a name
    ends = bar_ends([edge] * rows, labels, [f"  {bytes_text(each.total)}" for each in needs])
    return figure(
        [*(_bar(needs, labels, part, name) for part, name in names.items()), ends],
        title=title,
        **room_for_legend(ROW * rows + DEVICE_ROOM * len(drawn) + 20, len(names)),
        barmode="stack",
        bargap=0.3,
        shapes=[_device_line(size, y) for (_name, size), y in zip(drawn, below, strict=True)],
        annotations=[_device_name(*each, y) for each, y in zip(drawn, below, strict=True)],
        xaxis={
            "title": _("bytes (1 GB = 10⁹)"),
            "range": [0, 1.25 * edge],
            "tickformat": "~s",
            "ticksuffix": "B",
            "nticks": 6,
        },
        yaxis={
            "range": [rows - 0.4 + 0.5 * len(drawn), -0.5],
            "tickvals": [plain(label) for label in labels],
        },
    )


def _apart(lines: Sequence[tuple[str, int]], most: float) -> list[tuple[str, int]]:
    """Devices that can be told from each other on the axis of the bars."""
    found: list[tuple[str, int]] = []
    for name, size in sorted(lines, key=lambda line: line[1]):
        before = found[-1][1] if found else 0
        if size < 1.25 * most and size - before >= NEAREST * most:
            found.append((name, size))
    return found


def _bar(needs: Sequence[Need], labels: Sequence[str], part: str, name: str) -> dict[str, Any]:
    return marks.lying(
        [float(getattr(each, part)) for each in needs],
        [plain(label) for label in labels],
        name=name,
        marker={"color": COLORS[part]},
        hovertemplate=f"<b>%{{y}}</b><br>{name}: %{{x:,.0f}} B<extra></extra>",
    )


def _device_line(size: int, end: float) -> dict[str, Any]:
    """From above the bars down to the name."""
    return {
        "type": "line",
        "x0": size,
        "x1": size,
        "y0": -0.5,
        "y1": end + 0.2,
        "line": {"color": palette.PINNED, "width": 1.5, "dash": "dot"},
    }


def _device_name(name: str, size: int, y: float) -> dict[str, Any]:
    """To the left of its line."""
    return {
        "x": size,
        "y": y,
        "text": plain(name),
        "xanchor": "right",
        "xshift": -4,
        "font": {"size": 11},
    }
