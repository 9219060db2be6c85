"""What a learner hands in: questions, guesses and measurements, as text."""

import re
from datetime import datetime

import pytest

from blocks.lessons.answers import Answer
from blocks.lessons.reading import read
from pages.lessons.handed_in import note_changes, written
from pages.stage import link
from pages.stage.progress import Now

pytestmark = pytest.mark.usefixtures("session")

LESSON = read(
    """+++
title = "A & B"
minutes = 3
page = "attention"
+++
## One
```step
ask = "How much is 1 & 1?"
options = [["little", 0, 1], ["much", 1, inf]]
truth = "1 + 1"
```
## Two
Only read.
## Three
```step
ask = "How steep?"
kind = "curve"
x = "d ="
xs = [1, 4]
truth = "x"
```
""",
    id="a",
    language="en",
)
NOON = datetime(2026, 11, 22, 12, 0)


def stands(i: int, answers: dict[int, Answer]) -> Now:
    """A learner whose guesses were judged in this session."""
    return Now(LESSON, i, {step: each.guess for step, each in answers.items()}, answers)


def test_what_is_handed_in_holds_guess_and_truth_and_no_markup_of_strangers():
    link.sync("page")
    link.change("text", "<script>alert(1)</script>")
    page = written(stands(1, {0: Answer((0,), (2.0,)), 1: Answer((0,), (1.0,))}), NOON)
    assert "How much is 1 &amp; 1?" in page and "2026-11-22 12:00" in page
    assert "Your guess: “little”. The measured value is 2, so “much” is right." in page
    assert "&lt;script&gt;alert(1)" in page and "<script>alert" not in page
    assert page.count("class='note'") == 1
    assert "http://" not in page.replace("http://www.w3.org", "") and "src=" not in page


def test_a_guess_that_does_not_fit_is_left_out():
    link.sync("page")
    page = written(Now(LESSON, 1, {0: (9.0,)}, {}), NOON)
    assert "class='note'" not in page


def test_a_guess_that_only_a_link_tells_of_is_said_to_be_unmeasured():
    link.sync("page")
    page = written(Now(LESSON, 1, {0: (1.0,)}, {}), NOON)
    assert "How much is 1 &amp; 1?" in page and "has not been checked in this session" in page


def test_what_was_changed_in_each_step_is_said_even_where_it_was_taken_back():
    link.sync("page")
    link.change("n_heads", 8)
    for i, moves in enumerate(({"n_heads": 16, "token": 2}, {})):
        note_changes(Now(LESSON, i, {}, {}))
        for name, value in moves.items():
            link.change(name, value)
            note_changes(Now(LESSON, i, {}, {}))
    link.change("n_heads", 8)
    page = written(Now(LESSON, 1, {}, {}), NOON)
    assert page.count("Changed: ") == 1 and "Changed: n_heads = 16, token 3" in page


def test_what_a_step_itself_sets_is_no_change_of_the_learner():
    link.sync("page")
    for i in (0, 1):
        link.change("n_heads", 2 * (i + 1))
        note_changes(Now(LESSON, i, {}, {}))
    assert "Changed: " not in written(Now(LESSON, 1, {}, {}), NOON)


def test_an_answer_that_was_shown_is_no_guess_and_homework_says_whose_it_is_and_how_it_was_done():
    link.sync("page")
    assert "no guess was made" not in written(stands(1, {0: Answer((0,), (2.0,))}), NOON)
    page = written(stands(1, {0: Answer((), (2.0,))}), NOON, {"Your name": "<Ada>", "How": ""})
    assert "no guess was made" in page and "The measured value is 2" in page
    assert "Your name</strong><br>&lt;Ada&gt;<" in page and "How</strong><br>–<" in page


def test_of_a_curve_each_point_is_written_since_no_picture_stands_there():
    link.sync("page")
    guessed, shown = Answer((0.5, 1.0), (0.25, 2.0)), Answer((), (0.25, 2.0))
    page = written(stands(2, {2: guessed}), NOON)
    assert "d = 1: guessed 0.5, measured 0.25<br>d = 4: guessed 1, measured 2<" in page
    assert "<br>d = 1: measured 0.25<br>" in written(stands(2, {2: shown}), NOON)


def test_what_is_handed_in_says_nothing_of_the_class_and_opens_with_the_guesses():
    link.sync("page")
    link.become(
        {"room": "ABCDEF", "seat": "a1b2", "n_heads": 8, "guesses": "0:0=2", "layer": 0, "head": 0}
    )
    page = written(Now(LESSON, 1, {}, {}), NOON)
    assert "ABCDEF" not in page and "a1b2" not in page and ">n_heads = 8, layer 1, head 1<" in page
    (address,) = re.findall('<a href="(.+?)">', page)
    assert "head=0" in address
    assert "guesses=0%3A0%3D2" in page and link.value("room") == "ABCDEF"
