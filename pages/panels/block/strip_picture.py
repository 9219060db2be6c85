"""The block, drawn as it ran."""

from typing import Any

import pandas as pd

from pages.figures import marks, palette
from pages.figures.axes import row_range, stage_rows
from pages.figures.described import SAID
from pages.figures.numbers import hundredths, readable
from pages.figures.table_rows import each_row
from pages.figures.theme import HIDDEN_AXIS, Picture, Translate, faint, figure, plain

TRUNK, BETWEEN, BRANCH, ASIDE = 0.0, 0.52, 1.0, 1.93
BOX_HALF_WIDTH, BOX_HALF_HEIGHT, SUM_HALF_WIDTH = 0.38, 0.29, 0.12
TURN, GAP = 0.58, 0.05
MOST_IN_A_LINE = 14  # characters in a box, in a narrow window
HALF_WIDE, MOST_WIDTH = 2.0, 14  # RMS of a wire half as wide as can be, pixels


def block_strip(stages: pd.DataFrame, *, selected: str, _: Translate) -> Picture:
    """The block from top to bottom: trunk at the left, what reads from it at the right.

    `stages`: stage, part, reads, label, detail, shape, rms; a row each, in order. A wire is as
    wide as the RMS of what passes; a click on a part returns its stage as customdata.
    """
    rows = [*each_row(stages)]
    place = {row.stage: (_column(row), i) for i, row in enumerate(rows)}
    rms = {row.stage: row.rms for row in rows}
    wires = [_wire(place, source, row, rms[source]) for row in rows for source in row.reads]
    nodes = [_node(row, place[row.stage], row.stage == selected) for row in rows]
    texts = [_text(row, place[row.stage]) for row in rows]
    amounts = [_amount(row, place[row.stage]) for row in rows]
    return figure(
        [_targets(rows, place, _)],
        title=_("The block in this run"),
        **stage_rows(stages),
        xaxis={**HIDDEN_AXIS, "range": [-0.42, 2.0]},
        yaxis={**HIDDEN_AXIS, "range": row_range(stages)},
        shapes=wires + nodes,
        annotations=texts + amounts,
    )


def _column(row: Any) -> float:
    is_on_trunk = row.stage == "input" or row.stage.startswith("resid_") or row.part == "residual"
    return TRUNK if is_on_trunk else BRANCH


def _wire(place: dict[str, tuple[float, int]], source: str, row: Any, rms: float) -> dict[str, Any]:
    """A wire from the part that made a value to the one that reads it."""
    start, end = place[source], place[row.stage]
    points = _route(start, end, row.part == "residual", _is_blocked(place, start, end))
    path = "M " + " L ".join(f"{x} {y}" for x, y in points)
    line = {"color": palette.RESIDUAL, "width": 1 + (MOST_WIDTH - 1) * rms / (rms + HALF_WIDE)}
    return {"type": "path", "path": path, "line": line, "layer": "below"}


def _route(
    start: tuple[float, int], end: tuple[float, int], is_sum: bool, is_blocked: bool
) -> list[tuple[float, float]]:
    """Corners of a wire: straight down, out to the branch, back to the trunk, or round a box."""
    (x0, y0), (x1, y1) = start, end
    below, above = y0 + BOX_HALF_HEIGHT, y1 - BOX_HALF_HEIGHT
    right_of_sum = (x1 + SUM_HALF_WIDTH, y1)
    if x0 == x1 and is_blocked:
        return [(x0 + BOX_HALF_WIDTH, y0), (ASIDE, y0), (ASIDE, y1), (x1 + BOX_HALF_WIDTH, y1)]
    if x0 == x1:
        return [(x0, below), (x1, above)]
    if x0 == TRUNK and is_blocked:
        around = [(ASIDE, y0 + TURN), (ASIDE, y1), (x1 + BOX_HALF_WIDTH, y1)]
        return [(x0, below), (x0, y0 + TURN), *around]
    if x0 == TRUNK:
        return [(x0, below), (x0, y0 + TURN), (x1, y0 + TURN), (x1, above)]
    if is_blocked:
        return [(x0 - BOX_HALF_WIDTH, y0), (BETWEEN, y0), (BETWEEN, y1), right_of_sum]
    return [(x0, below), (x0, y1), right_of_sum if is_sum else (x1, y1)]


def _is_blocked(
    place: dict[str, tuple[float, int]], start: tuple[float, int], end: tuple[float, int]
) -> bool:
    """Whether a part stands in the way, in the column that is not the trunk."""
    column = max(start[0], end[0])
    return any(x == column and start[1] < y < end[1] for x, y in place.values())


def _node(row: Any, place: tuple[float, int], is_selected: bool) -> dict[str, Any]:
    x, y = place
    color = palette.PART_COLORS[row.part]
    half_width = SUM_HALF_WIDTH if row.part == "residual" else BOX_HALF_WIDTH
    line = {"color": palette.PINNED if is_selected else color, "width": 3 if is_selected else 1.5}
    return {
        "type": "circle" if row.part == "residual" else "rect",
        "x0": x - half_width,
        "x1": x + half_width,
        "y0": y - BOX_HALF_HEIGHT,
        "y1": y + BOX_HALF_HEIGHT,
        "line": line,
        "fillcolor": faint(color, 0.16),
    }


def _text(row: Any, place: tuple[float, int]) -> dict[str, Any]:
    x, y = place
    if row.part == "residual":
        return {"x": x, "y": y, "text": "<b>+</b>", "font": {"size": 20}}
    detail = f"<br><span style='font-size:10px'>{plain(row.detail)}</span>" if row.detail else ""
    first, _space, last = row.label.rpartition(" ")
    is_long = bool(first) and len(row.label) > MOST_IN_A_LINE
    label = f"{plain(first)}<br>{plain(last)}" if is_long else plain(row.label)
    font = {"size": 10 if is_long else 12}
    return {"x": x, "y": y, "text": f"<b>{label}</b>{detail}", "font": font}


def _amount(row: Any, place: tuple[float, int]) -> dict[str, Any]:
    """The RMS of what leaves this part: right of a box, above a wire there; below a sum.

    The shape is written once, since it stays the same.
    """
    x, y = place
    rms = f"RMS {hundredths(row.rms)}"
    text = f"{plain(row.shape)} · {rms}" if y == 0 else rms
    at = {"x": x + BOX_HALF_WIDTH + GAP, "y": y - GAP, "yanchor": "bottom"}
    if row.part == "residual":
        at = {"x": x + SUM_HALF_WIDTH + GAP, "y": y + 0.34, "yanchor": "middle"}
    return {**at, "text": text, "xanchor": "left", "font": {"size": 11}}


def _targets(rows: list[Any], place: dict[str, tuple[float, int]], _: Translate) -> dict[str, Any]:
    """Invisible markers: what can be clicked and hovered."""
    click = _("RMS {rms}; click to open").format(rms="%{customdata[2]}")
    return marks.targets(
        [place[row.stage][0] for row in rows],
        [place[row.stage][1] for row in rows],
        [[row.stage, plain(row.label), readable(row.rms)] for row in rows],
        42,
        meta={SAID: [f"{plain(row.label)}: RMS {hundredths(row.rms)}" for row in rows]},
        hovertemplate=f"<b>%{{customdata[1]}}</b><br>{click}<extra></extra>",
    )
