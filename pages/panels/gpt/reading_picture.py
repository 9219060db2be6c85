"""How surprised the model was by each token of a text."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pages.figures.theme import (
    BEFORE,
    EMBEDDING,
    PINNED,
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    figure,
    small,
    token_label,
)
from pages.figures.token_axis import columns, label_room, token_ticks
from pages.figures.weights import outline

ROW, TOP, BOTTOM = 38, 30, 8
LETTERS = 9
SCALE = ((0, "rgba(204, 121, 167, 0.03)"), (1, "rgba(204, 121, 167, 0.75)"))


def grid(
    labels: Sequence[Sequence[str]],
    hovers: Sequence[Sequence[str]],
    probability: np.ndarray,
    rank: np.ndarray,
    *,
    tokens: Sequence[str],
    layers: Sequence[str],
    numbers: Sequence[int],
    pinned: int,
    _: Translate,
) -> Picture:
    """A row a position, a column a layer: the likeliest token, its probability as colour.

    All are (position, layer); `rank`: the place of the final answer, from 1, written small;
    `tokens`: what was read; `numbers`: which positions these are; a click returns one of them.
    """
    n_rows, n_columns = probability.shape
    text = [
        [_cell(label, place) for label, place in zip(*row, strict=True)]
        for row in zip(labels, rank.tolist(), strict=True)
    ]
    cells = {
        "type": "heatmap",
        "z": small(probability),
        "zmin": 0,
        "zmax": 1,
        "colorscale": SCALE,
        "text": text,
        "texttemplate": "%{text}",
        "xgap": 2,
        "ygap": 2,
        "hoverinfo": "skip",
        "colorbar": _colorbar(_),
    }
    return figure(
        [cells, _targets(hovers, numbers, n_columns)],
        title=_("Predictions read off after each layer"),
        height=TITLE + TOP + BOTTOM + ROW * n_rows,
        margin=(TITLE + TOP, BOTTOM),
        xaxis={**_names(list(layers)), "side": "top", "range": [-0.5, n_columns - 0.5]},
        yaxis={**_names([token_label(token) for token in tokens]), "range": [n_rows - 0.5, -0.5]},
        shapes=[_row_outline(pinned, n_columns)],
    )


def _cell(label: str, place: int) -> str:
    return f"{token_label(label, LETTERS)}<br>#{place:,}"


def _colorbar(_: Translate) -> dict[str, Any]:
    title = {"text": _("probability"), "side": "right"}
    return {"title": title, "tickformat": ".0%", "thickness": 10, "outlinewidth": 0}


def _names(labels: list[str]) -> dict[str, Any]:
    bare = {"fixedrange": True, "showgrid": False, "zeroline": False, "ticks": ""}
    return {"tickvals": list(range(len(labels))), "ticktext": labels, **bare}


def _row_outline(row: int, n_columns: int) -> dict[str, Any]:
    place = {"x0": -0.5, "x1": n_columns - 0.5, "y0": row - 0.5, "y1": row + 0.5}
    return {"type": "rect", **place, "line": {"color": PINNED, "width": 2.5}}


def _targets(
    hovers: Sequence[Sequence[str]], numbers: Sequence[int], n_columns: int
) -> dict[str, Any]:
    """Invisible markers over the cells: what can be clicked and hovered."""
    kept = {"marker": {"opacity": 0}}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(range(n_columns)) * len(numbers),
        "y": [row for row in range(len(numbers)) for _cell in range(n_columns)],
        "customdata": [[number] for number in numbers for _cell in range(n_columns)],
        "marker": {"symbol": "square", "opacity": 0, "size": 30},
        "selected": kept,
        "unselected": kept,
        "hovertext": [hover for row in hovers for hover in row],
        "hoverinfo": "text",
    }


NAMES, BARS = 24, 230


def bars(tokens: pd.DataFrame, *, guess_bits: float, pinned: int, _: Translate) -> Picture:
    """Bits of surprise at each token, with the mean; a click returns the token's position.

    `tokens`: label, position (from 0), probability, bits, rank; `guess_bits`: what a guess among
    all tokens alike would cost; `pinned`: the position that is outlined, where it has a bar.
    """
    labels, room = list(tokens["label"]), label_room(list(tokens["label"]))
    most = 1.12 * max(guess_bits, tokens["bits"].max())
    mean, n = tokens["bits"].mean(), len(tokens)
    bar = {
        "type": "bar",
        "x": list(range(n)),
        "y": tokens["bits"].tolist(),
        "marker": {"color": EMBEDDING},
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
        "hoverinfo": "skip",
    }
    hovers = [_hover(row, _) for row in tokens.itertuples()]
    marks = [i for i, position in enumerate(tokens["position"]) if position == pinned]
    return figure(
        [bar, columns(hovers, tokens["position"].tolist(), most)],
        title=_("Surprisal of each token"),
        height=TITLE_AND_LEGEND + BARS + room,
        margin=(TITLE_AND_LEGEND, room),
        barmode="overlay",
        xaxis={**token_ticks(labels, NAMES), "tickangle": -55, "automargin": False},
        yaxis={"title": {"text": _("bits")}, "range": [0, most], "fixedrange": True},
        shapes=[
            _level(mean, "solid"),
            _level(guess_bits, "dot"),
            *(outline(i - 0.5, 0, 1, most) for i in marks),
        ],
        annotations=[
            _line_names(
                _("line: mean {bits:.2f} bits").format(bits=mean),
                _("dots: uniform guess {bits:.2f} bits").format(bits=guess_bits),
            )
        ],
    )


def _level(y: float, dash: str) -> dict[str, Any]:
    place = {"x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y}
    return {"type": "line", **place, "line": {"color": BEFORE, "width": 1.5, "dash": dash}}


def _line_names(*names: str) -> dict[str, Any]:
    """What the lines are, above the bars, where nothing stands in the way."""
    place = {"x": 0, "xref": "paper", "y": 1, "yref": "paper", "yanchor": "bottom"}
    return {**place, "text": " · ".join(names), "showarrow": False, "xanchor": "left"}


def _hover(row: Any, _: Translate) -> str:
    text = _("{position} · {token}: {bits:.2f} bits, probability {share:.3%}, rank {rank}")
    return text.format(
        position=row.position + 1,
        token=token_label(row.label),
        bits=row.bits,
        share=row.probability,
        rank=row.rank,
    )
