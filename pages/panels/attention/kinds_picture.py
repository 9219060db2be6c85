"""How the cost of ways to attend grows with the length, on two logarithmic axes."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from blocks.cost.attention_time import GrowthFacts
from blocks.model.attention_kinds import AttentionKind
from blocks.model.faults import N_
from pages.figures import marks, palette
from pages.figures.axes import half_of_last, log_sizes, room_under_legend
from pages.figures.theme import TITLE, Picture, Translate, figure

HEIGHT, BOTTOM, PAIRS = 400, 44, 240
LOOKS = {
    "full": (palette.ATTENTION, "solid", "circle"),
    "fused": (palette.RESIDUAL, "dash", "circle-open"),
    "window": (palette.FEED_FORWARD, "solid", "square"),
    "strided": (palette.NORM, "solid", "diamond"),
    "linear": (palette.EMBEDDING, "solid", "triangle-up"),
}


NAMES = {
    AttentionKind.FULL: N_("full attention"),
    AttentionKind.FUSED: N_("fused"),
    AttentionKind.WINDOW: N_("window"),
    AttentionKind.STRIDED: N_("strided"),
    AttentionKind.LINEAR: N_("linear"),
}


def growth(facts: GrowthFacts, *, _: Translate) -> Picture:
    """Time or memory against the length: a line for each way, its exponent in the legend."""
    is_time = facts.of == "milliseconds"
    scale, unit = (1, "ms") if is_time else (1e6, "MB")
    table, exponents = facts.table, facts.exponents(facts.of)
    table = table.assign(value=table[facts.of] / scale)
    lengths = sorted(table["seq_len"].unique().tolist())
    traces = [
        _line(table[table["kind"] == kind], _named(_(name), exponents.get(kind)), LOOKS[kind], unit)
        for kind, name in NAMES.items()
    ]
    return figure(
        traces,
        title=_("Time of one pass") if is_time else _("Peak memory"),
        height=HEIGHT,
        margin=(TITLE, BOTTOM),
        right=half_of_last(lengths),
        showlegend=True,
        legend={"x": 0.01, "y": 0.99, "yanchor": "top"},  # lines rise to the right
        xaxis=log_sizes(_("n · tokens (logarithmic)"), lengths),
        yaxis={"title": f"{unit} (log)", "type": "log", "dtick": 1, "range": _room(table["value"])},
    )


def pairs(table: pd.DataFrame, growth_of: Mapping[str, str], *, _: Translate) -> Picture:
    """What each way scores, counted, against the length; each line named where it ends."""
    lengths = sorted(table["seq_len"].unique().tolist())
    lines = [
        _counted(rows, f"{_(name)}: {growth_of[kind]}", LOOKS[kind])
        for kind, name in NAMES.items()
        for rows in [table[table["kind"] == kind]]
    ]
    return figure(
        lines,
        title=_("Pairs of tokens that one head scores"),
        **room_under_legend(PAIRS, BOTTOM),
        right=half_of_last(lengths),
        xaxis=log_sizes(_("n · tokens (logarithmic)"), lengths),
        yaxis={"title": _("pairs (logarithmic)"), "type": "log", "dtick": 1, "tickformat": "~s"},
    )


def _counted(rows: pd.DataFrame, name: str, look: tuple[str, str, str]) -> dict[str, Any]:
    color, dash, symbol = look
    return marks.line(
        rows["seq_len"].tolist(),
        rows["pairs"].tolist(),
        mode="lines+markers",
        name=name,
        line={"color": color, "dash": dash, "width": 2},
        marker={"symbol": symbol, "size": 8, "color": color},
        hovertemplate="n = %{x:,}: %{y:,}<extra>" + name + "</extra>",
    )


def _room(values: pd.Series) -> list[float]:
    """The logarithmic range of the values, and above them as much again for the legend."""
    least, most = math.log10(values.min()), math.log10(values.max())
    return [least - 0.2, most + 0.2 + 0.35 * (most - least)]


def _named(name: str, exponent: float | None) -> str:
    return name if exponent is None else f"{name}: n<sup>{exponent:.2f}</sup>"


def _line(rows: pd.DataFrame, name: str, look: tuple[str, str, str], unit: str) -> dict[str, Any]:
    color, dash, symbol = look
    return marks.line(
        rows["seq_len"].tolist(),
        rows["value"].tolist(),
        mode="lines+markers",
        name=name,
        line={"color": color, "dash": dash, "width": 2},
        marker={"symbol": symbol, "size": 8, "color": color},
        hovertemplate="n = %{x:,}: %{y:,.3~g} " + unit + "<extra>" + name + "</extra>",
    )
