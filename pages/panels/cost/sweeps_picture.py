"""What was measured as one size doubles: lines with their spread, and what theory says."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from blocks.cost.sweep import Swept
from blocks.cost.sweep_facts import FormulaFacts, SweepFacts
from blocks.model.faults import N_
from pages.figures import marks, palette
from pages.figures.axes import AXIS, half_of_last, log_sizes, plot_room
from pages.figures.numbers import readable
from pages.figures.table_rows import Row, each_row
from pages.figures.theme import TITLE, Picture, Translate, faint, figure

HEIGHT, BOTTOM, MOST_DECADES = 380, 48, 2
FORMATS = 190  # pixels of the plot of number formats
ROOM_FOR_NAME = 10  # times the spacing, from line to line
SWEPT_NAMES = {
    "tokens": N_("n · tokens"),
    "d_model": "d_model",
    "n_heads": "n_heads",
    "batch": N_("batch"),
}
LOOKS = (
    (palette.ATTENTION, "circle"),
    (palette.FEED_FORWARD, "square"),
    (palette.CROSS_ATTENTION, "diamond"),
    (palette.RESIDUAL, "triangle-up"),
)


def time(facts: SweepFacts, *, _: Translate) -> Picture:
    """The time of one layer on two logarithmic axes, dashed where it would grow as FLOPs do."""
    table = facts.rows.assign(value=facts.rows["seconds"], theory=facts.theory)
    names = _names(facts, "seconds", _)
    return _sweep(
        facts.what,
        table,
        names,
        title=_("Time of one layer"),
        unit="s",
        y_title=_("time (logarithmic)"),
        _=_,
    )


def memory(facts: SweepFacts, *, _: Translate) -> Picture:
    """The most memory at once, beyond weights and input."""
    value = facts.rows["bytes"]
    table = facts.rows.assign(value=value, low=value, high=value, theory=math.nan)
    names = _names(facts, "bytes", _)
    return _sweep(
        facts.what,
        table,
        names,
        title=_("Peak memory"),
        unit="B",
        y_title=_("bytes (logarithmic)"),
        _=_,
    )


def flops(facts: FormulaFacts, *, _: Translate) -> Picture:
    """The FLOPs of one layer by formula, before its time is measured."""
    value = facts.rows["flops"]
    table = facts.rows.assign(series="flops", value=value, low=value, high=value, theory=math.nan)
    name = _("by formula")
    if facts.exponent is not None:
        name = _("{name}, exponent {slope:.2f}").format(name=name, slope=facts.exponent)
    return _sweep(
        facts.what,
        table,
        {"flops": name},
        title=_("FLOPs of one layer"),
        unit="",
        y_title=_("FLOPs (logarithmic)"),
        _=_,
    )


def formats(facts: pd.DataFrame, *, _: Translate) -> Picture:
    """How far each number format reaches, and how finely it divides; each named at its line."""
    lines = [
        _reach(row, look[0], _named_at(row.step, facts["step"]), _)
        for row, look in zip(each_row(facts), LOOKS, strict=False)
    ]
    finest, coarsest = facts["step"].min(), facts["step"].max()
    return figure(
        lines,
        title=_("Range and precision of number formats"),
        **plot_room(FORMATS, AXIS),
        xaxis={
            **_powers(_("magnitude of the number (logarithmic)")),
            "range": [-41, 41],
            "dtick": 10,
        },
        yaxis={
            **_powers(_("spacing ÷ number")),
            "range": [math.log10(finest) - 1, math.log10(coarsest) + 1],
            "dtick": 2,
        },
    )


def _named_at(step: float, steps: Iterable[float]) -> str:
    """Above its line, or below it where there is another line close above."""
    is_below = any(1 < other / step < ROOM_FOR_NAME for other in steps)
    return "bottom center" if is_below else "top center"


def _powers(title: str) -> dict[str, Any]:
    return {"title": title, "type": "log", "exponentformat": "power", "zeroline": False}


def _reach(row: Row, color: str, place: str, _: Translate) -> dict[str, Any]:
    """From the least number to the largest, the spacing between neighbours at most this share."""
    said = _("{format}: {least} to {largest}, relative spacing up to {step}").format(
        format=row.format,
        least=readable(row.least),
        largest=readable(row.largest),
        step=readable(row.step),
    )
    return marks.line(
        [row.least, 1, row.largest],
        [row.step] * 3,
        mode="lines+markers+text",
        text=["", row.format, ""],
        textposition=place,
        cliponaxis=False,
        line={"color": color, "width": 6},
        marker={"color": color, "size": [12, 18, 12], "opacity": [1, 0, 1]},  # room under the name
        **marks.told([said] * 3),
    )


def _names(facts: SweepFacts, of: str, _: Translate) -> dict[str, str]:
    """Each line with its slope, for the legend."""
    slopes, text = facts.exponents[of], _("{name}, exponent {slope:.2f}")
    return {
        name: text.format(name=name, slope=slopes[name]) if name in slopes else name
        for name in facts.rows["series"].drop_duplicates()
    }


def _sweep(
    what: Swept,
    table: pd.DataFrame,
    names: Mapping[str, str],
    *,
    title: str,
    y_title: str,
    unit: str,
    _: Translate,
) -> Picture:
    """A line for each series. `table`: series, size, value, low, high, theory (NaN: none)."""
    sizes = sorted(table["size"].unique().tolist())
    between = _room(table)
    lines = [
        trace
        for (series, name), look in zip(names.items(), LOOKS, strict=False)
        for rows in [table[table["series"] == series].sort_values("size")]
        for trace in (_theory(rows, look[0]), _line(rows, name, look, unit))
    ]
    if table["theory"].notna().any():
        lines.append(_key(_("theory, through the last point")))
    x_title = _("{what} (logarithmic)").format(what=_(SWEPT_NAMES[what]))
    return figure(
        lines,
        title=title,
        height=HEIGHT,
        margin=(TITLE, BOTTOM),
        right=half_of_last(sizes),
        showlegend=True,
        legend={"x": 0.01, "y": 0.99, "yanchor": "top"},  # lines rise to the right
        xaxis={**log_sizes(x_title, sizes), "tickangle": 0},
        yaxis={
            "title": y_title,
            "type": "log",
            "tickformat": "~s",
            "ticksuffix": unit,
            "dtick": 1 if between[1] - between[0] > MOST_DECADES else "D2",
            "range": between,
        },
    )


def _room(table: pd.DataFrame) -> list[float]:
    """The logarithmic range of all values, and above them room for the legend."""
    values = pd.concat([table["low"], table["high"], table["theory"]]).dropna()
    least, most = math.log10(values.min()), math.log10(values.max())
    return [least - 0.15, most + 0.35 + 0.45 * max(0.6, most - least)]


def _line(rows: pd.DataFrame, name: str, look: tuple[str, str], unit: str) -> dict[str, Any]:
    color, symbol = look
    return marks.line(
        rows["size"].tolist(),
        rows["value"].tolist(),
        mode="lines+markers",
        name=name,
        error_y={
            "type": "data",
            "symmetric": False,
            "array": (rows["high"] - rows["value"]).tolist(),
            "arrayminus": (rows["value"] - rows["low"]).tolist(),
            "color": color,
            "thickness": 1.5,
        },
        line={"color": color, "width": 2},
        marker={"symbol": symbol, "size": 8, "color": color},
        hovertemplate="%{x:,}: %{y:.3~s}" + unit + "<extra></extra>",
    )


def _theory(rows: pd.DataFrame, color: str) -> dict[str, Any]:
    rows = rows.dropna(subset=["theory"])
    return marks.line(
        rows["size"].tolist(),
        rows["theory"].tolist(),
        line={"color": faint(color, 0.7), "width": 2, "dash": "dash"},
        hoverinfo="skip",
        showlegend=False,
    )


def _key(name: str) -> dict[str, Any]:
    return marks.line(
        [None], [None], name=name, line={"color": palette.RESIDUAL, "width": 2, "dash": "dash"}
    )
