"""How a guess is made: by keyboard or mouse, and kept when the reader says so."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import streamlit as st

from blocks import ConfigError
from blocks.lessons.answers import Values
from blocks.lessons.lesson import LARGEST, ROUNDED, Ask, AskKind
from blocks.lessons.maps import MOST_SIDE
from blocks.model.faults import N_, Fault
from blocks.observe.run import Run
from pages.figures import guess as guess_picture
from pages.figures.counting import from_one
from pages.figures.guess_cell import Table
from pages.lessons import question, set_back, wall
from pages.session.slot import Slot, shown_by
from pages.show.chart import show
from pages.show.explain import n_words
from pages.show.phone import at_hand
from pages.stage import led, link, progress
from pages.stage.phone import is_phone
from pages.stage.progress import Now
from pages.words.language import _, bracketed, say_fault

ON = "lesson_on"  # the button that ends the guessing, and then leads on
WORDS_ON_A_PHONE, WORDS_IN_A_LINE = 72, 8  # below the head of the page; each choice has a line
POINT = 110  # pixels: a number with its two buttons
LACKS_NUMBER = N_("Type a number first.")
STILL_LACKING = {
    AskKind.CURVE: N_("Set every point first: click above its number, or type its value below."),
    AskKind.ORDER: N_("First fill every place, using each item once."),
}


def ask_for(now: Now, ask: Ask, run: Run) -> None:
    """What is given, the question, what can be answered, and the button that ends the guessing.

    On a phone they stand at hand in a fold; not what is higher than a screen. It is open where the
    screen has room for both, else a tap opens it once what is above is read. What is chosen redraws
    these alone: the page waits for the guess.
    """
    if is_at_hand(ask):
        with at_hand(), st.expander(asked(ask), _has_room(now, ask), key="lesson_question"):
            st.fragment(_answers)(now, ask, run)
        return
    st.fragment(_answers)(now, ask, run)


def _has_room(now: Now, ask: Ask) -> bool:
    """Whether text and question are short, and no panel stands between them."""
    said = (now.step.before, ask.question, *(option.label for option in ask.options))
    n = sum(map(n_words, said)) + WORDS_IN_A_LINE * (len(ask.given) + len(ask.options))
    return now.is_withheld and n <= WORDS_ON_A_PHONE


def buttons(*, is_right: bool = False) -> AbstractContextManager[Any]:
    """The row of the button that ends the guessing, and that of the way on, which follows it.

    Both are third in the same frame, since a browser keeps the keyboard's focus on a button for
    as long as the containers around it keep their places.
    """
    side = "right" if is_right else "left"
    look: dict[str, Any] = {"horizontal_alignment": side, "vertical_alignment": "center"}
    return st.container(horizontal=True, **look, key="lesson_guess")


def is_at_hand(ask: Ask | None) -> bool:
    return is_phone() and ask is not None and ask.kind not in progress.TALL


def asked(ask: Ask) -> str:
    is_typed = ask.kind is AskKind.NUMBER and ask.unit
    return bracketed(ask.question, ask.unit) if is_typed else ask.question


def _answers(now: Now, ask: Ask, run: Run) -> None:
    if link.must_redraw():
        st.rerun(scope="app")
    is_below = ask.kind in progress.IN_A_PICTURE and not is_phone()
    above = st.container()
    row = buttons()
    with above:
        if not is_at_hand(ask):  # else the fold is called so
            st.markdown(f"**{asked(ask)}**")
        question.given(ask.given, run)
        if lacks := _lacks_words(now):
            st.info(lacks, icon=":material/edit:")
        if ask.tolerance != ROUNDED:
            text = _("A guess within {share:.0%} of the value measured here counts as right.")
            st.caption(text.format(share=ask.tolerance))
        if ask.kind is AskKind.CURVE:
            st.caption(_("A point counts as close within a tenth of the chart's height."))
    key = f"guess_{now.lesson.id}_{now.i}"
    with nullcontext() if is_below else above:  # a picture below the buttons, all else above
        guess = WAYS[ask.kind](ask, run, key)
    with row:
        typed = key if ask.kind is AskKind.NUMBER else ""
        lacking = _(STILL_LACKING[ask.kind]) if guess is None and ask.kind in STILL_LACKING else ""
        _buttons(run, guess, lacks or lacking, typed=typed, is_held=now.is_held)
        if lacking and not led.is_wall():
            st.caption(lacking, width="stretch")
    if fault := progress.FAULT.take():
        st.warning(say_fault(fault))
        if not now.step.set:  # otherwise offered above
            set_back.offer(now)


def _lacks_words(now: Now) -> str:
    """What is to be written before a guess can be kept; empty where nothing is."""
    if now.step.own_text and not progress.own_text():
        return _("First write a sentence of your own in the text box at the top of the page.")
    return ""


def _buttons(run: Run, guess: Values | None, lacking: str, *, typed: str, is_held: bool) -> None:
    """To keep the guess, where nothing is lacking for that; or to be shown without one.

    `is_held`: the answer waits for the leader of the class.

    A number that is being typed (into the widget `typed`) arrives with the click that ends it.
    """
    if led.is_wall():  # who leads the class shows the answer, and guesses nothing
        wall.way_to_show(run)
        return
    st.button(
        _("That is my guess"),
        type="primary",
        disabled=bool(lacking) or (guess is None and not typed),
        on_click=_answer,
        args=(run, guess, typed),
        key=ON,
    )
    if not is_held:
        look: dict[str, Any] = {"type": "tertiary", "key": "without_guess"}
        st.button(_("Show me"), on_click=_answer, args=(run, ()), **look)


def _answer(run: Run, guess: Values | None, typed: str = "") -> None:
    """Keep it; where there is nothing to keep or to measure, say so."""
    if guess is None:
        if (number := shown_by(typed)) is None:
            progress.FAULT.keep(Fault(LACKS_NUMBER))
            return
        guess = (float(number),)
    try:
        if now := progress.now():
            wall.guessed(now, guess)
        progress.answer(run, guess)
        link.redraw_everything()
    except ConfigError as error:
        progress.FAULT.keep(error.faults[0])


def _choice(ask: Ask, _run: Run, key: str) -> Values | None:
    labels = [option.label for option in ask.options]
    found = st.radio(
        ask.question,
        range(len(labels)),
        format_func=labels.__getitem__,
        index=None,
        label_visibility="collapsed",
        key=key,
    )
    return None if found is None else (float(found),)


def _number(ask: Ask, _run: Run, key: str) -> Values | None:
    found = st.number_input(
        asked(ask),
        value=None,
        placeholder=_("Enter a number"),
        min_value=-LARGEST,
        max_value=LARGEST,
        format="%.6g",
        label_visibility="collapsed",
        key=key,
    )
    return None if found is None else (float(found),)


def _order(ask: Ask, _run: Run, key: str) -> Values | None:
    """A choice for each place, from most to least."""
    n = len(ask.labels)
    places = [_("most"), *map(str, range(2, n)), _("least")]
    found = [
        st.selectbox(
            place,
            range(n),
            format_func=ask.labels.__getitem__,
            index=None,
            placeholder=_("Choose"),
            key=f"{key}_{i}",
        )
        for i, place in enumerate(places)
    ]
    chosen = [float(place) for place in found if place is not None]
    return tuple(chosen) if {*chosen} == {*range(n)} else None


def _token(ask: Ask, run: Run, key: str) -> Values | None:
    labels = run.input.labels
    found = _one_of(ask.question, labels, f"{key}_{len(labels)}", label_visibility="collapsed")
    return None if found is None else (float(found),)


def _cell(ask: Ask, run: Run, key: str) -> Values | None:
    """A map in which a cell is clicked, or chosen by its row and its column."""
    table = Table(*progress.labels(ask, run))
    place, sides = st.empty(), (_("Row (query)"), _("Column (key)"))
    keys = [f"{key}_{side}_{len(names)}" for side, names in enumerate(table)]
    with st.container(horizontal=True):
        found = [*map(_one_of, sides, table, keys)]
    guess = tuple(float(i) for i in found if i is not None)
    guess = guess if len(guess) == len(keys) else ()
    if max(map(len, table)) <= MOST_SIDE:
        with place:
            show(
                question.draw_map,
                table,
                guess,
                key="guess_cell",
                on_click=partial(_take_over, keys),
            )
    return guess or None


def _one_of(label: str, names: Sequence[str], key: str, **look: Any) -> int | None:
    numbered = [f"{from_one(i)} · {name}" for i, name in enumerate(names)]
    return st.selectbox(
        label,
        range(len(names)),
        format_func=numbered.__getitem__,
        index=None,
        placeholder=_("Choose a token"),
        key=key,
        **look,
    )


def _take_over(keys: Sequence[str], values: Sequence[Any]) -> None:
    for key, value in zip(keys, values, strict=True):
        Slot(key, None).keep(value)


def _curve(ask: Ask, _run: Run, key: str) -> Values | None:
    """A chart on which points are clicked, and a number for each: none is set before."""
    place, keys = st.empty(), [f"{key}_{i}" for i in range(len(ask.xs))]
    with st.container(horizontal=True, gap="small", key="guess_points"):
        found = tuple(_point(ask, x, each) for x, each in zip(ask.xs, keys, strict=True))
    with place:
        move = partial(_move_point, keys)
        show(question.draw_curve, ask, found, key="guess_curve", on_click=move)
    guess = tuple(y for y in found if y is not None)
    return guess if len(guess) == len(keys) else None


def _point(ask: Ask, x: float, key: str) -> float | None:
    return st.number_input(
        f"{ask.x_label} {x:g}",
        ask.least,
        ask.most,
        None,
        step=(ask.most - ask.least) / (guess_picture.N_LEVELS - 1),
        format="%.6g",
        placeholder="?",
        width=POINT,
        key=key,
    )


def _move_point(keys: Sequence[str], clicked: Sequence[float]) -> None:
    _take_over([keys[int(clicked[0])]], [float(clicked[1])])


WAYS: dict[AskKind, Callable[[Ask, Run, str], Values | None]] = {
    AskKind.CHOICE: _choice,
    AskKind.NUMBER: _number,
    AskKind.ORDER: _order,
    AskKind.TOKEN: _token,
    AskKind.CELL: _cell,
    AskKind.CURVE: _curve,
}
