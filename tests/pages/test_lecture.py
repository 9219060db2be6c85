"""A lecture: panels in one's own order, turned by keys, kept in a file that lessons have."""

from dataclasses import replace

import pytest
from opened import assert_works, opened, press, visit

from blocks.lessons import reading, writing
from blocks.lessons.lesson import Step

STEPS = (
    Step(
        title='Which "token"?', page="masks", before="", set=(("text", "a b&c 中"),), show="leaks"
    ),
    Step(title="Second", page="gpt", before="Ask them.", set=(), show="next-token"),
)


def test_what_is_written_is_read_again():
    found = reading.read(writing.written("Mine", STEPS), id="x", language="en")
    assert [(s.title, s.page, s.set, s.show, s.before) for s in found.steps] == [
        (s.title, s.page, s.set, s.show, s.before) for s in STEPS
    ]


def kept(at) -> tuple[Step, ...]:
    """The lecture that the link carries."""
    return writing.unpacked(at.query_params["lecture"])


def test_a_lecture_goes_into_a_link_as_far_as_it_has_room():
    found = writing.unpacked(writing.packed(STEPS))
    assert [(s.title, s.page, s.set, s.show, s.before) for s in found] == [
        (s.title, s.page, s.set, s.show, s.before) for s in STEPS
    ]
    words = "".join(chr(0x4E00 + i) for i in range(2000))
    assert writing.packed([replace(STEPS[0], before=words)]) == ""
    for nonsense in ("x", "A" * 40, writing.packed(STEPS)[:-9], "é"):
        with pytest.raises(ValueError):
            writing.unpacked(nonsense)


def test_panels_are_added_as_they_are_set_and_turned_in_their_order():
    at = opened("pages/masks.py", preset="course", text="a b c", panel="steps")
    for panel in ("steps", "leaks"):
        visit(at, preset="course", text="a b c", panel=panel)
        press(at, "share")
        press(at, "add_to_lecture")
    assert [(step.page, step.show) for step in kept(at)] == [
        ("masks", "steps"),
        ("masks", "leaks"),
    ]
    assert dict(kept(at)[0].set)["text"] == "a b c"
    press(at, "share")
    press(at, "lecture_up_1")
    assert [step.show for step in kept(at)] == ["leaks", "steps"]
    press(at, "share")
    press(at, "begin_lecture")
    assert at.query_params["panel"] == "leaks" and at.query_params["present"] == "true"
    assert at.title[0].value.startswith("1/2 ")
    press(at, "panel_on")
    assert at.query_params["panel"] == "steps" and at.title[0].value.startswith("2/2 ")
    assert_works(at, warnings=None)
    carried = dict(at.query_params)
    press(at, "end_present")
    assert "lecture_at" not in at.query_params and "present" not in at.query_params
    other = opened("pages/masks.py", **carried)
    assert other.title[0].value.startswith("2/2 ")
    press(other, "panel_back")
    assert other.title[0].value.startswith("1/2 ") and len(kept(other)) == 2
