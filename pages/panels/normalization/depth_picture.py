"""All that depth does, layer by layer: panels above each other on one axis of layers."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from blocks.inspection.depth_facts import POWERS, LayerCurves
from pages.figures import marks, palette
from pages.figures.described import HEADING
from pages.figures.series import PLACEMENT_COLORS, legend_room, placement_line
from pages.figures.theme import EDGE, Picture, Translate, figure, legend, plain

PANEL, GAP, AXIS = 104, 34, 40
ALONE = 170
LAST_GRADIENTS = 310
MARKED_UP_TO = 16
LOG_ABOVE = 15.0
LOGARITHMIC = ("parameter_gradient", "stream_gradient")
SHARES, LINEAR = ("cosine", "similarity"), ("cosine", "similarity", "entropy_bits")
NEAR = 1.6
MOST_LAYER_TICKS = 16


def titles(_: Translate) -> dict[str, str]:
    """What each measure is, in the order in which they are drawn."""
    return {
        "parameter_gradient": _("Gradient norm of each layer's parameters"),
        "stream_gradient": _("Gradient norm of the stream after each layer"),
        "stream_norm": _("Size of the residual stream (mean norm of a token)"),
        "attention_share": _("Attention output, relative to the stream"),
        "feed_forward_share": _("Feed-forward output, relative to the stream"),
        "cosine": _("Cosine similarity with the previous layer"),
        "similarity": _("Similarity of tokens (mean pairwise cosine)"),
        "entropy_bits": _("Entropy of attention (bits)"),
    }


def panels(
    curves: LayerCurves,
    names: Mapping[str, str],
    *,
    title: str,
    before: LayerCurves | None = None,
    _: Translate,
) -> Picture:
    """Every measure that these layers have; `before`: the same of the setting before.

    Gradients have a logarithmic scale, and so has what is positive and far apart. What is no finite
    number (or, on a logarithmic scale, zero) is left out.
    """
    known = set(curves.table.dropna(subset="median")["measure"])
    shown = {measure: text for measure, text in titles(_).items() if measure in known}
    n, room = len(shown), legend_room(names)
    traces: list[dict[str, Any]] = []
    annotations, axes, named = [], dict[str, Any](), set[str]()
    for i, (measure, text) in enumerate(shown.items()):
        found = _of(curves, measure)
        ghost = None if before is None else _of(before, measure)
        place = {"yaxis": _axis("y", i), "meta": {HEADING: text}, "showlegend": i == 0}
        traces += _curves(found, ghost, names, place, named, _)
        named |= {*found["placement"]}
        shown_values = found if ghost is None else pd.concat([found, ghost])
        axes[_axis("yaxis", i)] = _value_axis(i, n, _is_log(found), shown_values)
        annotations += [_title(_domain(i, n)[1], text)] if n > 1 else []
    levels = list(_levels(curves, list(shown), _))
    return figure(
        traces,
        title=title if n > 1 else next(iter(shown.values()), title),
        height=(n * (PANEL + GAP) if n > 1 else ALONE) + room + AXIS,
        margin=(room, AXIS),
        **legend(),
        xaxis=_layer_axis(curves.n_layers, _axis("y", n - 1), _),
        **axes,
        shapes=[shape for shape, _name in levels],
        annotations=[*annotations, *(name for _shape, name in levels)],
    )


def _curves(
    found: pd.DataFrame,
    ghost: pd.DataFrame | None,
    names: Mapping[str, str],
    place: dict[str, Any],
    named: Collection[str],
    _: Translate,
) -> Iterator[dict[str, Any]]:
    """One measure of each placement, before them that of the setting before.

    `named`: the placements that stand in the legend already.
    """
    is_log = _is_log(found)
    if ghost is not None:
        yield _ghost(_drawable(ghost, is_log), place, _)
    for placement, curve in found.groupby("placement", sort=False):
        name = names[str(placement)]
        shown = {**place, "showlegend": placement not in named}
        yield from _curve(_drawable(curve, is_log), str(placement), name, shown, _)


def _levels(
    curves: LayerCurves, shown: list[str], _: Translate
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """What some measures are compared with: a line across, and what it is."""
    levels = {
        "entropy_bits": (curves.even_bits, _("uniform weights")),
        "similarity": (1.0, _("all tokens alike")),
    }
    for measure in (each for each in shown if each in levels):
        (value, name), yref = levels[measure], _axis("y", shown.index(measure))
        at = float(np.log10(value)) if _is_log(_of(curves, measure)) else value
        yield _level(value, curves.n_layers, yref), _level_name(at, name, curves.n_layers, yref)


def _axis(name: str, panel: int) -> str:
    return f"{name}{panel + 1}" if panel else name


def _of(curves: LayerCurves, measure: str) -> pd.DataFrame:
    return curves.table[curves.table["measure"] == measure]


def _is_log(found: pd.DataFrame) -> bool:
    values = found["median"].dropna()
    positive = values[values > 0]
    if found["measure"].isin(LINEAR).any() or (values < 0).any() or positive.empty:
        return False
    if found["measure"].isin(LOGARITHMIC).any():
        return True
    return bool(positive.max() / positive.min() > LOG_ABOVE) or bool((values == 0).any())


def _drawable(found: pd.DataFrame, is_log: bool) -> pd.DataFrame:
    kept = found.dropna(subset="median")
    return kept[kept["least"] > 0] if is_log else kept


def _curve(
    found: pd.DataFrame, placement: str, name: str, place: dict[str, Any], _: Translate
) -> list[dict[str, Any]]:
    """The median as a line, least to most as a band around it."""
    place = {**place, "legendgroup": placement}
    color = PLACEMENT_COLORS[placement]
    median = marks.line(
        found["layer"],
        found["median"],
        **place,
        mode="lines+markers" if len(found) <= MARKED_UP_TO + 1 else "lines",
        name=name,
        line=placement_line(placement),
        marker={"size": 5, "color": color},
        customdata=found[["least", "most"]].to_numpy().tolist(),
        hovertemplate=_("layer {n}").format(n="%{x}")
        + f" · {name}<br>%{{y:.4g}} (%{{customdata[0]:.4g}} … %{{customdata[1]:.4g}})"
        + "<extra></extra>",
    )
    if (found["least"] == found["most"]).all():
        return [median]
    place["showlegend"] = False
    return [marks.band(found["layer"], found["least"], found["most"], color, **place), median]


def _ghost(found: pd.DataFrame, place: dict[str, Any], _: Translate) -> dict[str, Any]:
    return marks.line(
        found["layer"],
        found["median"],
        **place,
        legendgroup="before",
        name=_("previous settings"),
        line={"color": palette.BEFORE, "width": 5},
        opacity=0.45,
        hovertemplate=_("previous settings") + ": %{y:.4g}<extra></extra>",
    )


def _domain(panel: int, n_panels: int) -> list[float]:
    """From the top down, with room for a title above each of several."""
    if n_panels == 1:
        return [0.0, 1.0]
    step = 1 / n_panels
    return [max(0.0, 1 - (panel + 1) * step), 1 - panel * step - step * GAP / (PANEL + GAP)]


def _value_axis(panel: int, n_panels: int, is_log: bool, found: pd.DataFrame) -> dict[str, Any]:
    axis = {
        "domain": _domain(panel, n_panels),
        "zeroline": False,
        "nticks": 5,
    }
    if not is_log:
        is_share = found["measure"].isin(SHARES).any()
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


def _layer_axis(n_layers: int, anchor: str, _: Translate) -> dict[str, Any]:
    return {
        "title": _("layer (0: input)"),
        "range": [-0.02 * n_layers - 0.1, n_layers * 1.02 + 0.1],
        "anchor": anchor,
        "zeroline": False,
        "tick0": 0,
        "dtick": max(1, -(-n_layers // MOST_LAYER_TICKS)),
        "automargin": False,
    }


def _title(at: float, text: str) -> dict[str, Any]:
    return marks.level_name(at, text, yref="paper", font={"size": 13})


def _level(value: float, n_layers: int, yref: str) -> dict[str, Any]:
    return marks.level(value, x1=n_layers, xref="x", yref=yref)


def _level_name(at: float, text: str, n_layers: int, yref: str) -> dict[str, Any]:
    right = {"x": n_layers, "xref": "x", "xanchor": "right"}
    return marks.level_name(at, plain(text), yref=yref, **right)


def last_gradients(table: pd.DataFrame, names: Mapping[str, str], *, _: Translate) -> Picture:
    """The gradient of the last matrix in stacks of growing depth, both axes logarithmic.

    `table`: placement, n_layers, median, least, most. Dashed: how it goes on from the first depth
    if it does not depend on depth (post), or falls as 1/√depth (pre; Xiong et al. 2020, theorem 1).
    """
    traces: list[dict[str, Any]] = []
    for placement, found in table.groupby("placement", sort=False):
        kept = found[found["median"] > 0]
        traces.append(_against_depth(kept, str(placement), names[str(placement)], _))
        if placement in POWERS and len(kept) > 1:
            traces.append(_expected(kept, str(placement), _))
    depths = sorted(set(table["n_layers"]))
    positive = table["median"][table["median"] > 0].to_numpy(float)
    return figure(
        traces,
        title=_("Gradient of the last matrix (thin: theory)"),
        height=LAST_GRADIENTS,
        margin=(legend_room(names), EDGE),
        **legend(),
        xaxis={
            "title": _("number of layers"),
            "type": "log",
            "tickvals": depths,
            "ticktext": [str(depth) for depth in depths],
        },
        yaxis={"title": _("gradient norm"), "type": "log", **log_ticks(positive)},
    )


def _against_depth(found: pd.DataFrame, placement: str, name: str, _: Translate) -> dict[str, Any]:
    color = PLACEMENT_COLORS[placement]
    return marks.line(
        found["n_layers"],
        found["median"],
        mode="lines+markers",
        name=name,
        line=placement_line(placement),
        marker={"size": 8, "color": color},
        error_y={
            "type": "data",
            "array": (found["most"] - found["median"]).tolist(),
            "arrayminus": (found["median"] - found["least"]).tolist(),
            "thickness": 1,
            "color": color,
        },
        hovertemplate=f"{name} · " + _("depth {n}").format(n="%{x}") + ": %{y:.4g}<extra></extra>",
    )


def _expected(found: pd.DataFrame, placement: str, _: Translate) -> dict[str, Any]:
    """What theory expects, from the first measured depth on."""
    x = found["n_layers"].to_numpy(float)
    y = found["median"].iloc[0] * (x / x[0]) ** POWERS[placement]
    name = _("theory for post-norm: constant")
    if placement == "pre":
        name = _("theory for pre-norm: 1/√depth")
    return marks.line(
        x.tolist(),
        y.tolist(),
        name=name,
        showlegend=False,
        line={"color": PLACEMENT_COLORS[placement], "width": 1, "dash": "longdash"},
        opacity=0.7,
        hovertemplate=f"{name}<extra></extra>",
    )
