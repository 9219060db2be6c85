"""A model taken apart: rows of bars, each row the pieces of the row above, all on one scale."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from blocks.cost.breakdown import Kind
from pages.figures import marks, palette
from pages.figures.axes import plot_room
from pages.figures.described import SAID
from pages.figures.theme import HALF_A_TICK_LABEL, Picture, Translate, figure, plain

ROW, BOTTOM = 62, 46
ROOM_FOR_NUMBERS = 0.09
SAID_ROWS = 2  # of all that are drawn: what is opened, and what it consists of


@dataclass(frozen=True)
class Bar:
    """A piece in a row: where it starts, how large it is, what it is called, where a click leads.

    `short` stands in the bar, `label` under the cursor; `kind` is None where it holds several.
    """

    start: int
    count: int
    short: str
    label: str
    said: str
    kind: Kind | None
    path: str


def rows(levels: Sequence[Sequence[Bar]], *, _: Translate) -> Picture:
    """The opened piece at the top, and below it what it consists of; a piece is clicked to open it.

    Widths are exact; a piece too thin to be seen still has its edge.
    """
    whole = max(1, levels[0][0].count)
    return figure(
        [
            _row(pieces, len(levels) - i, whole, is_said=i < SAID_ROWS)
            for i, pieces in enumerate(levels)
        ],
        title=_("From the whole to its parts: click one"),
        **plot_room(ROW * len(levels), BOTTOM),
        left=HALF_A_TICK_LABEL,
        barmode="overlay",
        bargap=0.06,
        uniformtext={"minsize": 10, "mode": "hide"},
        xaxis={
            "title": _("share of the opened part"),
            "tickformat": ".0%",
            "tickvals": [0, 0.25, 0.5, 0.75, 1],
            "range": [-0.002, 1.002],
            "zeroline": False,
        },
        yaxis={"visible": False, "range": [0.4, len(levels) + 0.6]},
    )


def _row(pieces: Sequence[Bar], y: int, whole: int, *, is_said: bool) -> dict[str, Any]:
    colors = [
        palette.KIND_COLORS[piece.kind] if piece.kind else palette.RESIDUAL for piece in pieces
    ]
    said = "; ".join(f"{plain(piece.label)} {piece.said}" for piece in pieces)
    return marks.lying(
        [piece.count / whole for piece in pieces],
        [y] * len(pieces),
        base=[piece.start / whole for piece in pieces],
        text=[_text(piece, piece.count / whole) for piece in pieces],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        marker={
            "color": [_mixed(color, 255, 0.28) for color in colors],
            "line": {"color": [_mixed(color, 0, 0.25) for color in colors], "width": 1},
        },
        customdata=[
            [piece.path, plain(piece.label), f"{piece.count:,}", plain(piece.said)]
            for piece in pieces
        ],
        hovertemplate="<b>%{customdata[1]}</b><br>%{customdata[2]}<br>%{customdata[3]}"
        "<extra></extra>",
        meta={SAID: [said] if is_said else []},
    )


def _text(piece: Bar, share: float) -> str:
    label = plain(piece.short)
    return f"{label}<br>{plain(piece.said)}" if share > ROOM_FOR_NUMBERS else label


def _mixed(color: str, other: int, share: float) -> str:
    """A role's colour with some white (255) or black (0): opaque, so that text on it is read."""
    parts = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    mixed = (round(part + share * (other - part)) for part in parts)
    return "#" + "".join(f"{part:02x}" for part in mixed)
