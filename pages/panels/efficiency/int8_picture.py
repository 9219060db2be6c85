"""Bytes of all matrices of a model, and their time over tokens at once, in float32 and in int8."""

from blocks.cost.units import bytes_text
from blocks.efficiency.int8_times import Int8Facts, MatrixBytes
from pages.figures import marks, palette
from pages.figures.axes import log_axis, room_for_legend
from pages.figures.theme import Picture, Translate, figure
from pages.figures.units import duration

PLOT = 280


def bytes_read(facts: MatrixBytes, *, _: Translate) -> Picture:
    """Bytes of the matrices of each shape: what float32 reads, and what int8 does."""
    each = [MatrixBytes((shape,)) for shape in facts.shapes]
    text = _("{n} of size<br>{out} × {read}")
    shapes = [text.format(n=n, out=n_out, read=n_in) for n_out, n_in, n in facts.shapes]
    kinds = [
        ("float32", [e.float32 for e in each], palette.FEED_FORWARD),
        (_("int8, packed"), [e.int8 for e in each], palette.ATTENTION),
    ]
    bars = [
        marks.bars(
            shapes,
            found,
            name=name,
            marker={"color": color},
            **marks.told(f"{name}: {bytes_text(n)}" for n in found),
        )
        for name, found, color in kinds
    ]
    return figure(
        bars,
        title=_("Matrix sizes in bytes, by shape"),
        **room_for_legend(PLOT, len(bars)),
        barmode="group",
        xaxis={"type": "category", "tickangle": 0, "title": _("matrices, out × in")},
        yaxis={"title": _("bytes"), "rangemode": "tozero", "tickformat": "~s", "ticksuffix": "B"},
    )


def times(facts: Int8Facts, *, _: Translate) -> Picture:
    """float32, int8, what of int8 it takes to round activations, and what the bytes promise."""
    kinds = {
        "float32": ("float32", {"color": palette.FEED_FORWARD, "width": 2.5}, "square"),
        "int8": (_("int8, packed"), {"color": palette.ATTENTION, "width": 2.5}, "circle"),
        "rounding": (
            _("int8: rounding activations"),
            {"color": palette.ATTENTION, "width": 1.5, "dash": "dot"},
            "circle-open",
        ),
    }
    found = {kind: [facts.seconds(kind, n) for n in facts.tokens] for kind in kinds}
    kinds["promised"] = (
        _("expected from bytes alone"),
        {"color": palette.BEFORE, "dash": "dot"},
        "x",
    )
    found["promised"] = [each / facts.matrices.times_fewer for each in found["float32"]]
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
        title=_("Time for all matrices, one after another"),
        **room_for_legend(PLOT, len(lines)),
        xaxis={"type": "category", "title": _("n · tokens at once")},
        yaxis={"title": _("time (logarithmic)"), **log_axis(min(every), max(every), said=duration)},
    )
