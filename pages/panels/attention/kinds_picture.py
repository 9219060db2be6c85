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
        _line(table, kind, "value", _named(_(name), exponents.get(kind)), f"%{{y:,.3~g}} {unit}")
        for kind, name in NAMES.items()
    ]
    return figure(
        traces,
        title=_("Time for one pass") if is_time else _("Peak memory"),
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
        _line(table, kind, "pairs", f"{_(name)}: {growth_of[kind]}", "%{y:,}")
        for kind, name in NAMES.items()
    ]
    return figure(
        lines,
        title=_("Pairs of tokens that one head scores"),
        **room_under_legend(PAIRS, BOTTOM),
        right=half_of_last(lengths),
        xaxis=log_sizes(_("n · tokens (logarithmic)"), lengths),
        yaxis={"title": _("pairs (logarithmic)"), "type": "log", "dtick": 1, "tickformat": "~s"},
    )


def _room(values: pd.Series) -> list[float]:
    """The logarithmic range of the values, and above them as much again for the legend."""
    least, most = math.log10(values.min()), math.log10(values.max())
    return [least - 0.2, most + 0.2 + 0.35 * (most - least)]


def _named(name: str, exponent: float | None) -> str:
    return name if exponent is None else f"{name}: n<sup>{exponent:.2f}</sup>"


def _line(table: pd.DataFrame, kind: str, column: str, name: str, said: str) -> dict[str, Any]:
    """One way to attend against the length; `said` of a point under the cursor."""
    rows, (color, dash, symbol) = table[table["kind"] == kind], LOOKS[kind]
    return marks.line(
        rows["seq_len"].tolist(),
        rows[column].tolist(),
        mode="lines+markers",
        name=name,
        line={"color": color, "dash": dash, "width": 2},
        marker={"symbol": symbol, "size": 8, "color": color},
        hovertemplate="n = %{x:,}: " + said + "<extra>" + name + "</extra>",
    )
