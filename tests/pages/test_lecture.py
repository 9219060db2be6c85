"""A lecture: panels in one's own order, turned by keys, kept in a file that lessons have."""

from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest
from opened import assert_works, opened, press, run, said, visit

from blocks.lessons import reading, writing
from blocks.lessons.lesson import Step
from pages.lessons import joining
from pages.show import everything

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


def test_a_panel_of_steps_is_kept_under_the_name_of_its_step():
    at = opened("pages/attention.py", preset="course", text="a b", panel="steps")
    visit(at, preset="course", text="a b", panel="steps", attention_step="softmax")
    press(at, "share")
    press(at, "add_to_lecture")
    assert kept(at)[0].title == "What does a head do? · Softmax over each row"


def test_panels_are_added_as_they_are_set_and_turned_in_their_order():
    at = opened("pages/masks.py", preset="course", text="a b c", panel="steps")
    for panel in ("steps", "leaks"):
        visit(at, preset="course", text="a b c", panel=panel)
        press(at, "share")
        press(at, "add_to_lecture")
    assert [(step.page, step.show) for step in kept(at)] == [("masks", "steps"), ("masks", "leaks")]
    assert dict(kept(at)[0].set)["text"] == "a b c"
    press(at, "share")
    at.button(key="lecture_up_1").click()  # a browser draws no page between the two
    press(at, "begin_lecture")
    assert [step.show for step in kept(at)] == ["leaks", "steps"]
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


def test_a_note_that_looks_like_a_step_stays_a_note():
    note = "## Say this\n```step\nset = 1\n```\nand this."
    text = writing.written("Mine", [replace(STEPS[0], before=note), STEPS[1]])
    found = reading.read(text, id="x", language="en")
    assert len(found.steps) == 2 and "Say this" in found.steps[0].before
    assert writing.written("Mine", found.steps) == text


def test_the_lecturers_phone_reads_the_notes_and_turns_the_screen():
    at = opened("pages/masks.py", preset="course", lecture=writing.packed(STEPS), panel="leaks")
    press(at, "share")
    at.text_area(key="lecture_says_0").set_value("Ask: who sees whom?")
    run(at)
    press(at, "share")
    at.button(key="share").click()  # within a dialog, which stays open where there is a browser
    press(at, "lecture_notes")
    (way,) = [each.value for each in at.code if "seat=" in each.value]
    with pytest.MonkeyPatch.context() as patch:
        went = list[tuple[str, dict[str, str]]]()
        patch.setattr(
            joining.st, "switch_page", lambda path, query_params: went.append((path, query_params))
        )
        opened("app.py", preset=None, panel=None, **dict(parse_qsl(urlsplit(way).query)))
    ((path, query),) = went
    phone = opened(path, **{"preset": None, "panel": None, **query})
    assert_works(phone)
    assert "Ask: who sees whom?" in said(phone) and "panel 1 of 2" in said(phone)
    press(at, "share")
    press(at, "begin_lecture")
    assert at.title[0].value.startswith("1/2 ") and "Ask: who" not in said(at)
    press(phone, "notes_on")
    assert "Ask them." in said(run(phone))
    assert run(run(at)).query_params["lecture_at"] == "1"
    press(at, "panel_back")
    run(at)
    assert "Ask: who sees whom?" in said(run(run(phone)))


def test_a_lesson_in_a_lecture_asks_shows_its_answer_then_its_panel_and_leads_on():
    lesson = {"lesson": "attention-by-hand", "guesses": "0:0.07"}
    at = opened("pages/attention.py", preset=None, panel=None, **lesson)
    press(at, "share")
    press(at, "add_to_lecture")
    (step,) = kept(at)
    assert step.title.startswith("Attention by hand") and "guesses" not in dict(step.set)
    two = writing.packed([step, STEPS[0]])
    at = opened("pages/attention.py", preset=None, panel=None, lecture=two, **lesson)
    press(at, "share")
    press(at, "begin_lecture")
    assert at.title[0].value.startswith("1/2 ") and "scaled score" in said(at)
    for key in ("without_guess", "lesson_panel", "panel_on"):
        assert_works(press(at, key), warnings=None)
    assert at.title[0].value.startswith("2/2 ") and "lesson" not in at.query_params
    assert at.button(key="panel_on").disabled and not at.button(key="panel_back").disabled


def test_the_link_to_a_lecture_carries_no_notes():
    at = opened("pages/masks.py", preset="course", lecture=writing.packed(STEPS), panel="none")
    press(at, "share")  # of the panel that is shown in the place of one that there is not
    (way,) = [each.value for each in at.code if "lecture=" in each.value]
    carried = writing.unpacked(dict(parse_qsl(urlsplit(way).query))["lecture"])
    assert [(s.title, s.before) for s in carried] == [(s.title, "") for s in STEPS]
    assert kept(at)[1].before == "Ask them."


def test_a_handout_of_a_lecture_holds_all_its_panels():
    lesson = {"lesson": "attention-by-hand", "preset": "course", "d_model": "16", "n_heads": "4"}
    asks = Step(title="Asks", page="attention", before="", set=(*lesson.items(),), show="steps")
    two = writing.packed([STEPS[0], asks])
    at = opened("pages/masks.py", preset="course", lecture=two, panel="leaks")
    press(at, "share")
    press(at, "lecture_handout")
    assert_works(at, warnings=None)
    written = everything.OF_LECTURE.of(at).decode()
    titles = [written.index(f"<h2>{title}") for title in ("Which &quot;token", "Asks")]
    assert titles == sorted(titles) and written.count("<figure") >= 2
    asked = written.index("scaled score of the fourth")
    assert titles[1] < asked < written.index("Example: ") < written.rindex("<figure")
    assert "lecture_at" not in at.query_params and "lecture_file" in str(at.get("download_button"))
