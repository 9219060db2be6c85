"""All that depth does, layer by layer: panels above each other on one axis of layers."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pages.figures.series import PLACEMENT_COLORS, legend_room, placement_line
from pages.figures.theme import (
    BEFORE,
    EDGE,
    Picture,
    Translate,
    faint,
    figure,
    legend,
    plain,
)

PANEL, GAP, AXIS = 104, 34, 40
MARKED_UP_TO = 16
LOG_ABOVE = 15.0
LOGARITHMIC = ("parameter_gradient", "stream_gradient")
LINEAR = ("cosine", "similarity", "entropy_bits")
BAND = 0.2
NEAR = 1.6
MOST_LAYER_TICKS = 16


class Panel(NamedTuple):
    """One measure: its title says what it is and in which unit.

    `level`, where there is one, is drawn as a dashed line with its name.
    """

    measure: str
    title: str
    level: tuple[float, str] | None = None


def panels(
    curves: pd.DataFrame,
    shown: Sequence[Panel],
    names: Mapping[str, str],
    *,
    n_layers: int,
    title: str,
    ghost: pd.DataFrame | None = None,
    _: Translate,
) -> Picture:
    """Every measure over the layers. `curves`: placement, measure, layer, median, least, most.

    Gradients have a logarithmic scale, and so has what is positive and far apart. What is no finite
    number (or, on a logarithmic scale, zero) is left out. `ghost`: the same of the setting
    before, one curve a measure.
    """
    by_measure = {panel.measure: curves[curves["measure"] == panel.measure] for panel in shown}
    logs = [_is_log(by_measure[panel.measure]) for panel in shown]
    traces: list[dict[str, Any]] = []
    for i, (panel, is_log) in enumerate(zip(shown, logs, strict=True)):
        if ghost is not None:
            traces += _ghost(ghost[ghost["measure"] == panel.measure], i, is_log, _)
        for placement, found in by_measure[panel.measure].groupby("placement", sort=False):
            traces += _curve(found, str(placement), names[str(placement)], i, is_log, n_layers, _)
    height = len(shown) * (PANEL + GAP)
    axes: dict[str, Any] = {
        f"yaxis{i + 1 if i else ''}": _value_axis(i, len(shown), is_log, by_measure[panel.measure])
        for i, (panel, is_log) in enumerate(zip(shown, logs, strict=True))
    }
    levels = [(i, *panel.level) for i, panel in enumerate(shown) if panel.level is not None]
    return figure(
        traces,
        title=title,
        height=height + legend_room(names) + AXIS,
        margin=(legend_room(names), AXIS),
        **legend(),
        xaxis=_layer_axis(n_layers, len(shown), _),
        **axes,
        shapes=[_level(i, value, n_layers) for i, value, _name in levels],
        annotations=[
            *(_panel_title(i, len(shown), panel.title) for i, panel in enumerate(shown)),
            *(_level_name(i, value, name, n_layers, logs[i]) for i, value, name in levels),
        ],
    )


def _is_log(found: pd.DataFrame) -> bool:
    values = found["median"].dropna()
    positive = values[values > 0]
    if found["measure"].isin(LINEAR).any() or (values < 0).any() or positive.empty:
        return False
    if found["measure"].isin(LOGARITHMIC).any():
        return True
    return bool(positive.max() / positive.min() > LOG_ABOVE) or bool((values == 0).any())


def _curve(
    found: pd.DataFrame,
    placement: str,
    name: str,
    panel: int,
    is_log: bool,
    n_layers: int,
    _: Translate,
) -> list[dict[str, Any]]:
    """The median as a line, least to most as a band around it."""
    found = _drawable(found, is_log)
    place = {"yaxis": f"y{panel + 1}" if panel else "y", "legendgroup": placement}
    line = {
        **place,
        "type": "scatter",
        "mode": "lines+markers" if n_layers <= MARKED_UP_TO or len(found) < 2 else "lines",
        "x": found["layer"].tolist(),
        "y": found["median"].tolist(),
        "name": name,
        "showlegend": panel == 0,
        "line": placement_line(placement),
        "marker": {"size": 5, "color": PLACEMENT_COLORS[placement]},
        "customdata": found[["least", "most"]].to_numpy().tolist(),
        "hovertemplate": _("layer {n}").format(n="%{x}")
        + f" · {name}<br>%{{y:.4g}} (%{{customdata[0]:.4g}} … %{{customdata[1]:.4g}})"
        + "<extra></extra>",
    }
    return (
        [line]
        if (found["least"] == found["most"]).all()
        else [_band(found, placement, place), line]
    )


def _drawable(found: pd.DataFrame, is_log: bool) -> pd.DataFrame:
    kept = found.dropna(subset="median")
    return kept[kept["least"] > 0] if is_log else kept


def _band(found: pd.DataFrame, placement: str, place: dict[str, Any]) -> dict[str, Any]:
    around = pd.concat([found["layer"], found["layer"][::-1]])
    edge = pd.concat([found["most"], found["least"][::-1]])
    return {
        **place,
        "type": "scatter",
        "mode": "lines",
        "x": around.tolist(),
        "y": edge.tolist(),
        "fill": "toself",
        "fillcolor": faint(PLACEMENT_COLORS[placement], BAND),
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _ghost(found: pd.DataFrame, panel: int, is_log: bool, _: Translate) -> list[dict[str, Any]]:
    found = _drawable(found, is_log)
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": found["layer"].tolist(),
            "y": found["median"].tolist(),
            "yaxis": f"y{panel + 1}" if panel else "y",
            "legendgroup": "before",
            "name": _("before"),
            "showlegend": panel == 0,
            "line": {"color": BEFORE, "width": 5},
            "opacity": 0.45,
            "hovertemplate": _("before") + ": %{y:.4g}<extra></extra>",
        }
    ]


def _domain(panel: int, n_panels: int) -> list[float]:
    """From the top down, with room for a title above each."""
    step = 1 / n_panels
    return [max(0.0, 1 - (panel + 1) * step), 1 - panel * step - step * GAP / (PANEL + GAP)]


def _value_axis(panel: int, n_panels: int, is_log: bool, found: pd.DataFrame) -> dict[str, Any]:
    axis = {
        "domain": _domain(panel, n_panels),
        "fixedrange": True,
        "zeroline": False,
        "nticks": 5,
        "automargin": True,
    }
    if not is_log:
        is_share = found["measure"].isin(["cosine", "similarity"]).any()
        return {**axis, "rangemode": "normal" if is_share else "tozero"}
    values = found["median"].dropna()
    return {**axis, "type": "log", **log_ticks(values[values > 0].to_numpy(float))}


def log_ticks(values: np.ndarray, most: int = 4) -> dict[str, Any]:
    """Powers of ten, not too many; where they are near each other, what lies between too."""
    if not len(values):
        return {}
    low, high = np.log10(values.min()), np.log10(values.max())
    first, last = int(np.floor(low)), int(np.ceil(high))
    if high - low < NEAR:
        ticks = [m * 10.0**k for k in range(first, last + 1) for m in (1, 2, 5)]
        ticks = [tick for tick in ticks if low - 0.2 <= np.log10(tick) <= high + 0.2]
    else:
        step = max(1, -(-(last - first) // most))
        ticks = [10.0**k for k in range(first, last + 1, step)]
    return {"tickvals": ticks, "ticktext": [_power(tick) for tick in ticks]}


def _power(tick: float) -> str:
    if 1e-3 <= tick < 1e5:
        return f"{tick:g}"
    return f"10<sup>{round(np.log10(tick))}</sup>"


def _layer_axis(n_layers: int, n_panels: int, _: Translate) -> dict[str, Any]:
    return {
        "title": {"text": _("layer (0: what goes in)")},
        "range": [-0.02 * n_layers - 0.1, n_layers * 1.02 + 0.1],
        "anchor": f"y{n_panels}" if n_panels > 1 else "y",
        "fixedrange": True,
        "zeroline": False,
        "tick0": 0,
        "dtick": max(1, -(-n_layers // MOST_LAYER_TICKS)),
        "automargin": False,
    }


def _panel_title(panel: int, n_panels: int, title: str) -> dict[str, Any]:
    place = {"x": 0, "xref": "paper", "xanchor": "left", "yref": "paper", "yanchor": "bottom"}
    at = _domain(panel, n_panels)[1]
    return {**place, "y": at, "text": title, "showarrow": False, "font": {"size": 13}}


def _level(panel: int, value: float, n_layers: int) -> dict[str, Any]:
    place = {"x0": 0, "x1": n_layers, "y0": value, "y1": value}
    line = {"color": BEFORE, "width": 1.5, "dash": "dash"}
    return {"type": "line", **place, "yref": f"y{panel + 1}" if panel else "y", "line": line}


def _level_name(panel: int, value: float, name: str, n_layers: int, is_log: bool) -> dict[str, Any]:
    place = {"x": n_layers, "xanchor": "right", "yanchor": "bottom"}
    at = float(np.log10(value)) if is_log else value
    yref = f"y{panel + 1}" if panel else "y"
    return {**place, "y": at, "yref": yref, "text": plain(name), "showarrow": False}


def last_gradients(
    table: pd.DataFrame, names: Mapping[str, str], *, title: str, _: Translate
) -> Picture:
    """The gradient of the last matrix in stacks of growing depth, both axes logarithmic.

    `table`: placement, n_layers, median, least, most. Dashed: how it goes on from the first depth
    if it does not depend on depth (post), or falls as 1/√depth (pre; Xiong et al. 2020, theorem 1).
    """
    traces: list[dict[str, Any]] = []
    for placement, found in table.groupby("placement", sort=False):
        kept = found[found["median"] > 0]
        line = {
            "type": "scatter",
            "mode": "lines+markers",
            "x": kept["n_layers"].tolist(),
            "y": kept["median"].tolist(),
            "name": names[str(placement)],
            "line": placement_line(str(placement)),
            "marker": {"size": 8, "color": PLACEMENT_COLORS[str(placement)]},
            "error_y": {
                "type": "data",
                "array": (kept["most"] - kept["median"]).tolist(),
                "arrayminus": (kept["median"] - kept["least"]).tolist(),
                "thickness": 1,
                "color": PLACEMENT_COLORS[str(placement)],
            },
            "hovertemplate": f"{names[str(placement)]} · "
            + _("depth {n}").format(n="%{x}")
            + ": %{y:.4g}<extra></extra>",
        }
        traces += [line, *_expected(kept, str(placement), _)]
    depths = sorted(set(table["n_layers"]))
    positive = table["median"][table["median"] > 0].to_numpy(float)
    return figure(
        traces,
        title=title,
        height=380,
        margin=(legend_room(names), EDGE),
        **legend(),
        xaxis={
            "title": {"text": _("number of layers")},
            "type": "log",
            "tickvals": depths,
            "ticktext": [str(depth) for depth in depths],
            "fixedrange": True,
        },
        yaxis={
            "title": {"text": _("size of the gradient")},
            "type": "log",
            "fixedrange": True,
            **log_ticks(positive),
        },
    )


EXPECTED_POWERS = {"pre": -0.5, "post": 0.0}


def _expected(found: pd.DataFrame, placement: str, _: Translate) -> list[dict[str, Any]]:
    """What theory expects, from the first measured depth on."""
    if placement not in EXPECTED_POWERS or len(found) < 2:
        return []
    x = found["n_layers"].to_numpy(float)
    y = found["median"].iloc[0] * (x / x[0]) ** EXPECTED_POWERS[placement]
    text = {"pre": _("theory for pre-norm: 1/√depth"), "post": _("theory for post-norm: constant")}
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": x.tolist(),
            "y": y.tolist(),
            "name": text[placement],
            "showlegend": False,
            "line": {"color": PLACEMENT_COLORS[placement], "width": 1, "dash": "longdash"},
            "opacity": 0.7,
            "hovertemplate": text[placement] + "<extra></extra>",
        }
    ]
