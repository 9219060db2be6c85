"""A guess beside the truth, and the guesses of a class."""

from dataclasses import replace
from math import inf

import pytest
from drawn import checked, marked, words_that_slipped_by

from blocks.lessons.answers import Answer, Values
from blocks.lessons.lesson import Ask, AskKind, Option
from pages.figures import class_guesses, guess
from pages.figures.class_guesses import ClassGuesses
from pages.figures.guess import GUESS, TRUTH, Guessed


def ask(kind: AskKind, **more: object) -> Ask:
    return Ask(question="?", kind=kind, truths=(), unit="×", **more)  # type: ignore[arg-type]


CHOICE = ask(
    AskKind.CHOICE,
    options=(Option("given", 0, 1), Option("<b>given</b>", 1, 3), Option("given", 3, inf)),
)
NUMBER = ask(AskKind.NUMBER)
ORDER = ask(AskKind.ORDER, labels=("a", "b", "c"))
TOKEN = ask(AskKind.TOKEN)
CURVE = ask(AskKind.CURVE, xs=(1, 2, 4), x_label="x", most=4.0)
LABELS = ("given", "given")
ANSWERS: dict[Ask, tuple[Values, Values]] = {
    CHOICE: ((0.0,), (2.0,)),
    NUMBER: ((3.0,), (4.0,)),
    ORDER: ((1.0, 0.0, 2.0), (0.5, 0.9, 0.1)),
    TOKEN: ((0.0,), (0.2, 0.8)),
    CURVE: ((1.0, 1.0, 1.0), (1.0, 2.0, 4.0)),
}
every = pytest.mark.parametrize("asked", ANSWERS, ids=[each.kind for each in ANSWERS])


@every
@pytest.mark.parametrize("is_guessed", [True, False])
def test_every_word_is_translated_and_every_property_is_plotlys(asked: Ask, is_guessed: bool):
    guessed, truth = ANSWERS[asked]
    answer = Answer(guessed if is_guessed else (), truth)
    picture = guess.picture(Guessed(asked, answer, LABELS), _=marked)
    checked(picture)
    assert words_that_slipped_by(picture) == set()


@every
@pytest.mark.parametrize("n", [0, 1, 40])
@pytest.mark.parametrize("is_shown", [True, False])
def test_a_class_of_any_size_is_drawn(asked: Ask, n: int, is_shown: bool):
    guessed, truth = ANSWERS[asked]
    found = ClassGuesses(asked, (guessed,) * n, truth if is_shown else (), LABELS)
    picture = class_guesses.picture(found, _=marked)
    checked(picture)
    assert picture.sent["layout"]["font"]["size"] == 15  # read from the back row
    assert words_that_slipped_by(picture) == set()


def test_the_range_that_was_guessed_stands_out_and_the_truth_is_where_it_was_measured():
    picture = guess.picture(Guessed(CHOICE, Answer((0.0,), (2.0,))), _=str)
    colors = [shape["fillcolor"] for shape in picture.layout.shapes]
    assert colors[0] == GUESS and GUESS not in colors[1:]
    assert [trace.x[0] for trace in picture.data if trace.marker.color == TRUTH] == [2.0]
    assert picture.layout.shapes[2].x1 < inf


def test_a_range_too_narrow_to_be_seen_is_a_line_of_the_least_width():
    options = (Option("none", 0.0, 1e-9), Option("some", 1e-9, 1.0))
    asked = replace(CHOICE, options=options)
    narrow, wide = guess.picture(Guessed(asked, Answer((0.0,), (0.5,))), _=str).layout.shapes
    assert (narrow.x0, narrow.x1, narrow.line.width) == (0.0, 1e-9, guess.LEAST_WIDTH)
    assert narrow.fillcolor == GUESS and wide.line.width < guess.LEAST_WIDTH


def test_what_is_put_in_order_stands_by_measurement_with_the_places_that_were_guessed():
    picture = guess.picture(Guessed(ORDER, Answer((2.0, 1.0, 0.0), (0.5, 0.9, 0.1))), _=str)
    assert picture.layout.yaxis.ticktext == ("b", "a", "c")
    assert picture.data[0].text == ("your rank: 2", "your rank: 3", "your rank: 1")


