"""A matrix on its way to its grid: what has moved, and how wrong its products are."""

from blocks.efficiency.column_facts import ColumnFacts
from pages.figures import marks, palette
from pages.figures.axes import plot_room
from pages.figures.signed import signed_bar, signed_map
from pages.figures.theme import Picture, Translate, figure

ROW, BOTTOM = 8, 48


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
        title=_("GPTQ: rounded columns on the left, adjusted columns on the right"),
        **plot_room(ROW * n_rows, BOTTOM),
        shapes=[marks.upright(facts.n_rounded + 0.5, line={"color": palette.PINNED, "width": 2})],
        xaxis={"title": _("columns · inputs"), "showgrid": False},
        yaxis={"title": _("rows · outputs"), "range": [n_rows + 0.5, 0.5], "showgrid": False},
    )
