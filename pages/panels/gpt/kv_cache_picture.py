"""The cache of keys and values: what it takes, and what it saves."""

from typing import Any

import pandas as pd

from blocks.inspection.cache_growth import CacheFacts, CacheTimes
from pages.figures import marks, palette
from pages.figures.theme import EDGE, TITLE_AND_LEGEND, Picture, Translate, figure, legend

HEIGHT, LABELS = 330, 20


def growth(facts: CacheFacts, *, _: Translate) -> Picture:
    """Bytes of the cache over the tokens of the text: measured as dots, by formula as a line."""
    steps = facts.steps
    x = steps["n_read"].tolist()
    lines = [_line(x, steps["formula"], _("formula"), palette.ATTENTION, "solid")]
    attends = facts.run.config.attends
    if facts.times_saved > 1 or not attends:
        name = _("formula, with MHA") if attends else _("formula, with attention")
        lines.append(_line(x, steps["every_head"], name, palette.BEFORE, "dot"))
    measured = marks.dots(
        x,
        steps["measured"].tolist(),
        name=_("measured"),
        marker={"color": palette.ATTENTION, "size": 7},
        customdata=steps[["n_kept"]].to_numpy().tolist(),
        hovertemplate=_("{tokens} tokens kept: {bytes} bytes").format(
            tokens="%{customdata[0]}", bytes="%{y:,}"
        )
        + "<extra></extra>",
    )
    return _over_tokens([*lines, measured], _("Size of the cache"), _("bytes"), ",", _)


def times(facts: CacheTimes, *, _: Translate) -> Picture:
    """Milliseconds for each token, with and without the cache: measured."""
    steps = facts.steps
    x = steps["n_read"].tolist()
    traces = [
        _points(x, steps["without"], _("without the cache"), palette.BEFORE, "diamond"),
        _points(x, steps["with_cache"], _("with the cache"), palette.ATTENTION, "circle"),
    ]
    title = _("Time per token with and without the cache")
    return _over_tokens(traces, title, _("milliseconds per token"), ".3~f", _)


def _line(x: list[int], y: pd.Series, name: str, color: str, dash: str) -> dict[str, Any]:
    line = {"color": color, "width": 1.5, "dash": dash}
    drawn = marks.line(x, y.tolist(), line=line)
    return {**drawn, "name": name, "hoverinfo": "skip"}


def _points(x: list[int], y: pd.Series, name: str, color: str, symbol: str) -> dict[str, Any]:
    return marks.line(
        x,
        y.round(4).tolist(),
        mode="lines+markers",
        name=name,
        line={"color": color, "width": 1},
        marker={"size": 6, "symbol": symbol},
        hovertemplate="%{y:.2f} ms<extra></extra>",
    )


def _over_tokens(
    traces: list[dict[str, Any]], title: str, unit: str, digits: str, _: Translate
) -> Picture:
    return figure(
        traces,
        title=title,
        height=HEIGHT,
        margin=(TITLE_AND_LEGEND + LABELS, EDGE),
        **legend(),
        xaxis={"title": _("tokens read"), "tickformat": "d"},
        yaxis={"title": unit, "tickformat": digits, "rangemode": "tozero"},
    )
