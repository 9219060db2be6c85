"""A beside B: the colours of both, bars two by two, and lines over the layers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pages.figures import marks, palette
from pages.figures.axes import room_under_legend, row_names
from pages.figures.described import SAID
from pages.figures.theme import Picture, Translate, figure, plain, token_label

# Those of a map that diverges around 0: more in B, more in A.
A_COLOR, B_COLOR = "#E29100", "#1482D2"
ROW, AXIS = 42, 52
LINES, LINES_BOTTOM = 318, 48
LOG_ABOVE = 30
DASHES = {"a": "dot", "b": "solid"}
LOOKS = {"a": (A_COLOR, "/"), "b": (B_COLOR, "")}  # color and pattern of bars
NOTHING = "–"


def bars(
    table: pd.DataFrame,
    names: tuple[str, str],
    *,
    title: str,
    unit: str,
    said: Callable[[float], str],
    is_share: bool = False,
    _: Translate,
) -> Picture:
    """Two bars per row: A hatched above, B below. `table`: label, a, b; `said` writes a number.

    `is_share`: the numbers are shares of 1, written in percent.
    """
    most = float(table[["a", "b"]].max().max())
    labels = [token_label(label, most=28) for label in table["label"]]
    return figure(
        [
            _bars(table[side], labels, name, LOOKS[side], said, _)
            for side, name in zip("ab", names, strict=True)
        ],
        title=title,
        **room_under_legend(ROW * len(table), AXIS),
        barmode="group",
        bargap=0.28,
        xaxis={
            "title": unit,
            "range": [0, 1.4 * most or 1],
            "tickformat": ".2~p" if is_share else "~s",
            "nticks": 6,
        },
        yaxis=row_names(labels),
    )


def _bars(
    values: pd.Series,
    labels: Sequence[str],
    name: str,
    look: tuple[str, str],
    said: Callable[[float], str],
    _: Translate,
) -> dict[str, Any]:
    color, shape = look
    numbers = [said(value) if value else NOTHING for value in values]
    rows = "; ".join(f"{label} {number}" for label, number in zip(labels, numbers, strict=True))
    return {
        "type": "bar",
        "orientation": "h",
        "name": plain(name),
        "offsetgroup": str(values.name),
        "x": values.astype(float).tolist(),  # whole numbers may be beyond 64 bits
        "y": list(range(len(labels))),
        "text": [f" {number}" for number in numbers],
        "textposition": "outside",
        "textfont": {"size": 11},
        "constraintext": "none",
        "cliponaxis": False,
        "marker": {"color": color, "pattern": {"shape": shape, "solidity": 0.3}},
        "hovertext": [
            f"{plain(name)} · {label}: {number}"
            for label, number in zip(labels, numbers, strict=True)
        ],
        "hoverinfo": "text",
        "meta": {SAID: [_("{name}: {said}").format(name=plain(name), said=rows)]},
    }


def over_layers(
    a: pd.DataFrame,
    b: pd.DataFrame,
    names: tuple[str, str],
    *,
    selected: int,
    title: str,
    unit: str,
    _: Translate,
) -> Picture:
    """A number after every layer, of both, and below it what lies between them.

    `a`, `b`: layer (0: what goes into the first), value. Where the numbers lie far apart the axis
    is logarithmic, and below it stands B ÷ A instead of B − A. A click returns the layer.
    """
    values = pd.concat((a["value"], b["value"]))
    is_log = bool(values.min() > 0 and values.max() / values.min() > LOG_ABOVE)
    both = a.merge(b, on="layer", suffixes=("_a", "_b"))
    between = both["value_b"] / both["value_a"] if is_log else both["value_b"] - both["value_a"]
    last = int(max(a["layer"].max(), b["layer"].max()))
    scales = [_log_scale(x) if is_log else {} for x in (pd.concat((a, b))["value"], between)]
    return figure(
        [
            _line(a, "a", names[0], A_COLOR, width=4),
            _line(b, "b", names[1], B_COLOR, width=2),
            _between(both["layer"], between, is_log=is_log),
        ],
        title=title,
        **room_under_legend(LINES, LINES_BOTTOM),
        xaxis=_layer_axis(last, _),
        yaxis={"title": unit, "domain": [0.42, 1], **scales[0]},
        yaxis2={
            "title": _("B ÷ A") if is_log else _("B − A"),
            "domain": [0, 0.3],
            "zeroline": not is_log,
            **scales[1],
        },
        shapes=[_selected(selected)],
    )


def _layer_axis(last: int, _: Translate) -> dict[str, Any]:
    ticks = list(range(0, last + 1, -(-(last + 1) // 16)))
    axis = {"title": _("layer"), "range": [-0.5, last + 0.5]}
    return {**axis, "tickvals": ticks, "anchor": "y2"}


def _log_scale(values: pd.Series) -> dict[str, Any]:
    """A tick at every power of ten, or more where there is hardly one."""
    is_narrow = values.max() < 12 * values.min()
    return {"type": "log", "exponentformat": "power", "dtick": "D2" if is_narrow else 1}


def _line(table: pd.DataFrame, side: str, name: str, color: str, width: int) -> dict[str, Any]:
    return marks.line(
        table["layer"].tolist(),
        table["value"].astype(float).tolist(),
        mode="lines+markers",
        name=plain(name),
        customdata=[[int(layer)] for layer in table["layer"]],
        line={"color": color, "width": width, "dash": DASHES[side]},
        marker={"size": 7, "symbol": "diamond" if side == "a" else "circle"},
        **marks.steady(),
        hovertemplate=f"{plain(name)} · %{{x}}: %{{y:.4g}}<extra></extra>",
    )


def _between(layers: pd.Series, values: pd.Series, *, is_log: bool) -> dict[str, Any]:
    more = values > (1 if is_log else 0)
    sign = "÷" if is_log else "−"
    dots = {
        "type": "scatter",
        "mode": "lines+markers",
        "line": {"color": palette.RESIDUAL, "width": 1},
        "marker": {"color": np.where(more, B_COLOR, A_COLOR).tolist(), "size": 8},
    }
    sticks = {"type": "bar", "marker": {"color": np.where(more, B_COLOR, A_COLOR).tolist()}}
    return {
        **(dots if is_log else sticks),
        "x": layers.tolist(),
        "y": values.astype(float).tolist(),
        "yaxis": "y2",
        "showlegend": False,
        "hovertemplate": f"B {sign} A · %{{x}}: %{{y:.4g}}<extra></extra>",
    }


def _selected(layer: int) -> dict[str, Any]:
    """The layer that is looked at, marked at the foot of the picture."""
    line = {"color": palette.PINNED, "width": 2.5}
    ends = {"x0": layer - 0.4, "x1": layer + 0.4, "y0": 0, "y1": 0, "yref": "paper"}
    return {"type": "line", **ends, "line": line}
