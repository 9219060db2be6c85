"""Time of all matrices of a model once, in float32 and in int8, over tokens at once."""

from blocks.efficiency.int8_times import Int8Facts
from pages.figures import marks
from pages.figures.axes import log_axis, room_for_legend
from pages.figures.theme import ATTENTION, FEED_FORWARD, Picture, Translate, figure
from pages.figures.units import duration

PLOT = 280


def times(facts: Int8Facts, *, _: Translate) -> Picture:
    """Three lines: float32, int8, and what of int8 it takes to round the activations."""
    kinds = {
        "float32": ("float32", {"color": FEED_FORWARD, "width": 2.5}, "square"),
        "int8": (_("int8, packed"), {"color": ATTENTION, "width": 2.5}, "circle"),
        "rounding": (
            _("of it rounding activations"),
            {"color": ATTENTION, "width": 1.5, "dash": "dot"},
            "circle-open",
        ),
    }
    found = {kind: [facts.seconds(kind, n) for n in facts.tokens] for kind in kinds}
    every = [seconds for line in found.values() for seconds in line]
    lines = [
        marks.line(
            [f"{n:,}" for n in facts.tokens],
            found[kind],
            name=name,
            mode="lines+markers",
            line=line,
            marker={"symbol": symbol, "size": 9, "color": line["color"]},
            **marks.told(f"{name}: {duration(seconds)}" for seconds in found[kind]),
        )
        for kind, (name, line, symbol) in kinds.items()
    ]
    return figure(
        lines,
        title=_("Time of all matrices, one after the other"),
        **room_for_legend(PLOT, len(lines)),
        xaxis={"type": "category", "title": {"text": _("n · tokens at once")}},
        yaxis={
            "title": {"text": _("time (logarithmic)")},
            **log_axis(min(every), max(every), said=duration),
        },
    )
