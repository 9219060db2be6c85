"""What the model would say after each layer, as a grid."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from blocks.inspection.lens import LensFacts
from pages.figures import marks
from pages.figures.axes import BARE, plot_room
from pages.figures.counting import from_one, told_apart
from pages.figures.described import SAID
from pages.figures.theme import ACROSS, Picture, Translate, figure, small, token_label
from pages.figures.weights import outline

ROW, TOP, BOTTOM = 38, 30, 8
WIDTH = 1000  # pixels of the cells on a projector
LETTERS = 6  # Plotly writes as large as the longest text has room for, a square a letter
SCALE = ((0, "rgba(204, 121, 167, 0.03)"), (1, "rgba(204, 121, 167, 0.75)"))


def layer_name(layer: int, _: Translate) -> str:
    """What a column of the lens is called; 0 is before the first layer."""
    return _("layer {layer}").format(layer=layer) if layer else _("embedding")


def grid(facts: LensFacts, *, _: Translate) -> Picture:
    """A row per position, a column per layer: the likeliest token, its probability as colour.

    The rank of the final answer is written small. A click returns the position.
    """
    lens, drawn = facts.lens, facts.drawn
    probability, rank = facts.cells(lens.probability), facts.cells(lens.rank)
    labels = [[facts.label(int(cell)) for cell in row] for row in facts.cells(lens.token_id)]
    n_rows, n_columns = probability.shape
    tokens = told_apart(facts.run.input.labels)[drawn.rows]
    hovers = list(_hovers(facts, labels, probability, rank, _))
    pinned = facts.pinned - drawn.first
    told = sorted({0, facts.layers.index(facts.decided), n_columns - 1})
    names = [str(i) if facts.is_narrow else layer_name(i, _) for i in facts.layers]
    said = [hovers[pinned * n_columns + column] for column in told]
    targets = _targets(hovers, range(drawn.first, drawn.end), n_columns)
    return figure(
        [
            _cells(probability, labels, rank, _, is_narrow=facts.is_narrow),
            {**targets, "meta": {SAID: said}},
        ],
        title=_("Predictions read off after each layer"),
        **plot_room(ROW * n_rows, BOTTOM, above=TOP),
        meta={ACROSS: WIDTH},
        xaxis={**_names(names), "side": "top", "range": [-0.5, n_columns - 0.5]},
        yaxis={**_names([token_label(token) for token in tokens]), "range": [n_rows - 0.5, -0.5]},
        shapes=[outline(-0.5, pinned - 0.5, n_columns, 1)],
    )


def _cells(
    probability: np.ndarray,
    labels: Sequence[Sequence[str]],
    rank: np.ndarray,
    _: Translate,
    *,
    is_narrow: bool,
) -> dict[str, Any]:
    """Colours, and written in them the token and the rank of the final answer.

    Where it `is_narrow`, the cells have the room of the scale.
    """
    return marks.heat(
        small(probability),
        zmin=0,
        zmax=1,
        colorscale=SCALE,
        text=[
            [
                f"{token_label(label, LETTERS)}<br>#{place:,}"
                for label, place in zip(*row, strict=True)
            ]
            for row in zip(labels, rank.tolist(), strict=True)
        ],
        texttemplate="%{text}",
        xgap=2,
        ygap=2,
        showscale=not is_narrow,
        colorbar=marks.color_bar(_("probability"), tickformat=".0%"),
    )


def _hovers(
    facts: LensFacts, labels: list[list[str]], probability: Any, rank: Any, _: Translate
) -> Iterator[str]:
    """What is said of each cell under the cursor."""
    tokens = told_apart(facts.run.input.labels)
    text = _(
        "position {position}, {token} · {layer}: {label} {chance:.2%} · "
        "the final answer is at rank {rank:,}"
    )
    for row, column in np.ndindex(*rank.shape):
        position = facts.drawn.first + row
        yield text.format(
            position=from_one(position),
            token=token_label(tokens[position]),
            layer=layer_name(facts.layers[column], _),
            label=token_label(labels[row][column]),
            chance=float(probability[row, column]),
            rank=int(rank[row, column]),
        )


def _names(labels: list[str]) -> dict[str, Any]:
    return {"tickvals": list(range(len(labels))), "ticktext": labels, **BARE}


def _targets(hovers: list[str], numbers: range, n_columns: int) -> dict[str, Any]:
    """Invisible markers over the cells: what can be clicked and hovered."""
    return marks.targets(
        list(range(n_columns)) * len(numbers),
        [row for row in range(len(numbers)) for _cell in range(n_columns)],
        [[number] for number in numbers for _cell in range(n_columns)],
        30,
        **marks.told(hovers),
    )
