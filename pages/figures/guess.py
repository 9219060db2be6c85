"""A guess and the truth in one picture, with the gap between them."""

from collections.abc import Mapping, Sequence
from math import isinf
from typing import Any, NamedTuple

import numpy as np

from blocks.lessons.answers import Answer, ranked
from blocks.lessons.lesson import Ask, AskKind
from pages.figures import guess_cell, marks, palette
from pages.figures.guess_cell import GUESS, TRUTH, Table
from pages.figures.marks import line, targets
from pages.figures.numbers import with_unit
from pages.figures.theme import Picture, Translate, figure, legend, token_label

HEIGHT, ROW, MOST_BARS = 150, 22, 8
THIN = 0.02  # of the longest bar: Plotly writes nothing on a thinner one
CLICKED_HEIGHT, N_LEVELS = 320, 21
NARROW, LEAST_WIDTH = 0.03, 6  # of the axis; pixels, since a narrower range would not be seen
TARGET = 8  # less than a level is high: of two that overlap, Plotly takes the later one
ANYWHERE = -1  # a click means the nearest point, however far it is


class Guessed(NamedTuple):
    """A question with its answer.

    `labels` name the tokens where one of them is asked for; of a map the columns, `rows` its rows.
    """

    ask: Ask
    answer: Answer
    labels: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()


def picture(found: Guessed, *, _: Translate) -> Picture:
    """What was guessed beside what was measured."""
    match found.ask.kind:
        case AskKind.CURVE:
            return _curve(found, _)
        case AskKind.CELL:
            return guess_cell.marked(_table(found), found.answer, _=_)
        case AskKind.ORDER | AskKind.TOKEN:
            return _bars(found, _)
    return _on_a_line(found, _)


def _table(found: Guessed) -> Table:
    """Where the guess was made; of another text than now, what is there has only numbers."""
    return Table(found.rows, found.labels).of_size(*map(int, found.answer.truth[2:]))


def curve_so_far(ask: Ask, guess: Sequence[float | None], *, _: Translate) -> Picture:
    """The curve as it is being guessed; a click gives [number of the x, y] for the next guess.

    Where nothing is guessed yet there is no point.
    """
    levels = np.linspace(ask.least, ask.most, N_LEVELS).round(6).tolist()
    places = [(i, y) for i in range(len(ask.xs)) for y in levels]
    names = _names(ask.xs)
    look = {"hovertemplate": "%{x}: %{y:.3g}<extra></extra>", "showlegend": False}
    x, y = [names[i] for i, _y in places], [y for _i, y in places]
    clicks = targets(x, y, places, TARGET, **look)
    drawn = {**_guess_line(ask, guess, _), "hoverinfo": "skip"}
    found = _lines(ask, [drawn, clicks], _("Your guess: place each point"))
    return found.with_layout(hoverdistance=ANYWHERE, height=CLICKED_HEIGHT)


def _curve(found: Guessed, _: Translate) -> Picture:
    ask, answer = found.ask, found.answer
    traces = [_guess_line(ask, answer.guess, _)] if answer.was_guessed else []
    truth = line(
        _names(ask.xs),
        answer.truth,
        name=_("measured"),
        mode="lines+markers",
        line={"color": TRUTH, "width": 3},
    )
    return _lines(ask, [*traces, truth], _("Guess and measurement"))


def _guess_line(ask: Ask, guess: Sequence[float | None], _: Translate) -> dict[str, Any]:
    dashed = {"color": GUESS, "width": 2, "dash": "dot"}
    return line(_names(ask.xs), guess, name=_("guessed"), mode="lines+markers", line=dashed)


def _names(xs: Sequence[float]) -> list[str]:
    return [f"{x:g}" for x in xs]


def _lines(ask: Ask, traces: list[dict[str, Any]], title: str) -> Picture:
    return figure(
        traces,
        title=title,
        margin=(64, 40),
        height=HEIGHT + 60,
        xaxis={"title": ask.x_name, "type": "category"},
        yaxis={"title": ask.unit, "range": _range_of(ask, traces)},
        **legend(),
    )


def _range_of(ask: Ask, traces: list[dict[str, Any]]) -> list[float]:
    """What can be guessed, and what was measured beyond it; no point is cut at an end."""
    values = [float(y) for trace in traces for y in trace["y"] if y is not None]
    low, high = min(ask.least, *values), max(ask.most, *values)
    margin = 0.05 * (high - low)
    return [low - margin if low < 0 else low, high + margin]


