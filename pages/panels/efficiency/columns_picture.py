"""A matrix on its way to its grid: what has moved, and how wrong its products are."""

from blocks.efficiency.column_facts import ColumnFacts
from pages.figures import marks, palette
from pages.figures.axes import plot_room, room_for_legend
from pages.figures.signed import signed_bar, signed_map
from pages.figures.theme import Picture, Translate, figure

PLOT, ROW, BOTTOM = 240, 8, 48


def change(facts: ColumnFacts, *, _: Translate) -> Picture:
    """W now − W: left of the line errors of rounding, right of it what makes up for them."""
    n_rows, n_in = facts.change.shape
    bar = signed_bar(facts.change, _("change"))
    cells = signed_map(
        facts.change,
        x=[*range(1, n_in + 1)],
        y=[*range(1, n_rows + 1)],
        showscale=True,
        colorbar=bar,
        name=_("change"),
    )
    return figure(
        [cells],
        title=_("GPTQ: rounded columns, then adjusted columns"),
        **plot_room(ROW * n_rows, BOTTOM),
        shapes=[marks.upright(facts.n_rounded + 0.5, line={"color": palette.PINNED, "width": 2})],
        xaxis={"title": _("columns · inputs"), "showgrid": False},
        yaxis={"title": _("rows · outputs"), "range": [n_rows + 0.5, 0.5], "showgrid": False},
    )


def errors(facts: ColumnFacts, *, _: Translate) -> Picture:
    """How wrong the products are after so many columns, to nearest and by GPTQ."""
    kinds = [
        (facts.nearest, _("to nearest"), palette.FEED_FORWARD),
        (facts.gptq, _("GPTQ"), palette.ATTENTION),
    ]
    lines = [
        marks.line(
            facts.columns,
            found,
            name=name,
            line={"color": color, "width": 2.5},
            hovertemplate="%{x}: %{y:.2%}<extra></extra>",
        )
        for found, name, color in kinds
    ]
    return figure(
        lines,
        title=_("Error of the output"),
        **room_for_legend(PLOT, len(lines)),
        shapes=[marks.upright(facts.n_rounded, line={"color": palette.PINNED, "width": 2})],
        xaxis={"title": _("columns rounded")},
        yaxis=_wrong(_),
    )


def exponents(facts: ColumnFacts, *, _: Translate) -> Picture:
    """The same of AWQ, for each exponent of its scales; 0 is to nearest."""
    dots = marks.line(
        facts.exponents,
        facts.awq,
        mode="lines+markers",
        name=_("AWQ"),
        line={"color": palette.ATTENTION, "width": 2},
        marker={"size": [12 if e == facts.best_exponent else 6 for e in facts.exponents]},
        hovertemplate="α = %{x:g}: %{y:.2%}<extra></extra>",
    )
    level = marks.line(
        [facts.exponents[0], facts.exponents[-1]],
        [facts.gptq[-1]] * 2,
        name=_("GPTQ"),
        line=marks.dashed(palette.BEFORE),
        hoverinfo="skip",
    )
    return figure(
        [dots, level],
        title=_("Scales that AWQ tries"),
        **room_for_legend(PLOT, 2),
        xaxis={"title": _("exponent α of the mean |x|")},
        yaxis=_wrong(_),
    )


def _wrong(_: Translate) -> dict[str, object]:
    return {
        "title": _("relative squared error of the output"),
        "tickformat": ".1%",
        "rangemode": "tozero",
    }
