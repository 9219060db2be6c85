"""A chart drawn by Plotly: each word of its grammar as marks and axes."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from pages.figures import marks, palette
from pages.figures.axes import (
    LEGEND_ROW,
    log_axis,
    log_sizes,
    plot_room,
    room_for_legend,
    room_under_legend,
    row_names,
)
from pages.figures.chart import ROW, Axis, Chart, Ground, Kind, Legend, Level, Series, Words
from pages.figures.described import HEADING
from pages.figures.theme import EDGE, Picture, faint, figure, plain, small
from pages.figures.token_axis import columns, label_room, slanted
from pages.figures.weights import outline

MOST_NAMES = 24  # tokens that have their names under an axis
SHORT_LEGEND = 3  # names that stand in one line
ABOVE = 18  # pixels above a plot for what is noted there
BELOW = 44  # pixels under it: ticks and a title
GAP, MOST_GAPS = 0.08, 0.25  # of the height, between two plots, and between all of many
FEW = 64  # numbers that are sent as they are; more are packed
PLACE = re.compile(r"\{(\w+)(:[^}]*)?\}")
TRIMMED = re.compile("g$")  # D3 keeps trailing noughts, Python does not


def drawn(chart: Chart) -> Picture:
    """The picture of a chart."""
    layout: dict[str, Any] = {}
    mode = "overlay" if any(each.column for each in chart.series) else chart.stack
    if any(each.kind is Kind.BARS for each in chart.series):
        layout = {"barmode": mode, **({} if chart.gap is None else {"bargap": chart.gap})}
    x, y = _plots(chart.x_axes), _plots(chart.y_axes, is_down=True)
    if len(y) > 1:
        x[0]["anchor"] = _called("y", len(y) - 1)
    layout |= {_called("x", i, "axis"): each for i, each in enumerate(x)}
    layout |= {_called("y", i, "axis"): each for i, each in enumerate(y)}
    return figure(
        [trace for each in chart.series for trace in _Marks(chart, each).traces()],
        title=chart.title,
        **_room(chart),
        **layout,
        shapes=[
            *map(_ground, chart.grounds),
            *map(_level, chart.levels),
            *({**outline(0, i - 0.5, 1, 1), "xref": "paper"} for i in chart.outlined),
        ],
        annotations=[
            *map(_words, chart.words),
            *(_level_name(each, chart) for each in chart.levels if each.name),
            *(_heading(*each) for each in zip(chart.y_axes, y, strict=True) if each[0].is_heading),
        ],
    )


def _called(letter: str, i: int, more: str = "") -> str:
    """An axis as Plotly counts them: y, y2, y3."""
    return f"{letter}{more}{i + 1 if i else ''}"


def _room(chart: Chart) -> dict[str, Any]:
    """Height, margins and the place of the legend."""
    names = [each for each in chart.series if each.look.name and each.in_legend]
    noted = [*(each.x for each in chart.words), *(each.x for each in chart.levels if each.name)]
    above = 0 if set(noted) <= {None} and not chart.y_axes[0].is_heading else ABOVE
    legend = chart.legend or (Legend.ABOVE if names else Legend.NONE)
    if legend is Legend.FOOT:
        return room_for_legend(chart.tall, len(names), above=above)
    above += LEGEND_ROW if len(names) > SHORT_LEGEND else 0
    x = chart.x_axes[0]
    if x.is_above and x.said:
        above += label_room([*map(x.said, x.ticks)])
    below = label_room(x.tokens) if x.tokens else BELOW if x.title else EDGE
    return (room_under_legend if legend is Legend.ABOVE else plot_room)(
        chart.tall, below, above=above
    )


def _plots(axes: Sequence[Axis], *, is_down: bool = False) -> list[dict[str, Any]]:
    """The axes in one direction; several share it, from the left or from the top."""
    if len(axes) == 1:
        return [_axis(axes[0], is_y=is_down)]
    of_all, found, start = sum(axis.share for axis in axes), [], 0.0
    gap = min(GAP, MOST_GAPS / len(axes))
    for axis in axes:
        end = start + axis.share / of_all * (1 - gap * (len(axes) - 1))
        ends = [1 - end, 1 - start] if is_down else [start, end]
        found.append(
            {**_axis(axis, is_y=is_down), "domain": [round(max(0.0, min(1.0, e)), 6) for e in ends]}
        )
        start = end + gap
    return [{**each, "anchor": "x" if is_down else "y"} for each in found]


def _axis(axis: Axis, *, is_y: bool) -> dict[str, Any]:
    if axis.tokens:
        ends = axis.ends or (-0.6, len(axis.tokens) - 0.4)
        return slanted(axis.tokens, MOST_NAMES, range=[*ends])
    found: dict[str, Any] = {"title": axis.title} if axis.title and not axis.is_heading else {}
    if axis.names:
        along = {} if is_y else {"range": [-0.5, len(axis.names) - 0.5], "tickangle": 0}
        return {**row_names(axis.names), **along, **found, "showgrid": False, "zeroline": False}
    if axis.is_log and axis.ends:
        written = axis.said or "{:g}".format
        marked = log_axis(*sorted(axis.ends), room=axis.room, said=written)
        if axis.ends[0] > axis.ends[1]:
            marked["range"].reverse()
        if axis.ticks:
            marked |= {"tickvals": [*axis.ticks], "ticktext": [*map(written, axis.ticks)]}
        return {**found, **marked}
    if axis.is_log:
        sizes = log_sizes(axis.title, axis.ticks)
        return {**sizes, "ticktext": [*map(axis.said, axis.ticks)]} if axis.said else sizes
    if axis.said and len(axis.ticks):
        found["ticktext"] = [axis.said(each) for each in axis.ticks]
    if axis.is_above:
        found |= {"side": "top", "tickangle": -90, "automargin": False}
    given = {
        "tickformat": _digits(axis) or None,
        "ticksuffix": axis.unit or None,
        "range": list(axis.ends) if axis.ends else None,
        "rangemode": "tozero" if axis.from_0 else None,
        "tickvals": list(axis.ticks) or None,
        "nticks": axis.n_ticks or None,
        "scaleanchor": "x" if axis.is_as_wide else None,
        **(
            {"zeroline": True, "zerolinecolor": faint(palette.RESIDUAL, 0.6)}
            if axis.has_zero
            else {}
        ),
    }
    return {**found, **{name: value for name, value in given.items() if value is not None}}


def _digits(axis: Axis) -> str:
    return f".{axis.n_decimals}%" if axis.is_share else axis.digits or ("~s" if axis.unit else "")


class _Marks:
    """What stands for the rows of a series."""

    def __init__(self, chart: Chart, series: Series) -> None:
        self.chart, self.series, self.look = chart, series, series.look
        self.rows = chart.table_of(series)
        self.hover = chart.hover if series.hover is None else series.hover
        self.click = chart.click if series.click is None else series.click
        self.along = chart.place.column
        place = (series.value, self.along) if chart.lies else (self.along, series.value)
        self.sent = {**dict(zip(place, "xy", strict=True)), "x": "x", "y": "y"}
        self.x, self.y = place

    def traces(self) -> Iterator[dict[str, Any]]:
        """The marks, and what is hovered in their place."""
        series, letter = self.series, "x" if self.chart.lies else "y"
        on: dict[str, Any] = {}
        if series.plot:
            on[f"{letter}axis"] = _called(letter, series.plot)
        if (axis := self.chart.measure(series)).is_heading:
            on["meta"] = {HEADING: axis.title}
        if series.kind is Kind.BAND:
            ends = self.rows[series.value], self.rows[series.to]
            ground = marks.band(self.rows[self.along], *ends, str(self.look.color))
            yield {**ground, "showlegend": False, **on}
        elif not series.column:
            yield {**self.seen(), **on, **self.told(), **self.clicked()}
        else:
            yield {**self.seen(), **on, "hoverinfo": "skip"}
            given = self.rows[self.click[0]] if self.click else self.rows[ROW]
            unseen = columns(self.filled(self.hover), [*map(int, given)], series.column)
            foot = min((0.0, *(self.chart.measure(series).ends or ())))
            unseen |= {"base": foot, "y": [series.column - foot] * len(given)} if foot else {}
            if self.chart.lies:
                unseen |= {"x": unseen["y"], "y": unseen["x"], "orientation": "h"}
            yield {**unseen, **on}

    def seen(self) -> dict[str, Any]:
        """Where they stand, what they look like, and what is written at them."""
        series = self.series
        found = {"x": _sent(self.rows[self.x]), "y": _sent(self.rows[self.y])}
        found |= self.bars() if series.kind is Kind.BARS else self.points()
        if self.look.name:
            found["name"] = self.look.name
        if len(self.chart.y_axes) > 1:
            found["legendgroup"] = self.look.name  # one click hides it in all plots
        if not series.in_legend:
            found["showlegend"] = False
        if series.text:
            found["text"] = self.filled(series.text)
        if series.error:
            spread = {"type": "data", "array": self.rows[series.error].tolist()}
            found["error_y"] = {**spread, "color": self.look.color, "thickness": 1.2}
        return found

    def bars(self) -> dict[str, Any]:
        """Bars, their numbers beyond their ends."""
        look = self.look
        edge = {"line": {"color": look.edge, "width": look.width}} if look.edge else {}
        lies = {"orientation": "h"} if self.chart.lies else {}
        text = {"textposition": "outside", "cliponaxis": False} if self.series.text else {}
        return {"type": "bar", **lies, **text, "marker": {"color": _listed(look.color), **edge}}

    def points(self) -> dict[str, Any]:
        """A line, marks or both."""
        look, is_line = self.look, self.series.kind is Kind.LINE
        has_marks, has_text = bool(look.symbol) or not is_line, bool(self.series.text)
        modes = {"lines": is_line, "markers": has_marks, "text": has_text}
        found: dict[str, Any] = {"mode": "+".join(name for name, is_on in modes.items() if is_on)}
        found["type"] = "scatter" if is_line else marks.points_of(len(self.rows))
        if has_text:
            found["textposition"] = _listed(self.series.text_at)
        if is_line:
            line = {"color": look.color, "width": look.width}
            more = {"dash": look.dash, "shape": look.shape}
            found["line"] = line | {name: value for name, value in more.items() if value}
        if has_marks:
            marker = {"size": _listed(look.size), "color": _listed(look.color)}
            symbol = {"symbol": _listed(look.symbol)} if look.symbol else {}
            edge = {"line": {"width": 1, "color": look.edge}} if look.edge else {}
            found["marker"] = {**marker, **symbol, **edge}
        return {**found, **({"fill": "tozeroy", "fillcolor": look.fill} if look.fill else {})}

    def told(self) -> dict[str, Any]:
        """What is said under the cursor: a template, where all it names is sent anyway."""
        if not self.hover:
            return {"hoverinfo": "skip"}
        sent = {name: f"customdata[{i}]" for i, name in enumerate(self.click)} | self.sent
        hover = self.hover.replace("{name}", self.look.name)
        if not {name for name, _format in PLACE.findall(hover)} <= {*sent}:
            return marks.told(self.filled(hover))

        def place(found: re.Match[str]) -> str:
            return f"%{{{sent[found[1]]}{TRIMMED.sub('~g', found[2] or '')}}}"

        is_one = len(self.chart.series) == 1 or hover != self.hover or not self.series.in_legend
        extra = "" if is_one else plain(self.look.name)
        return {"hovertemplate": f"{PLACE.sub(place, hover)}<extra>{extra}</extra>"}

    def filled(self, template: str) -> list[str]:
        """The template once for each row."""
        records: list[dict[Any, Any]] = self.rows.to_dict("records")
        own = {"name": self.look.name}
        places = (own | {"x": row[self.x], "y": row[self.y]} | row for row in records)
        return [template.format(**place) for place in places]

    def clicked(self) -> dict[str, Any]:
        """What a click returns, from marks that stay as they are."""
        if not self.click:
            return {}
        given = self.rows[[*self.click]].to_numpy()
        steady = {} if self.series.kind is Kind.LINE else marks.steady()
        return {"customdata": small(given) if len(given) > FEW else given.tolist(), **steady}


def _listed(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else list(value)


def _sent(column: pd.Series) -> Any:
    """As few bytes as the eye can tell apart; of a few, the numbers themselves."""
    if column.dtype.kind == "f" and len(column) > FEW:
        return small(column.to_numpy())
    return [None if value != value else value for value in column.tolist()]


def _ground(ground: Ground) -> dict[str, Any]:
    return marks.ground(ground.x0, ground.x1, ground.color)


def _level(level: Level) -> dict[str, Any]:
    line = marks.dashed(level.color, dash=level.dash)
    if level.x is not None:
        return marks.upright(level.x, layer="below", line=line)
    return marks.level(level.y or 0.0, line=line, yref=_called("y", level.plot))


def _level_name(level: Level, chart: Chart) -> dict[str, Any]:
    """At one of its ends, or above an upright one."""
    axis = chart.x_axes[0] if level.y is None else chart.y_axes[level.plot]
    value = float(level.x or 0) if level.y is None else level.y
    place, name = math.log10(value) if axis.is_log else value, plain(level.name)
    if level.y is None:
        return _words(Words(name, place)) | ({"xanchor": "right"} if level.is_named_left else {})
    right = {"x": 1, "xanchor": "right"} if level.is_named_right else {}
    return marks.level_name(place, name, yref=_called("y", level.plot), **right)


def _heading(axis: Axis, drawn: dict[str, Any]) -> dict[str, Any]:
    return marks.level_name(
        drawn.get("domain", (0, 1))[1], axis.title, yref="paper", font={"size": 13}
    )


def _words(note: Words) -> dict[str, Any]:
    if note.x is None:
        corner = {"x": 1, "xref": "paper", "xanchor": "right", "y": 0.98, "yref": "paper"}
        return {**corner, "yanchor": "top", "text": note.text}
    place = {"x": note.x, "y": 1, "yref": "paper", "yanchor": "bottom", "xanchor": "left"}
    return {**place, "text": note.text}
