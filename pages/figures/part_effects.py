"""What each part of a model is worth: the output's change where it alone is switched off."""

from collections.abc import Sequence

import numpy as np

from pages.figures.theme import TITLE, WEIGHTS, Picture, Translate, figure
from pages.figures.weights import outline

ROW, BOTTOM, TICKS = 30, 64, 26
NUMBERS_UP_TO = 200


def grid(
    effect: np.ndarray, columns: Sequence[str], *, unit: str, marked: Sequence[int], _: Translate
) -> Picture:
    """Layers down, parts across, colour by effect; a click returns the number of a part.

    `effect`: (n_layers, parts), NaN where not measured yet; `columns`: the parts of a layer;
    `marked`: the parts that are changed now, counted through all layers.
    """
    n_layers, n_parts = effect.shape
    most = max(float(np.nanmax(effect, initial=0)), 1e-6)
    return figure(
        [_heat(effect, most, unit), _marks(effect, columns, unit, _)],
        title=_("Each part ablated alone: how far the output changes"),
        height=TITLE + BOTTOM + ROW * max(2, n_layers),
        margin=(TITLE, BOTTOM),
        xaxis={
            "title": {"text": _("head, or a whole part")},
            "tickvals": list(range(n_parts)),
            "ticktext": list(columns) if n_parts <= TICKS else list(columns)[:0],
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={
            "title": {"text": _("layer")},
            "tickvals": list(range(n_layers)),
            "ticktext": [str(layer + 1) for layer in range(n_layers)],
            "range": [n_layers - 0.5, -0.5],
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
        },
        shapes=[outline(i % n_parts - 0.5, i // n_parts - 0.5, 1, 1) for i in marked],
        annotations=_numbers(effect, most),
    )


def _heat(effect: np.ndarray, most: float, unit: str) -> dict:
    return {
        "type": "heatmap",
        "z": effect.astype(np.float32),
        "zmin": 0,
        "zmax": most,
        "colorscale": [list(stop) for stop in WEIGHTS],
        "hoverinfo": "skip",
        "xgap": 2,
        "ygap": 2,
        "colorbar": {"title": {"text": unit, "side": "right"}, "thickness": 10, "outlinewidth": 0},
    }


def _marks(effect: np.ndarray, columns: Sequence[str], unit: str, _: Translate) -> dict:
    """Invisible markers over the cells: what can be clicked and hovered."""
    layer, part = np.nonzero(~np.isnan(effect))
    unseen = {"marker": {"opacity": 0}}
    text = _("layer {layer}, {part}: {effect:.3g} {unit}")
    hovers = [
        text.format(layer=i + 1, part=columns[j], effect=effect[i, j], unit=unit)
        for i, j in zip(layer.tolist(), part.tolist(), strict=True)
    ]
    return {
        "type": "scattergl",
        "mode": "markers",
        "x": part.tolist(),
        "y": layer.tolist(),
        "customdata": (layer * effect.shape[1] + part)[:, None].tolist(),
        "hovertext": hovers,
        "hoverinfo": "text",
        "marker": {"symbol": "square", "size": 26, "opacity": 0},
        "selected": unseen,
        "unselected": unseen,
    }


def _numbers(effect: np.ndarray, most: float) -> list[dict]:
    if effect.size > NUMBERS_UP_TO:
        return []
    return [
        {
            "x": int(part),
            "y": int(layer),
            "text": f"{effect[layer, part]:.2g}",
            "showarrow": False,
            "font": {"size": 11, "color": "#ffffff" if effect[layer, part] > 0.55 * most else None},
        }
        for layer, part in np.argwhere(~np.isnan(effect))
    ]