def _bars(found: Guessed, _: Translate) -> Picture:
    """What was measured of the most, the most above; what was guessed stands out."""
    ask, answer = found.ask, found.answer
    labels = ask.labels or tuple(f"{i + 1} · {label}" for i, label in enumerate(found.labels))
    guessed = {int(place): rank for rank, place in enumerate(answer.guess)}
    order = _shown(ranked(answer.truth), guessed)
    names = [token_label(labels[i], 18) if i < len(labels) else str(i + 1) for i in order]
    is_token = ask.kind is AskKind.TOKEN
    said = [_rank(guessed.get(i), is_token=is_token, _=_) for i in order]
    values = [answer.truth[i] for i in order]
    is_thin = [abs(value) < THIN * max(map(abs, values)) for value in values]
    bars = marks.lying(
        values,
        [*range(len(order))],
        text=["" if thin else text for text, thin in zip(said, is_thin, strict=True)],
        textposition="auto",
        marker={"color": [GUESS if is_token and i in guessed else TRUTH for i in order]},
        hovertemplate="%{customdata}: %{x:.3g}<extra></extra>",
        customdata=names,
    )
    ticks = {"tickvals": [*range(len(order))], "ticktext": names, "autorange": "reversed"}
    beside = zip(said, is_thin, strict=True)
    return figure(
        [bars],
        title=_("Measured, largest first"),
        margin=(36, 40),
        height=80 + ROW * len(order),
        xaxis=_in_units(ask.unit),
        yaxis=ticks,
        annotations=[_beside(y, text) for y, (text, thin) in enumerate(beside) if thin and text],
    )


def _shown(order: Sequence[int], guessed: Mapping[int, int]) -> list[int]:
    """Those with the most, and what was guessed where that is not among them."""
    most = [*order[:MOST_BARS]]
    return most + [i for i in guessed if i not in most and i < len(order)]


def _beside(y: int, text: str) -> dict[str, Any]:
    place = {"x": 0, "y": y, "xanchor": "left", "xshift": 4}
    return {**place, "text": text, "showarrow": False, "font": {"color": GUESS}}


def _in_units(unit: str) -> dict[str, Any]:
    """An axis with its unit: a sign behind each number, or a word below."""
    return {"ticksuffix": with_unit("", unit)} if len(unit) <= 1 else {"title": unit}


def _rank(rank: int | None, *, is_token: bool, _: Translate) -> str:
    if rank is None:
        return ""
    return _("your guess") if is_token else _("your rank: {n}").format(n=rank + 1)


def _on_a_line(found: Guessed, _: Translate) -> Picture:
    """The guess and the truth on one axis; of a choice, the ranges that could be chosen."""
    ask, answer = found.ask, found.answer
    least, most = _bounds(found)
    traces = [_mark(answer.truth[0], _("measured"), TRUTH, "diamond")]
    shapes = []
    if ask.kind is AskKind.CHOICE:
        shapes = [
            _range(option.least, option.most, least, most, is_guess=i in map(int, answer.guess))
            for i, option in enumerate(ask.options)
        ]
    elif answer.was_guessed:
        traces.insert(0, _mark(answer.guess[0], _("guessed"), GUESS, "circle"))
        shapes = [_gap(answer.guess[0], answer.truth[0])]
    if ask.kind is AskKind.CHOICE and answer.was_guessed:
        traces.insert(0, _legend_only(_("guessed"), GUESS))
    return figure(
        traces,
        title=_("Guess and measurement"),
        margin=(64, 40),
        height=HEIGHT,
        shapes=shapes,
        xaxis={**_in_units(ask.unit), "range": [least, most], "showline": True},
        yaxis={"visible": False, "range": [-1, 1]},
        **legend(),
    )


def _bounds(found: Guessed) -> tuple[float, float]:
    """From where to where the axis goes."""
    ask, answer = found.ask, found.answer
    ends = [answer.truth[0]]
    if ask.kind is AskKind.CHOICE:
        ends += [e for option in ask.options for e in (option.least, option.most) if not isinf(e)]
    else:
        ends += [0.0, *answer.guess]
    low, high = min(ends), max(ends)
    edge = 0.06 * (high - low) or 1.0
    return low - edge, high + edge


def _mark(x: float, name: str, color: str, symbol: str) -> dict[str, Any]:
    marker = {"color": color, "size": 14, "symbol": symbol}
    return line([x], [0], name=name, mode="markers", marker=marker)


def _legend_only(name: str, color: str) -> dict[str, Any]:
    marker = {"color": color, "size": 12, "symbol": "square"}
    return line([None], [None], name=name, mode="markers", marker=marker)


def _range(least: float, most: float, low: float, high: float, *, is_guess: bool) -> dict[str, Any]:
    """One of several ranges, as a bar that the truth stands in or not; a narrow one as a line."""
    x0, x1 = max(low, least), min(high, most)
    width = 2 if is_guess else 1
    if x1 - x0 < NARROW * (high - low):
        width = LEAST_WIDTH
    return {
        "type": "rect",
        "x0": x0,
        "x1": x1,
        "y0": -0.5,
        "y1": 0.5,
        "layer": "below",
        "line": {"color": GUESS if is_guess else palette.BEFORE, "width": width},
        "fillcolor": GUESS if is_guess else palette.BEFORE,
        "opacity": 0.45 if is_guess else 0.15,
    }


def _gap(guess: float, truth: float) -> dict[str, Any]:
    line_of = {"color": palette.BEFORE, "width": 3, "dash": "dot"}
    return {"type": "line", "x0": guess, "x1": truth, "y0": 0, "y1": 0, "line": line_of}
