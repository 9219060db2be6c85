"""A few lying bars with large names beside them, without an axis; a whole row can be clicked."""

from collections.abc import Iterable, Sequence
from typing import Any

from pages.figures import marks
from pages.figures.axes import BARE, row_names
from pages.figures.theme import HIDDEN_AXIS, TITLE, Picture, figure, token_label

ROW = 30


def few_bars(
    bars: dict[str, Any],
    names: Sequence[str],
    hovers: Iterable[str],
    returns: Iterable[int],
    *,
    title: str,
    reach: tuple[float, float],
    **axis: Any,
) -> Picture:
    """The `bars`, one a row from the top; a click in a row gives the one number it `returns`.

    `names`: the token of each row; `reach`: what stands at the left end of the picture and at the
    right one; `axis`: more of the axis that is not seen.
    """
    n, (low, high) = len(names), reach
    rows = marks.lying(
        [high - low] * n,
        range(n),
        base=low,
        customdata=[[each] for each in returns],
        **marks.told(hovers),
        **marks.unseen(),
    )
    return figure(
        [bars, rows],
        title=title,
        height=TITLE + ROW * n,
        margin=(TITLE, 0),
        barmode="overlay",
        bargap=0.25,
        xaxis={**HIDDEN_AXIS, "range": [low, high], **axis},
        yaxis=row_names([*map(token_label, names)], tickfont={"size": 14}, **BARE),
    )
