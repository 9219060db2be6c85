"""What each part of a model is worth: the output's change where it alone is switched off."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pages.figures import head_grid, marks, palette
from pages.figures.axes import plot_room, room_under_legend
from pages.figures.signed import signed_bar, signed_map
from pages.figures.table_rows import each_row
from pages.figures.theme import ACROSS, Picture, Translate, figure, plain, token_label
from pages.figures.token_axis import columns, label_room, slanted
from pages.figures.weights import behind

NAMES, BARS, CHANGED_ROW, CHANGED_BOTTOM = 24, 210, 26, 44
LEAST_SCALE, LEAST_READ = 1e-6, 0.002
HALF = 520  # pixels of a projector, beside another picture


def tokens(
    moved: Sequence[float], labels: Sequence[str], *, unit: str, pinned: int, _: Translate
) -> Picture:
    """How far the output at each token moved, in `unit`; a click returns the token's position."""
    n, room = len(labels), label_room(labels)
    most = 1.1 * max(LEAST_SCALE, *moved)
    bar = marks.bars(
        range(n), moved, marker={"color": palette.EMBEDDING}, hoverinfo="skip", **marks.steady()
    )
    hovers = [
        f"{i + 1} · {token_label(label)}: {value:.4g} {unit}"
        for i, (label, value) in enumerate(zip(labels, moved, strict=True))
    ]
    return figure(
        [bar, columns(hovers, list(range(n)), most)],
        title=_("Change in the output at each token"),
        **plot_room(BARS, room),
        meta={ACROSS: HALF},
        barmode="overlay",
        xaxis=slanted(labels, NAMES),
        yaxis={"title": unit, "range": [0, most]},
        shapes=[behind(pinned)],
    )


def candidates(table: pd.DataFrame, *, token: str, _: Translate) -> Picture:
    """The likeliest tokens before (hollow) and after (filled), joined by a line.

    `table`: label, p_before, p_after, delta_logit; `token`: what is read at this position.
    """
    rows = list(range(len(table)))
    before, after = table["p_before"], table["p_after"]
    most = _longest(max(before.max(), after.max()))
    return figure(
        [
            _joined(before, after),
            _dots(before, rows, _("original"), "circle-open", palette.BEFORE),
            _dots(after, rows, _("changed"), "circle", palette.EMBEDDING, _hovers(table, _)),
        ],
        title=_("Predictions at {token}").format(token=token_label(token)),
        **room_under_legend(CHANGED_ROW * len(table), CHANGED_BOTTOM),
        xaxis={
            "title": _("probability"),
            "tickformat": ".3~%",
            "range": [-0.02 * most, 1.08 * most],
            "zeroline": False,
        },
        yaxis={
            "tickvals": rows,
            "ticktext": [token_label(label) for label in table["label"]],
            "range": [len(table) - 0.5, -0.5],
        },
    )


def _longest(most: float) -> float:
    """The end of the axis; where weights are random and tokens many, all are below a percent."""
    return max(0.05, most) if most > LEAST_READ else most


def _joined(before: pd.Series, after: pd.Series) -> dict[str, Any]:
    n = len(before)
    x = np.stack((before, after, np.full(n, np.nan)), axis=1).ravel()
    return marks.line(
        [None if np.isnan(value) else float(value) for value in x],
        np.repeat(np.arange(n), 3).tolist(),
        line={"color": palette.BEFORE, "width": 1.5},
        hoverinfo="skip",
        showlegend=False,
    )


def _dots(
    x: pd.Series, y: list[int], name: str, symbol: str, color: str, hovers: list[str] | None = None
) -> dict[str, Any]:
    return marks.dots(
        x.tolist(),
        y,
        name=name,
        marker={"symbol": symbol, "size": 11, "color": color, "line": {"width": 2}},
        hovertext=hovers,
        hoverinfo="text" if hovers else "skip",
    )


def _hovers(table: pd.DataFrame, _: Translate) -> list[str]:
    text = _("{token}: {before:.2%} → {after:.2%}, logit {delta:+.2f}")
    return [
        text.format(
            token=token_label(row.label),
            before=row.p_before,
            after=row.p_after,
            delta=row.delta_logit,
        )
        for row in each_row(table)
    ]


NUMBERS_UP_TO = 200
LEAST_WRITTEN = 0.001  # in a cell


class Cells(NamedTuple):
    """What parts of all layers are worth: heads, or whole parts, on a scale of their own.

    `effect`: (n_layers, parts), NaN where not measured; `columns`: the parts of a layer; `hovers`,
    `numbers`: what each part is called and its number through all layers, row by row; `marked`:
    the numbers of those that are changed now.
    """

    effect: np.ndarray
    columns: tuple[str, ...]
    hovers: tuple[str, ...]
    numbers: tuple[int, ...]
    marked: tuple[int, ...]


def grid(
    cells: Cells, *, title: str, across: str, unit: str, is_signed: bool = False, _: Translate
) -> Picture:
    """Layers down, parts across, color by effect; a click returns the number of a part.

    `is_signed`: effects of both signs have a color each.
    """
    effect = cells.effect
    most = max(float(np.nanmax(np.abs(effect), initial=0)), LEAST_SCALE)
    text = _("{part}: {effect:.3g} {unit}")
    hovers = [
        "" if np.isnan(value) else text.format(part=name, effect=value, unit=unit)
        for name, value in zip(cells.hovers, effect.ravel(), strict=True)
    ]
    return head_grid.grid(
        _signed(effect, most, unit) if is_signed else _heat(effect, most, unit),
        hovers,
        [[number] for number in cells.numbers],
        title=title,
        layers=range(len(effect)),
        columns=cells.columns,
        across=across,
        selected=[
            cells.numbers.index(number) for number in cells.marked if number in cells.numbers
        ],
        annotations=_numbers(effect, most),
        _=_,
    )


def _heat(effect: np.ndarray, most: float, unit: str) -> dict[str, Any]:
    return marks.heat(
        effect.astype(np.float32),
        zmin=0,
        zmax=most,
        colorscale=[list(stop) for stop in palette.WEIGHTS],
        colorbar=marks.color_bar(unit),
    )


def _signed(effect: np.ndarray, most: float, unit: str) -> dict[str, Any]:
    bar = signed_bar(effect, unit, most)
    return signed_map(effect, most, showscale=True, colorbar=bar)


def _numbers(effect: np.ndarray, most: float) -> list[dict[str, Any]]:
    if effect.size > NUMBERS_UP_TO:
        return []
    color = {True: "#ffffff", False: None}
    return [
        {
            "x": int(part),
            "y": int(layer),
            "text": _short(float(effect[layer, part])),
            "font": {"size": 11, "color": color[abs(effect[layer, part]) > 0.55 * most]},
        }
        for layer, part in np.argwhere(~np.isnan(effect))
    ]


def _short(value: float) -> str:
    if 0 < value < LEAST_WRITTEN:
        return plain("<.001")
    return f"{value:.2g}" if abs(value) >= 0.01 else f"{value:.1g}"
