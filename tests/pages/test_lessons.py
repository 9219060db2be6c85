"""Lessons on their pages: asked before shown, played through, and never broken by a link."""

from pathlib import Path

import pytest
from opened import ROOT, assert_works, opened, press, run, said, visit
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Radio

from blocks.lessons import shelf
from pages.ui.lessons import progress
from pages.ui.lessons.check import checked

ATTENTION, LESSON = "pages/attention.py", "scaling"
FILES = sorted(shelf.OURS.glob("*.md"))
GARBAGE = (
    *("0:9=1", "0:1e999=1", "0:0=1;0:1=2", "7:1=1", "0:-1=1", "0:0.5=4", "::::", ";=;"),
    *("0:0=" + "_".join("1" * 70), "1" * 3000, "<script>", "0:٣=1", "\u202e"),
)


def lesson_opened(**query: object) -> AppTest:
    at = opened(ATTENTION, **{"panel": None, "lesson": LESSON, **query})
    assert_works(at)
    return at


def question(at: AppTest) -> Radio:
    return next(radio for radio in at.radio if (radio.key or "").startswith("guess_"))


def charts(at: AppTest) -> int:
    return len(at.get("plotly_chart"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_lesson_is_played_through(file: Path):
    assert [*checked(file)] == []


def test_the_panel_is_withheld_until_the_guess_is_made():
    at = lesson_opened()
    assert charts(at) == 0 and "when you have guessed" in said(at)
    assert at.button(key="keep_guess").disabled
    question(at).set_value(0)
    run(at)
    press(at, "keep_guess")
    assert_works(at)
    assert charts(at) > 1 and "Measured: 4.07" in said(at)
    assert at.query_params["guesses"] == "0:0=4.07"


def test_a_guess_stands_in_the_link_and_another_reader_sees_it():
    at = lesson_opened(guesses="0:0=4.07")
    assert "Your guess" in said(at) and charts(at) > 1


def test_on_and_back_keep_the_guesses_and_leaving_keeps_the_state():
    at = lesson_opened(guesses="0:0=4.07")
    press(at, "lesson_to_1")
    assert_works(at)
    assert at.query_params["lesson_step"] == "1" and at.query_params["guesses"] == "0:0=4.07"
    press(at, "lesson_to_0")
    assert "Your guess" in said(at)
    press(at, "leave_lesson")
    assert not {"lesson", "lesson_step", "guesses"} & at.query_params.keys()
    assert at.query_params["panel"] == "scaling" and len(at.tabs) > 3


@pytest.mark.parametrize("guesses", GARBAGE)
def test_garbage_in_the_place_of_guesses_is_left_out(guesses: str):
    at = opened(ATTENTION, panel=None, lesson=LESSON, guesses=guesses)
    assert_works(at, warnings=None)
    assert "Your guess" not in said(at) or guesses.startswith("0:0=1;")


@pytest.mark.parametrize("step", [7, 11, 999, "x"])
def test_a_step_that_is_not_there_is_the_last_or_the_first(step: object):
    at = opened(ATTENTION, panel=None, lesson=LESSON, lesson_step=step)
    assert_works(at, warnings=None)
    assert at.button(key="leave_lesson")


@pytest.mark.parametrize("name", ["no-such-lesson", "..", "../../etc/passwd", "a" * 41])
def test_a_lesson_that_is_not_there_leaves_the_page_as_it_is(name: str):
    at = opened(ATTENTION, panel=None, lesson=name)
    assert_works(at, warnings=None)
    assert len(at.tabs) > 3


def test_on_another_page_the_card_leads_back():
    at = opened("pages/block.py", panel=None, lesson=LESSON, guesses="0:0=4.07")
    assert_works(at)
    back = [link.proto for link in at.main if link.type == "page_link"]
    ways = [link.query_string for link in back if link.page == "attention"]
    assert any("lesson=scaling" in way and "guesses=" in way for way in ways)


def test_lessons_of_the_server_stand_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "ours.en.md").write_text(
        '+++\ntitle = "Our own"\nminutes = 2\npage = "attention"\n+++\n## One\nRead *this*.\n'
    )
    (tmp_path / "broken.en.md").write_text("nothing")
    monkeypatch.setenv("BLOCKSCOPE_LESSONS", str(tmp_path))
    assert "ours" in progress.names()
    at = opened(ATTENTION, panel=None, lesson="ours", lang="zh")
    assert_works(at)
    assert "Read *this*." in said(at)
    at = visit(at, panel=None, lesson="broken")
    assert_works(at)
    assert len(at.tabs) > 3


def test_what_is_handed_in_holds_the_guess_the_truth_and_no_markup_of_strangers():
    last = len(shelf.lesson(LESSON, "en").steps) - 1  # type: ignore[union-attr]
    at = lesson_opened(guesses="0:0=4.07", lesson_step=last, text="<b>red</b>")
    press(at, "without_guess")
    assert at.get("download_button")
    assert ROOT.exists()