def test_a_token_that_was_guessed_is_told_however_little_it_has_and_how_many_there_are():
    truth = (1.0, *(1 / n for n in range(2, 40)), 0.0)
    picture = guess.picture(Guessed(TOKEN, Answer((39.0,), truth), ("a",) * 40), _=str)
    (told,) = picture.layout.annotations
    assert (told.text, told.y) == ("your guess", len(picture.data[0].x) - 1)
    assert picture.layout.yaxis.ticktext[-1] == "40 · a"
    assert picture.data[0].text == ("",) * len(picture.data[0].x)  # Plotly leaves it off 0


def test_a_class_is_counted_option_by_option_and_the_true_one_is_blue_once_it_is_shown():
    guesses = ((0.0,), (1.0,), (1.0,))
    hidden, shown = (
        class_guesses.picture(ClassGuesses(CHOICE, guesses, truth), _=str).data[0]
        for truth in ((), (2.0,))
    )
    assert hidden.x == (1, 2, 0) and TRUTH not in hidden.marker.color
    assert [color == TRUTH for color in shown.marker.color] == [False, True, False]


def test_numbers_are_dots_on_a_line_that_a_joke_does_not_squeeze():
    guesses = ((0.07,), (0.13,), (0.07,), (0.05,), (1e9,))
    hidden, shown = (
        class_guesses.picture(ClassGuesses(NUMBER, guesses, truth), _=str) for truth in ((), (0.2,))
    )
    (dots,) = hidden.data
    assert len(dots.x) == len(guesses) and max(dots.x) == 0.13
    assert [place for place in zip(dots.x, dots.y, strict=True) if place[0] == 0.07] == [
        (0.07, 1),
        (0.07, 2),
    ]
    assert [symbol == "circle" for symbol in dots.marker.symbol] == [True] * 4 + [False]
    assert dots.customdata[-1].startswith("1 × 10⁹")  # what was typed is told under the cursor
    line, _right, dots = shown.data
    assert {*line.x} == {0.2} and line.line.color == TRUTH and "0.2×" in line.name
    low, high = shown.layout.xaxis.range
    assert low <= 0 and high >= 0.4 and hidden.layout.xaxis.range[1] < 0.2
    (band,) = shown.layout.shapes  # what counts as right
    assert (band.x0, band.x1) == pytest.approx((0.19, 0.21))
    assert hidden.layout.yaxis.dtick == 1


def test_people_are_whole():
    for n in (0, 1, 2, 7, 300):
        found = ClassGuesses(CHOICE, ((0.0,),) * n)
        axis = class_guesses.picture(found, _=str).layout.xaxis
        assert axis.dtick == int(axis.dtick) >= 1 and axis.range[1] >= n
        assert axis.range[1] / axis.dtick < 8


def test_a_label_is_text():
    picture = class_guesses.picture(ClassGuesses(CHOICE, ()), _=str)
    assert "&lt;b&gt;" in picture.layout.yaxis.ticktext[1]


def test_a_curve_to_be_clicked_is_high_enough_for_its_levels():
    sent = guess.curve_so_far(CURVE, (0.5,) * len(CURVE.xs), _=str).sent
    spacing = (sent["layout"]["height"] - 64 - 40) / 20
    assert spacing > 10 and sent["layout"]["hoverdistance"] == -1


def test_what_stands_before_a_value_names_its_axis_without_an_equals_sign():
    asked = replace(CURVE, x_label="d =")
    sent = guess.picture(Guessed(asked, Answer(*ANSWERS[CURVE]), LABELS), _=str).sent
    assert sent["layout"]["xaxis"]["title"]["text"] == "d"


def test_the_axis_of_a_curve_holds_a_point_below_zero_whole():
    below = Answer((), (1.0, 0.5, -0.3))
    low, high = guess.picture(Guessed(CURVE, below), _=str).layout.yaxis.range
    assert low < -0.3 and high > CURVE.most
