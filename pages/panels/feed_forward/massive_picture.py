"""The largest values of the stream, of each token after each layer."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blocks.inspection.massive import MassiveFacts
from pages.figures import marks, palette
from pages.figures.axes import plot_room
from pages.figures.counting import from_one, told_apart
from pages.figures.described import SAID
from pages.figures.numbers import readable
from pages.figures.theme import Picture, Translate, figure, token_label
from pages.figures.token_axis import label_room, slanted
from pages.figures.weights import outline

MOST_TOKENS, NAMES = 48, 24
TALL, FEW_ROWS, ROW, MOST_ROWS, FLAT, BOTTOM, TICKS = 36, 8, 16, 40, 6, 8, 12
LEAST = 1e-3  # on a logarithmic scale


def largest_values(facts: MassiveFacts, *, _: Translate) -> Picture:
    """A row a layer, a column a token; a click returns layer and token."""
    shown = facts.shown(MOST_TOKENS)
    labels = [told_apart(facts.run.input.labels)[token] for token in shown]
    n_layers, room = len(facts.values), label_room(labels)
    row = TALL if n_layers <= FEW_ROWS else ROW if n_layers <= MOST_ROWS else FLAT
    at, place = facts.largest, shown.index(facts.largest.token)
    said = _("the largest is {value} at {token} after layer {layer}, in channel {channel}").format(
        value=readable(at.value),
        token=labels[place],
        layer=from_one(at.layer),
        channel=from_one(at.channel),
    )
    step = -(-n_layers // TICKS)
    return figure(
        [_cells(np.abs(facts.values[:, shown]), said, _), _targets(facts, shown, labels, _)],
        title=_("Largest value of each token after each layer"),
        **plot_room(max(72, row * n_layers), BOTTOM, above=room),
        xaxis=slanted(labels, NAMES, side="top", range=[-0.5, len(labels) - 0.5]),
        yaxis={
            "title": _("layer"),
            "tickvals": list(range(0, n_layers, step)),
            "ticktext": [str(from_one(layer)) for layer in range(0, n_layers, step)],
            "range": [n_layers - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
        },
        shapes=[outline(place - 0.5, at.layer - 0.5, 1, 1)],
    )


def _cells(sizes: NDArray[np.float32], said: str, _: Translate) -> dict[str, Any]:
    """Colored by powers of ten."""
    powers = np.log10(np.maximum(sizes, LEAST))
    least, most = np.floor(powers.min()), np.ceil(powers.max())
    ticks = np.arange(least, most + 1)
    bar = marks.color_bar(
        _("largest size"), tickvals=ticks.tolist(), ticktext=[f"{10**tick:,g}" for tick in ticks]
    )
    return marks.heat(
        powers.astype(np.float32),
        zmin=least,
        zmax=most,
        colorscale=[list(stop) for stop in palette.WEIGHTS],
        colorbar=bar,
        xgap=1,
        meta={SAID: [said]},
    )


def _targets(
    facts: MassiveFacts, shown: list[int], labels: list[str], _: Translate
) -> dict[str, Any]:
    text = _("layer {layer} · {token}: {value} in channel {channel}")
    places = [(layer, i) for layer in range(len(facts.values)) for i in range(len(shown))]
    return marks.targets(
        [i for _layer, i in places],
        [layer for layer, _i in places],
        [[layer, shown[i]] for layer, i in places],
        ROW,
        **marks.told(
            text.format(
                layer=from_one(layer),
                token=token_label(labels[i]),
                value=readable(float(facts.values[layer, shown[i]])),
                channel=from_one(facts.channels[layer, shown[i]]),
            )
            for layer, i in places
        ),
    )
