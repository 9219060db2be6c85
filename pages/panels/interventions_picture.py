"""What each part of a model is worth: the output's change where it alone is switched off."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pages.figures import head_grid, marks, palette
from pages.figures.axes import AXIS, BARE, plot_room, room_under_legend
from pages.figures.counting import from_one
from pages.figures.signed import signed_bar, signed_map
from pages.figures.table_rows import each_row
from pages.figures.theme import ACROSS, Picture, Translate, figure, plain, token_label
from pages.figures.token_axis import columns, label_room, slanted
from pages.figures.weights import behind, outline

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
ROW, APART, CELL, PROJECTED = 26, 0.6, 24, 1200  # of a deep model: pixels, but rows between groups
STRONG, SIGNS = 0.2, 4  # of the largest effect what is written there, in how many signs


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

    @property
    def most(self) -> float:
        return max(float(np.nanmax(np.abs(self.effect), initial=0)), LEAST_SCALE)

    @property
    def selected(self) -> list[int]:
        """The cells that are changed now, counted row by row."""
        return [self.numbers.index(number) for number in self.marked if number in self.numbers]

    def said(self, unit: str, _: Translate) -> list[str]:
        """What each cell says under the cursor, row by row; nothing where none was measured."""
        text = _("{part}: {effect:.3g} {unit}")
        return [
            "" if np.isnan(value) else text.format(part=name, effect=value, unit=unit)
            for name, value in zip(self.hovers, self.effect.ravel(), strict=True)
        ]


def grid(
    cells: Cells, *, title: str, across: str, unit: str, is_signed: bool = False, _: Translate
) -> Picture:
    """Layers down, parts across, color by effect; a click returns the number of a part.

    `is_signed`: effects of both signs have a color each.
    """
    effect, most = cells.effect, cells.most
    return head_grid.grid(
        _signed(effect, most, unit) if is_signed else _heat(effect, most, unit),
        cells.said(unit, _),
        [[number] for number in cells.numbers],
        title=title,
        layers=range(len(effect)),
        columns=cells.columns,
        across=across,
        selected=cells.selected,
        annotations=_numbers(effect, most) if effect.size <= NUMBERS_UP_TO else (),
        _=_,
    )


def deep(
    heads: Cells, parts: Cells, *, title: str, unit: str, is_signed: bool = False, _: Translate
) -> Picture:
    """Many layers from left to right, heads down, whole parts below them on a scale of their own.

    Only what is strongest is written out. A click returns the number of a part.
    """
    n_heads = len(heads.columns)
    below = [n_heads + APART + row for row in range(len(parts.columns))]
    groups = ((heads, [*range(n_heads)]), (parts, below))
    rows, n_layers = [row for _cells, places in groups for row in places], len(heads.effect)
    end = rows[-1] + 0.5
    draw = _signed if is_signed else _heat
    maps = [
        {**draw(cells.effect.T, cells.most, unit), "y": places, "xgap": 2, "ygap": 2}
        for cells, places in groups
    ]
    for trace, share, foot in zip(maps, (n_heads, len(below)), (False, True), strict=True):
        place = {"len": share / (end + 0.5), "y": int(not foot), "ypad": 0}
        trace["colorbar"] |= {**place, "yanchor": "bottom" if foot else "top"}
    maps[1]["colorbar"] |= _ends_alone(maps[1]["colorbar"], parts.most)
    return figure(
        [*maps, *(_targets(cells, places, unit, _) for cells, places in groups)],
        title=title,
        **plot_room(round(ROW * (end + 0.5)), AXIS),
        meta={ACROSS: PROJECTED},
        xaxis={
            "title": _("layer"),
            "tickvals": list(range(n_layers)),
            "ticktext": [str(from_one(layer)) for layer in range(n_layers)],
            "range": [-0.5, n_layers - 0.5],
            **BARE,
        },
        yaxis={
            "title": _("head"),
            "tickvals": rows,
            "ticktext": [*heads.columns, *parts.columns],
            "range": [end, -0.5],
            **BARE,
        },
        shapes=[
            outline(i // len(places) - 0.5, places[i % len(places)] - 0.5, 1, 1)
            for cells, places in groups
            for i in cells.selected
        ],
        annotations=[note for cells, places in groups for note in _strongest(cells, places)],
    )


def _ends_alone(bar: dict[str, Any], most: float) -> dict[str, Any]:
    """A scale of a few rows names its ends; what is measured stands at the other."""
    ticks = {"title": None, "tickvals": [0, most], "ticktext": ["0", _short(most)]}
    if "tickvals" in bar:
        ticks |= {name: [bar[name][0], bar[name][-1]] for name in ("tickvals", "ticktext")}
    return ticks


def _targets(cells: Cells, places: Sequence[float], unit: str, _: Translate) -> dict[str, Any]:
    told = [(i, said) for i, said in enumerate(cells.said(unit, _)) if said]
    return marks.targets(
        [i // len(places) for i, _said in told],
        [places[i % len(places)] for i, _said in told],
        [[cells.numbers[i]] for i, _said in told],
        CELL,
        **marks.told(said for _i, said in told),
    )


def _strongest(cells: Cells, places: Sequence[float]) -> list[dict[str, Any]]:
    """The numbers of the strongest, where they fit."""
    return [
        {**note, "x": note["y"], "y": places[note["x"]]}
        for note in _numbers(cells.effect, cells.most, STRONG * cells.most)
        if len(note["text"]) <= SIGNS
    ]


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


def _numbers(effect: np.ndarray, most: float, least: float = 0) -> list[dict[str, Any]]:
    """In a cell each, of those that are no weaker than `least`."""
    color = {True: "#ffffff", False: None}
    return [
        {
            "x": int(part),
            "y": int(layer),
            "text": _short(float(effect[layer, part])),
            "font": {"size": 11, "color": color[abs(effect[layer, part]) > 0.55 * most]},
        }
        for layer, part in np.argwhere(np.abs(effect) >= least)
    ]


def _short(value: float) -> str:
    if 0 < value < LEAST_WRITTEN:
        return plain("<.001")
    return f"{value:.2g}" if abs(value) >= 0.01 else f"{value:.1g}"
