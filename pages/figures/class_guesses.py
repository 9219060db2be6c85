"""What a class has guessed, beside the truth once that is shown."""

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from blocks.lessons.answers import Values, right_guess
from blocks.lessons.lesson import Ask, AskKind
from pages.figures import class_dots, guess_cell, marks
from pages.figures.class_dots import FONT, HEIGHT, N_TICKS
from pages.figures.guess_cell import GUESS, TRUTH, Table
from pages.figures.marks import line
from pages.figures.theme import Picture, Translate, faint, figure, legend, line_label, token_label

BAR, MOST_BARS, LABEL = 36, 8, 36


class ClassGuesses(NamedTuple):
    """The guesses of a class about a question; `truth` is empty until it is shown.

    `labels` name the tokens where one of them is asked for; of a map the columns, `rows` its rows.
    """

    ask: Ask
    guesses: tuple[Values, ...]
    truth: Values = ()
    labels: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()


def picture(found: ClassGuesses, *, _: Translate) -> Picture:
    """How many guessed what."""
    match found.ask.kind:
        case AskKind.NUMBER:
            return _dots(found, _)
        case AskKind.CURVE:
            return _curves(found, _)
        case AskKind.CELL:
            return _cells(found, _)
    return _bars(found, _)


def _cells(found: ClassGuesses, _: Translate) -> Picture:
    """How many marked each cell of the map."""
    table = Table(found.rows, found.labels)
    if found.truth:
        table = table.of_size(*map(int, found.truth[2:]))
    counted = Counter((int(row), int(column)) for row, column in found.guesses)
    drawn = guess_cell.counted(table, counted, found.truth[:2], _title(found, _), _=_)
    return drawn.with_layout(font=FONT)


def _bars(found: ClassGuesses, _: Translate) -> Picture:
    """A bar for each answer that someone gave, or could have given where they are few."""
    counted = Counter(tuple(map(int, guess)) for guess in found.guesses)
    rows = _answers(found) or [answer for answer, _n in counted.most_common(MOST_BARS)]
    true = _true_answer(found)
    rows += [true] if true and true not in rows else []
    name = _namer(found)
    bars = marks.lying(
        [counted[row] for row in rows],
        [*range(len(rows))],
        text=[counted[row] for row in rows],
        textposition="auto",
        marker={"color": [TRUTH if row == true else faint(GUESS, 0.7) for row in rows]},
        customdata=[name(row) for row in rows],
        hovertemplate="%{customdata}: %{x}<extra></extra>",
    )
    ticks = {
        "tickvals": [*range(len(rows))],
        "ticktext": [line_label(name(row), LABEL) for row in rows],
        "autorange": "reversed",
    }
    return figure(
        [bars, *_where_true(rows, true)],
        title=_title(found, _),
        margin=(36, 40),
        height=90 + BAR * max(3, len(rows)) + 14 * sum(len(name(row)) // LABEL for row in rows),
        xaxis={"title": _("learners"), **_whole(max(counted.values(), default=0))},
        yaxis=ticks,
        font=FONT,
    )


def _where_true(rows: list[tuple[int, ...]], true: tuple[int, ...] | None) -> list[dict[str, Any]]:
    """A mark at the answer that was measured, even where nobody chose it."""
    if true not in rows:
        return []
    marker = {"color": TRUTH, "size": 14, "symbol": "diamond"}
    return [line([0], [rows.index(true)], mode="markers", marker=marker, cliponaxis=False)]


def _whole(most: int) -> dict[str, Any]:
    return {"range": [0, max(1, most) * 1.05], "tick0": 0, "dtick": max(1, -(-most // N_TICKS))}


def _answers(found: ClassGuesses) -> list[tuple[int, ...]]:
    return [(i,) for i in range(len(found.ask.options))]


def _true_answer(found: ClassGuesses) -> tuple[int, ...] | None:
    guess = right_guess(found.ask, found.truth) if found.truth else ()
    return tuple(map(int, guess)) or None


def _namer(found: ClassGuesses) -> Callable[[tuple[int, ...]], str]:
    ask, labels = found.ask, found.labels

    def name(answer: tuple[int, ...]) -> str:
        match ask.kind:
            case AskKind.CHOICE:
                return ask.options[answer[0]].label
            case AskKind.ORDER:
                return " > ".join(ask.labels[place] for place in answer)
        place = answer[0]
        token = token_label(labels[place], 18) if place < len(labels) else ""
        return f"{place + 1} {token}".strip()

    return name


def _title(found: ClassGuesses, _: Translate) -> str:
    if not found.truth:
        return _("What the class guesses")
    return _("The guesses of the class; the measurement is blue")


def _dots(found: ClassGuesses, _: Translate) -> Picture:
    numbers = [guess[0] for guess in found.guesses]
    measured = found.truth[0] if found.truth else None
    ask, title = found.ask, _title(found, _)
    return class_dots.picture(numbers, measured, ask.unit, title, ask.tolerance, _=_)


def _curves(found: ClassGuesses, _: Translate) -> Picture:
    ask = found.ask
    names = [f"{x:g}" for x in ask.xs]
    thin = {"color": faint(GUESS, 0.35), "width": 1.5}
    traces = [
        line(names, guess, name=_("guessed"), mode="lines", line=thin, showlegend=i == 0)
        for i, guess in enumerate(found.guesses)
    ]
    if found.truth:
        solid = {"color": TRUTH, "width": 3}
        traces.append(line(names, found.truth, name=_("measured"), mode="lines", line=solid))
    return figure(
        traces,
        title=_title(found, _),
        margin=(64, 40),
        height=HEIGHT,
        xaxis={"title": ask.x_name, "type": "category"},
        yaxis={"title": ask.unit, "range": [min(0.0, ask.least), ask.most]},
        font=FONT,
        **legend(),
    )
