"""What a training has told so far, over its steps: one run, or two on the same axes."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pages.figures import marks, palette
from pages.figures.theme import (
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
    plain,
)

TALL, LOW, BOTTOM = 276, 176, 44
ROW, LONG_NAME = 20, 24  # of a legend: height in pixels, characters
DASHES = ("solid", "dot")


class Told(NamedTuple):
    """One run: `name` is in the legend where there are two.

    `curves`: step, loss, smoothed, gradient_norm, tokens_per_second; `evaluations`: step,
    held_out_loss, score; `layer_gradients`: step, layer, gradient_norm; `ahead`: step, module, loss
    of what predicts further ahead.
    """

    name: str
    curves: pd.DataFrame
    evaluations: pd.DataFrame
    layer_gradients: pd.DataFrame
    ahead: pd.DataFrame


class Steps(NamedTuple):
    """The axis of the steps: how far it goes, and whether on a logarithmic scale."""

    most: int
    is_log: bool


def loss(runs: Sequence[Told], steps: Steps, *, guess: float, _: Translate) -> Picture:
    """Loss of each step, smoothed, and held out; `guess` is that of guessing all tokens alike."""
    traces = [trace for i, run in enumerate(runs) for trace in _losses(run, i, len(runs), _)]
    label = _("random guess: {nats:.2f}").format(nats=guess)
    return _picture(
        traces,
        steps,
        title=_("Loss"),
        height=TALL,
        yaxis={"title": _("nats per token"), "range": [0, _top(runs, guess)]},
        shapes=[marks.level(guess)],
        annotations=[marks.level_name(guess, label, x=1, xanchor="right")],
        is_named=True,
        _=_,
    )


def score(
    runs: Sequence[Told], steps: Steps, *, name: str, is_share: bool, _: Translate
) -> Picture:
    """What the task measures, at each evaluation."""
    bounds = {"range": [-0.02, 1.05], "tickformat": ".0%"} if is_share else {"rangemode": "tozero"}
    traces = [
        _line(
            run.evaluations,
            "score",
            _named(name, run, len(runs)),
            color=palette.HELD_OUT,
            dash=DASHES[i],
            marked=True,
            shown="%{y:.1%}" if is_share else "%{y:.3f}",
            _=_,
        )
        for i, run in enumerate(runs)
    ]
    title = _("Score: {name}").format(name=name)
    axis = {"title": name, **bounds}
    is_named = len(runs) > 1
    return _picture(traces, steps, title=title, height=TALL, yaxis=axis, is_named=is_named, _=_)


def gradients(run: Told, steps: Steps, _: Translate) -> Picture:
    """The size of the gradient: grey the whole at every step, the darker the later the layer."""
    n_layers = int(run.layer_gradients["layer"].max()) + 1 if len(run.layer_gradients) else 0
    layers = [
        _line(
            of_layer,
            "gradient_norm",
            _("layer {layer}").format(layer=layer + 1),
            color=faint(palette.LEARNED, 0.35 + 0.65 * (layer + 1) / n_layers),
            marked=True,
            shown="%{y:.3g}",
            _=_,
        )
        for layer, (_number, of_layer) in enumerate(run.layer_gradients.groupby("layer"))
    ]
    whole = _line(
        run.curves,
        "gradient_norm",
        _("total"),
        color=faint(palette.BEFORE, 0.7),
        shown="%{y:.3g}",
        _=_,
    )
    axis = {"title": _("gradient norm"), "type": "log", "exponentformat": "power", "dtick": 1}
    title = _("Gradient norm, before clipping")
    return _picture([whole, *layers], steps, title=title, height=LOW, yaxis=axis, _=_)


def speed(run: Told, steps: Steps, _: Translate) -> Picture:
    """How many tokens pass a second."""
    name = _("tokens per second")
    line = _line(
        run.curves, "tokens_per_second", name, color=palette.LEARNED, shown="%{y:,.0f}", _=_
    )
    axis = {"title": name, "rangemode": "tozero"}
    return _picture([line], steps, title=_("Speed"), height=LOW, yaxis=axis, _=_)


def _losses(run: Told, index: int, n_runs: int, _: Translate) -> list[dict[str, Any]]:
    dash = DASHES[index]
    raw = _("each batch")
    return [
        _line(run.curves, "loss", raw, color=faint(palette.LEARNED, 0.28), legend=n_runs == 1, _=_),
        _line(
            run.curves,
            "smoothed",
            _named(_("smoothed"), run, n_runs),
            color=palette.LEARNED,
            dash=dash,
            width=2.5,
            _=_,
        ),
        _line(
            run.evaluations,
            "held_out_loss",
            _named(_("validation"), run, n_runs),
            color=palette.HELD_OUT,
            dash=dash,
            width=2.5,
            marked=True,
            _=_,
        ),
        *_ahead(run, n_runs, _),
    ]


def _ahead(run: Told, n_runs: int, _: Translate) -> list[dict[str, Any]]:
    """Held out, of each module that predicts further ahead: the farther, the fainter."""
    text = _("validation, {n} tokens ahead")
    return [
        _line(
            table,
            "loss",
            _named(text.format(n=module + 2), run, n_runs),
            color=faint(palette.HELD_OUT, 0.75**module),
            dash="dash",
            marked=True,
            _=_,
        )
        for module, (_number, table) in enumerate(run.ahead.groupby("module"))
    ]


def _named(what: str, run: Told, n_runs: int) -> str:
    return what if n_runs == 1 else f"{what} · {plain(run.name)}"


def _line(
    table: pd.DataFrame,
    column: str,
    name: str,
    *,
    color: str,
    dash: str = "solid",
    width: float = 1.5,
    marked: bool = False,
    legend: bool = True,
    shown: str = "%{y:.3f}",
    _: Translate,
) -> dict[str, Any]:
    is_number = np.isfinite(table[column].to_numpy(float))
    step = _("step {n}").format(n="%{x:,}")
    return marks.line(
        table["step"][is_number].tolist(),
        table[column][is_number].tolist(),
        mode="lines+markers" if marked else "lines",
        name=name,
        showlegend=legend,
        line={"color": color, "width": width, "dash": dash},
        marker={"color": color, "size": 7},
        hovertemplate=f"{name}<br>{step}: {shown}<extra></extra>",
    )


def _top(runs: Sequence[Told], guess: float) -> float:
    """A little above the worst that is no outlier, guessing included."""
    columns = [
        column
        for run in runs
        for column in (run.curves["smoothed"], run.evaluations["held_out_loss"], run.ahead["loss"])
    ]
    found = np.concatenate([column.to_numpy(float) for column in columns])
    found = found[np.isfinite(found)]
    return 1.12 * max(guess, found.max(initial=0))


def step_axis(steps: Steps, _: Translate) -> dict[str, Any]:
    """The steps from the first to the last, whatever has been told so far."""
    axis = {"title": _("step"), "automargin": False}
    if steps.is_log:
        return {**axis, "type": "log", "range": [-0.05, math.log10(max(steps.most, 2)) + 0.03]}
    return {**axis, "range": [-0.01 * steps.most, 1.01 * steps.most]}


def _picture(
    traces: list[dict[str, Any]],
    steps: Steps,
    *,
    title: str,
    height: int,
    yaxis: dict[str, Any],
    is_named: bool = False,
    _: Translate,
    **more: Any,
) -> Picture:
    """Of the same height whatever was told, so that nothing below it moves."""
    top = _top_margin(traces) if is_named else TITLE + 12
    return figure(
        traces,
        title=title,
        height=height + top,
        margin=(top, BOTTOM),
        xaxis=step_axis(steps, _),
        yaxis={"zeroline": False, **yaxis},
        **more,
        **(legend() if is_named else {}),
    )


def _top_margin(traces: list[dict[str, Any]]) -> int:
    """Room for a line of short names, or for long ones below each other."""
    names = [trace["name"] for trace in traces if trace["showlegend"]]
    is_short = max(map(len, names), default=0) < LONG_NAME
    return TITLE_AND_LEGEND if is_short else TITLE + ROW * len(names)
