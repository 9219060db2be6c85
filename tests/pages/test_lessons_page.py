"""Lessons on their pages: asked before shown, played through, and never broken by a link."""

import re
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl

import pytest
from opened import assert_works, figure, move, opened, press, run, said, titles, visit
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Radio

from blocks.lessons import shelf
from blocks.model.presets import PRESETS
from pages.lessons import joining
from pages.lessons.check import checked
from pages.server import machine
from pages.stage import progress
from pages.words.language import LANGUAGES

ATTENTION, LESSON = "pages/attention.py", "scaling"
FILES = sorted(shelf.OURS.glob("*.md"))
GARBAGE = (
    *("0:9=1", "0:1e999=1", "0:0=1;0:1=2", "7:1=1", "0:-1=1", "0:0.5=4", "::::", ";=;"),
    *("0:" + "_".join("1" * 70), "1" * 3000, "<script>", "0:٣=1", "\u202e"),
)


def lesson_opened(warnings: int | None = 0, **query: object) -> AppTest:
    """A lesson at a step of a link; a guess that is wrong counts as a warning."""
    at = opened(ATTENTION, **{"panel": None, "lesson": LESSON, **query})
    assert_works(at, warnings=warnings)
    return at


def question(at: AppTest) -> Radio:
    return next(radio for radio in at.radio if (radio.key or "").startswith("guess_"))


def charts(at: AppTest) -> int:
    return len(at.get("plotly_chart"))


def played() -> list:
    """Every lesson but two that take long daily in one of its languages, by turns.

    What a lesson trains is trained once for both: they are played in one process.
    """
    lessons = sorted({file.name.split(".")[0] for file in FILES})
    turn = {name: [*LANGUAGES][i % len(LANGUAGES)] for i, name in enumerate(lessons)}
    found = []
    for file in FILES:
        name, language, _suffix = file.name.split(".")
        is_daily = turn[name] == language and name not in ("pre-or-post", "residual")
        daily = [] if is_daily else [pytest.mark.exhaustive]
        marks = [pytest.mark.xdist_group(name), *daily]
        found.append(pytest.param(file, marks=marks, id=file.name))
    return found


def test_a_link_that_names_only_a_lesson_opens_it_on_its_page():
    at = opened("app.py", preset=None, panel=None, lesson="induction")
    assert_works(at)
    of_its_own = {"preset": "induction", "lesson": "induction", "text": "kQx7BmZ2wLfPkQx7"}
    assert of_its_own.items() <= dict(at.query_params).items()
    assert not charts(at)  # asked before shown


@pytest.mark.parametrize("file", played())
def test_a_lesson_is_played_through(file: Path):
    assert [*checked(file)] == []


def test_the_panel_is_withheld_until_the_guess_is_made():
    at = lesson_opened()
    assert charts(at) == 0 and "once you have guessed" in said(at)
    assert at.button(key="lesson_on").disabled
    question(at).set_value(0)
    run(at)
    press(at, "lesson_on")
    assert_works(at, warnings=1)  # the guess is wrong
    assert charts(at) > 1 and "measured value is 4.07" in said(at)
    assert at.query_params["guesses"] == "0:0"


@pytest.mark.parametrize("forged", ["0:0=123456", "0:0=1e308", "0:0=", "0:0"])
@pytest.mark.thinned
def test_no_link_says_what_was_measured(forged: str):
    at = lesson_opened(1, guesses=forged)
    assert "measured value is 4.07" in said(at) and "123,456" not in said(at)


def test_a_guess_of_any_size_is_measured_or_left_out():
    query = {"preset": "gpt2-small", "panel": None, "lesson": "heads"}
    at = opened("pages/parameters.py", **query, guesses="0:-1e308_-1e308_-1e308_-1e308=1_1_1_1e308")
    assert_works(at)
    assert at.main.number_input  # asked, since that was no guess
    at = visit(at, **query, guesses="0:1e12_1e12_1e12_-1e12")
    assert_works(at)
    assert "furthest off at" in said(at)


def test_an_exact_curve_is_said_to_be_right_and_of_others_whether_they_are_close():
    query = {"preset": "gpt2-small", "panel": None, "lesson": "heads"}
    for guess, words in (
        ("1_1_1_1", "**Exactly right.**"),
        ("1_1_1.1_1", "Your curve is close: it is furthest off at n_heads 8, by 0.1×."),
        (
            "1_2_4_8",
            "Your curve is not close: it is furthest off at n_heads 16, by 7×, and close is 0.4× "
            "or less.",
        ),
    ):
        at = opened("pages/parameters.py", **query, guesses=f"0:{guess}")
        assert_works(at)
        found = [*at.main.success, *at.main.info]
        assert [each.value.startswith(words) for each in found] == [True], found


def test_what_was_measured_stays_while_the_reader_tries_settings_and_a_link_is_measured_anew():
    query = {"panel": None, "lesson": "attention-by-hand", "lesson_step": 3}
    at = opened(ATTENTION, **query)
    press(at, "without_guess")
    first = measured(at)
    assert measured(move(at, "n_heads", 2)) == first
    assert measured(visit(at, **query, n_heads=2, d_model=16, guesses="3:")) != first


def test_a_step_that_is_entered_again_tells_nothing_of_another_text():
    at = opened("pages/gpt.py", preset=None, panel="tokens", lesson="tokens", lesson_step=4)
    press(at, "without_guess")
    first = curve(at)
    run(press(at, "lesson_back"))
    assert at.button(key="lesson_on").proto.type == "secondary"  # the task comes first
    press(at, "solve_task")
    assert at.button(key="lesson_on").proto.type == "primary"
    run(press(at, "lesson_on"))
    assert_works(at)
    assert curve(at) != first


def curve(at: AppTest) -> list[float]:
    """What was measured of the curve that is asked for."""
    return figure(at, "guess_picture")["data"][-1]["y"]


def measured(at: AppTest) -> str:
    (found,) = (
        each.value
        for each in at.main.info
        if each.value.startswith("Measured: ") or " measured value is" in each.value
    )
    return found


def test_what_goes_in_is_not_offered_where_the_panel_shows_nothing_of_it():
    def offered(at: AppTest) -> list[str]:
        return [each.label for each in at.expander if each.proto.icon == ":material/edit:"]

    assert not offered(lesson_opened(guesses="0:1=4.07"))
    (line,) = offered(lesson_opened(lesson_step=5, mask_kind="none", panel="scaling"))
    assert "`" in line and "pinned token" not in line
    own = opened("pages/gpt.py", preset="stories-en-zh", lesson="tokens", lesson_step=1, panel=None)
    assert own.text_area and not offered(own)


def test_a_step_shows_nothing_that_a_later_one_asks():
    at = lesson_opened(guesses="0:1=4.07")
    (line,) = figure(at, "random_scores")["data"]
    assert line["name"] == "not divided"


@pytest.mark.parametrize("guesses", ["", "0:1=4.07"])
def test_nothing_explains_beside_the_card_of_a_lesson(guesses: str):
    at = lesson_opened(guesses=guesses, hide=None)
    assert not [each for each in at.main.info if "lightbulb" in each.icon]
    assert not [
        each
        for each in at.main
        if each.type == "popover" and each.proto.popover.label in ("Explained", "In code")
    ]
    alone = opened(ATTENTION, preset="course", panel="random-scores")
    assert "lightbulb" in alone.main.info[0].icon


def test_a_task_stands_with_what_it_is_done_with():
    at = lesson_opened(lesson_step=5, panel="scaling", guesses="0:1=4.07")
    card, place = at.main.columns[0], at.main.columns[1]
    assert any(each.value.startswith("Your turn") for each in place.info)
    assert not any("Your turn" in each.value for each in card.info)


def test_on_a_phone_question_answers_and_the_way_on_stand_below_all_else(monkeypatch):
    asked = {"User-Agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Mobile/15E148"}
    monkeypatch.setattr("streamlit.runtime.context.ContextProxy.headers", asked)
    at = lesson_opened()
    assert not at.main.radio and "leave_lesson" not in {e.key for e in at.main.button}
    run(guess(at, 1))  # a blank page first: what came of it stands at the top
    assert_works(at)
    assert "the measurement: 4.07" in at.main.success[0].value
    keys = {button.key for button in at.main.button}
    assert "lesson_on" not in keys and charts(at) > 1
    press(at, "lesson_on")
    at = run(at)
    assert at.main.number_input  # a curve is higher than a screen


def test_on_a_phone_the_way_on_stands_below_the_homework_that_is_saved(monkeypatch):
    asked = {"User-Agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Mobile/15E148"}
    monkeypatch.setattr("streamlit.runtime.context.ContextProxy.headers", asked)
    at = opened(ATTENTION, panel=None, lesson="homework-entropy", guesses="0:")
    order = [getattr(each.proto, "label", "") for each in at.main if hasattr(each, "proto")]
    way = next(i for i, label in enumerate(order) if "All lessons" in label)
    assert order.index("Your name") < order.index("Download guesses and measurements") < way


def test_no_empty_frame_stands_above_the_panel_on_a_phone(monkeypatch):
    asked = {"User-Agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Mobile/15E148"}
    monkeypatch.setattr("streamlit.runtime.context.ContextProxy.headers", asked)
    at = opened(ATTENTION, panel=None, lesson="attention-by-hand", guesses="0:0.07")
    assert charts(at) and not has_frame(at, "lesson_veil")
    assert has_frame(at, "lesson_card")


def has_frame(at: AppTest, key: str) -> bool:
    framed = [b for b in blocks_of(at.main) if key in getattr(b.proto, "id", "")]
    assert len(framed) <= 1
    return any(b.proto.flex_container.border for b in framed)


def blocks_of(block: Block) -> list[Block]:
    inside = [each for each in block.children.values() if isinstance(each, Block)]
    return inside + [deeper for each in inside for deeper in blocks_of(each)]


def test_the_numbers_of_a_curve_are_folded_on_a_phone(monkeypatch):
    answered = {"lesson_step": 1, "guesses": "1:0_0_0_0_0=0.1_0.2_0.3_0.4_0.75"}
    assert len(lesson_opened(**answered).table) == 1
    asked = {"User-Agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Mobile/15E148"}
    monkeypatch.setattr("streamlit.runtime.context.ContextProxy.headers", asked)
    at = lesson_opened(**answered)
    assert not at.table and any(each.label == "In numbers" for each in at.expander)


def test_the_step_is_one_piece_and_the_next_lesson_is_named_where_it_is_not_cut():
    at = lesson_opened(lesson_step=5)
    assert any("step\u00a06\u00a0of\u00a06" in each.value for each in at.caption)
    ways = [way.proto for way in at.get("page_link") if "Next lesson" in way.proto.label]
    assert [way.help for way in ways] == ["How many heads should a layer have?"]


def test_a_sentence_of_fewer_words_than_a_lesson_reads_is_said_to_be_short():
    at = opened(ATTENTION, panel=None, lesson="attention-by-hand", text="a b c d", own_text="Oh no")
    assert_works(at)
    assert "shorter than 4 words" in said(at)
    assert "shorter than" not in said(visit(at, panel=None, lesson="attention-by-hand", text="a b"))


@pytest.mark.parametrize(
    ("guesses", "kind", "word"),
    [
        ("0:1=4.07", "success", "**Right.**"),
        ("0:0=4.07", "warning", "**Not quite.**"),
        ("0:=4.07", "info", "The measured value is 4.07"),
    ],
)
def test_right_and_wrong_differ_in_word_sign_and_colour(guesses: str, kind: str, word: str):
    at = lesson_opened(None, guesses=guesses)
    found = next(each for each in at.main if each.type in ("success", "warning", "info"))
    assert (found.type, found.value.startswith(word)) == (kind, True) and found.icon


def test_a_number_arrives_with_the_click_that_ends_it():
    at = opened("pages/gpt.py", panel=None, lesson="next-word", lesson_step=2)
    assert not at.button(key="lesson_on").disabled
    press(at, "lesson_on")
    assert [each.value for each in at.main.warning] == ["Type a number first."]
    at.number_input[0].set_value(0.5)
    press(at, "lesson_on")
    assert at.query_params["guesses"] == "2:0.5"


def test_after_the_last_lesson_all_of_them_are_led_to():
    name = progress.names()[-1]
    steps = progress.lesson(name).steps
    page = f"pages/{steps[-1].page}.py"
    last = len(steps) - 1
    at = opened(page, panel=None, lesson=name, lesson_step=last, guesses=f"{last}:")
    assert any("All lessons" in way.proto.label for way in at.get("page_link"))


def test_what_came_of_a_guess_stands_above_what_explains_it():
    at = lesson_opened(guesses="0:1=4.07")
    after = progress.lesson(LESSON).steps[0].after
    order = [str(getattr(e, "value", None) or e.key) for e in at.main]
    verdict = next(i for i, each in enumerate(order) if each.startswith("**Right"))
    assert verdict < order.index("guess_picture") < order.index("lesson_on")  # beside the card
    assert order[verdict + 1] == after


def test_a_guess_stands_in_the_link_and_another_reader_sees_it():
    at = lesson_opened(1, guesses="0:0=4.07")
    assert "Your guess" in said(at) and charts(at) > 1


def test_on_and_back_keep_the_guesses_and_leaving_keeps_the_panel():
    at = lesson_opened(1, guesses="0:0=4.07")
    press(at, "lesson_on")
    assert charts(at) == 0 == len(at.sidebar.selectbox)  # a blank page first: browsers scroll up
    assert_works(run(at))
    assert at.sidebar.selectbox[0].proto.set_value  # drawn anew, it is told what it shows
    assert at.query_params["lesson_step"] == "1" and at.query_params["guesses"] == "0:0=4.07"
    run(press(at, "lesson_back"))
    assert "Your guess" in said(at)
    press(at, "leave_lesson")
    assert not {"lesson", "lesson_step", "guesses"} & at.query_params.keys()
    assert at.query_params["panel"] == "random-scores" and len(titles(at)) > 3


def test_who_leaves_comes_home_and_goes_on_where_the_lesson_was_left():
    at = lesson_opened(lesson_step=1, guesses="0:1=4.07", d_model=128)
    (leave,) = (e.proto for e in at.main if e.type == "page_link" and e.proto.label == "Leave")
    query = {name: each[0] for name, each in parse_qs(leave.query_string).items()}
    menu = (e.proto for e in at.sidebar if e.type == "page_link")
    assert leave.query_string in {e.query_string for e in menu if e.page == ""}
    assert leave.page == "" and dict(parse_qsl(query["left_lesson"]))["guesses"] == "0:1=4.07"
    home = visit(at.switch_page("app.py"), **{"panel": None, **query})
    assert_works(home)
    assert "lesson" not in home.query_params and "guesses and settings are saved" in said(home)
    reloaded = opened("app.py", **{"panel": None, **{n: t for n, t in home.query_params.items()}})
    assert_works(reloaded)
    assert "guesses and settings are saved" in said(reloaded)
    for nonsense in ("lesson=", "lesson=nosuch", "lesson=scaling&lesson_step=x&nope=1"):
        assert_works(opened("app.py", panel=None, left_lesson=nonsense))
    ways = (e.proto for e in home.main if e.type == "page_link")
    way = next(way for way in ways if way.label == "Why divide by √d? · step 2 of 6")
    query = {name: each[0] for name, each in parse_qs(way.query_string).items()}
    assert (query["guesses"], query["d_model"], query["panel"]) == (
        "0:1=4.07",
        "128",
        "random-scores",
    )
    at = visit(home.switch_page(ATTENTION), **query)
    assert_works(at)
    assert at.query_params["lesson_step"] == "1" and at.query_params["d_model"] == "128"
    last = visit(at, **{**query, "lesson_step": 5})
    press(last, "leave_lesson")
    assert "are saved" not in said(visit(last.switch_page("app.py"), preset=None, panel=None))


@pytest.mark.parametrize("guesses", GARBAGE)
@pytest.mark.thinned
def test_garbage_in_the_place_of_guesses_is_left_out(guesses: str):
    at = opened(ATTENTION, panel=None, lesson=LESSON, guesses=guesses)
    assert_works(at, warnings=None)
    assert "Your guess" not in said(at) or guesses.startswith("0:0=1;")


@pytest.mark.parametrize("step", [7, 11, 999, "x"])
@pytest.mark.thinned
def test_a_step_that_is_not_there_is_the_last_or_the_first(step: object):
    at = opened(ATTENTION, panel=None, lesson=LESSON, lesson_step=step)
    assert_works(at, warnings=None)
    assert "Leave" in {e.proto.label for e in at.main if e.type == "page_link"}


@pytest.mark.parametrize("name", ["no-such-lesson", "..", "../../etc/passwd", "a" * 41])
@pytest.mark.thinned
def test_a_lesson_that_is_not_there_leaves_the_page_as_it_is(name: str):
    at = opened(ATTENTION, panel=None, lesson=name)
    assert_works(at, warnings=None)
    assert len(titles(at)) > 3


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
    assert len(titles(at)) > 3


OWN = """+++
title = "My own"
minutes = 2
page = "attention"
+++

## One
Read *this*.

```step
set = "{set}"
ask = "How many?"
kind = "number"
truth = "weight(layer=0)"
```
"""


def home_with(content: bytes) -> AppTest:
    home = opened("app.py", preset=None, panel=None)
    home.file_uploader(key="own_lesson_file").set_value(("own.md", content, "text/markdown"))
    return run(home)


def test_a_lesson_that_a_reader_brings_is_played_in_this_session_alone():
    home = home_with(OWN.format(set="preset=course&n_heads=4").encode())
    assert_works(home)
    (way,) = [e.proto for e in home.main if e.type == "page_link" and e.proto.label == "My own"]
    query = {name: each[0] for name, each in parse_qs(way.query_string).items()}
    assert query["lesson"] == "brought" and query["n_heads"] == "4"
    at = visit(home.switch_page(ATTENTION), **{"panel": None, **query})
    assert_works(at)
    assert "Read *this*." in said(at) and "open_room" not in {b.key for b in at.button}
    press(at, "without_guess")
    assert "Measured: 1" not in said(at) and "Measured: 0" in said(at)
    other = opened(ATTENTION, panel=None, lesson="brought")
    assert_works(other)
    assert "is kept for one session only" in said(other) and len(titles(other)) > 3


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"\xff\xfe", "not a text file"),
        (b"Hello", "Line 1: a lesson begins"),
        (b"a" * 240_001, "at most 240,000 bytes"),
        (OWN.format(set="wheels=4").encode(), "Line 7, `One`: `wheels` is not a setting"),
        (OWN.format(set="n_heads=no").encode(), "`n_heads`=`no` is not valid"),
        (OWN.replace("weight(", "wait(").encode(), "no measurement named `wait`"),
        (OWN.replace("*this*", "<b>").encode(), "Line 8, `One`: a lesson is text only"),
        (OWN.replace('"attention"', '"../app"').encode(), "there is no page `../app`"),
    ],
)
def test_a_file_that_is_no_lesson_is_refused_with_a_sentence(content: bytes, fault: str):
    home = home_with(content)
    assert not home.exception and any(fault in each.value for each in home.error)
    assert "brought" not in home.session_state


@pytest.mark.parametrize(
    ("formula", "fault"),
    [
        ("weight(d_model=65536, n_heads=1)", "This run needs about"),
        ("stream_growth(depth=9999)", "depth must be"),
        ("score_std(d=1e9)", "d must be"),
    ],
)
def test_no_measurement_of_a_stranger_s_lesson_takes_the_machine(formula: str, fault: str):
    query = {"panel": None, "lesson": "brought", "lesson_step": 0}
    home = home_with(OWN.format(set="").replace("weight(layer=0)", formula).encode())
    at = press(visit(home.switch_page(ATTENTION), **query), "without_guess")
    assert not at.exception and [fault in each.value for each in at.warning] == [True]


BY_HAND = {"preset": None, "panel": None, "lesson": "attention-by-hand"}


def test_a_link_that_names_a_lesson_alone_sets_what_its_step_begins_with():
    at = opened(ATTENTION, **BY_HAND)
    assert_works(at)
    (given,) = (each.value for each in at.markdown if each.value.startswith("$q_4$ = $("))
    assert [line.count(".") for line in given.split("\n")] == [4, 4, 4, 1]
    set_by_it = {"preset": "course", "d_model": "16", "n_heads": "4"}
    set_by_it["text"] = "cats chase small dogs"
    assert set_by_it.items() <= at.query_params.items()
    later = opened(ATTENTION, **BY_HAND, lesson_step=3)  # which sets no text, but that one goes on
    assert later.query_params["text"] == "cats chase small dogs"
    own = opened(ATTENTION, **BY_HAND, own_text="My old cat sleeps here")
    assert own.query_params["text"] == "My old cat sleeps"


def test_of_numbers_beside_a_question_each_may_begin_a_line():
    at = opened(ATTENTION, **BY_HAND, d_model=128)
    (given,) = (each.value for each in at.markdown if each.value.startswith("$q_4$ = $("))
    formulas = re.findall(r"\$([^$]*)\$", given)
    assert max(each.count(".") for each in formulas) == 1 and given.count(".") == 3 * 32 + 1


def test_what_a_link_to_a_lesson_says_itself_wins_and_another_model_has_settings_of_its_own():
    at = opened(ATTENTION, **BY_HAND, d_model=32, text="a b c d")
    assert at.query_params["d_model"] == "32" and at.query_params["text"] == "a b c d"
    assert "d_model is `32` instead of `16`" in said(at)
    other = opened(ATTENTION, **{**BY_HAND, "preset": "gpt2-small"})
    assert_works(other)
    assert {"d_model", "n_heads"}.isdisjoint(other.query_params.keys() - said_as_default(other))


def said_as_default(at: AppTest) -> set[str]:
    """What the link says though the model has it anyway."""
    config = PRESETS[at.query_params["preset"]].flat()
    return {name for name, text in at.query_params.items() if str(config.get(name)) == text}


def test_a_setting_that_was_brought_back_to_its_default_stays_when_the_link_is_opened_again():
    at = opened(ATTENTION, **BY_HAND, lesson_step=3, guesses="3:")
    assert at.query_params["head"] == "1"
    move(at, "head", 0)
    move(at, "preset", "stories-en-zh")
    assert (at.query_params["head"], at.query_params["preset"]) == ("0", "stories-en-zh")
    again = opened(ATTENTION, **{"preset": None, "panel": None, **at.query_params})
    assert at.query_params.items() <= again.query_params.items()


@pytest.mark.parametrize("is_left", [True, False], ids=["left", "not left"])
def test_after_a_lesson_home_shows_what_stood_before_it_with_the_reader_s_sentence(is_left: bool):
    home = opened("app.py", preset="induction", panel=None, text="a1b2a1", seed=3)
    before = dict(home.query_params)
    way = progress_link(home, "Attention by hand")
    at = visit(home.switch_page(ATTENTION), **{"preset": None, "panel": None, **way})
    at = visit(at, **{"preset": None, "panel": None, **at.query_params, "lesson_step": "4"})
    assert at.query_params["preset"] == "course"
    if is_left:
        press(at, "without_guess")
        press(at, "leave_lesson")
        assert at.query_params["panel"] == "steps" and "lesson" not in at.query_params
        assert {"d_model", "n_heads", "token", "mask_kind"}.isdisjoint(at.query_params)
    query = {name: text for name, text in at.query_params.items() if name != "panel"}
    home = visit(at.switch_page("app.py"), **{"preset": None, "panel": None, **query})
    assert_works(home)
    after = {name: text for name, text in home.query_params.items() if name != "left_lesson"}
    assert after == before


def test_after_a_lesson_other_pages_have_what_was_set_on_them_before_it():
    at = opened("pages/cost.py", preset="gpt2-small", panel=None, counted_pass="training")
    home = visit(at.switch_page("app.py"), preset=None, panel=None, counted_pass=None)
    assert home.session_state["all_set"]["counted_pass"] == "training"
    way = progress_link(home, "Attention by hand")
    at = visit(home.switch_page(ATTENTION), **{"preset": None, "panel": None, **way})
    assert "counted_pass" not in at.session_state["all_set"]
    (leave,) = (e.proto for e in at.main if e.type == "page_link" and e.proto.label == "Leave")
    query = {name: each[0] for name, each in parse_qs(leave.query_string).items()}
    home = visit(at.switch_page("app.py"), **{"preset": None, "panel": None, **query})
    assert_works(home)
    assert home.session_state["all_set"]["counted_pass"] == "training"
    assert dict(home.query_params) == query


def test_who_leaves_a_lesson_reads_on_in_the_language_of_now():
    home = opened("app.py", preset=None, panel=None, lang="zh")
    at = visit(home.switch_page(ATTENTION), **{**BY_HAND, "lesson_step": 4, "lang": None})
    press(at, "without_guess")
    press(at, "leave_lesson")
    assert "lang" not in at.query_params


def progress_link(home: AppTest, title: str) -> dict[str, str]:
    """What the way into a lesson says."""
    ways = (e.proto for e in home.main if e.type == "page_link" and title in e.proto.label)
    return {name: each[0] for name, each in parse_qs(next(ways).query_string).items()}


def test_who_opens_a_lesson_from_a_link_has_the_defaults_after_it():
    at = opened(ATTENTION, **BY_HAND, lesson_step=4, text="a b c d", own_text="My own sentence")
    press(at, "without_guess")
    press(at, "leave_lesson")
    assert dict(at.query_params) == {"panel": "steps", "text": "My own sentence"}


MAP = {"panel": None, "lesson": "attention-by-hand", "lesson_step": 2, "text": "a b c"}
MAP |= {"d_model": 16, "n_heads": 4}


def mark(at: AppTest, row: int, column: int) -> AppTest:
    for widget, place in zip(at.main.selectbox, (row, column), strict=True):
        widget.set_value(place)
    return press(run(at), "lesson_on")


def test_a_cell_is_marked_by_keyboard_and_stands_beside_the_truth():
    at = opened(ATTENTION, **MAP)
    assert at.button(key="lesson_on").disabled
    mark(at, 2, 1)
    assert_works(at, warnings=1)
    assert at.query_params["guesses"] == "2:2_1"
    assert "row 3 (`c`), column 2 (`b`)" in said(at) and "row 1 (`a`), column 1" in said(at)
    _cells, guessed, measured = figure(at, "guess_picture")["data"]
    assert (guessed["x"], guessed["y"], measured["x"], measured["y"]) == ([1], [2], [0], [0])
    shown = visit(at, **{**MAP, "text": "d e", "guesses": "2:2_1=0_0_3_3"})
    assert_works(shown)
    assert "Your guess" not in said(shown)  # of two words there is no third


def test_cells_of_a_class_are_counted_in_one_map():
    leader = opened(ATTENTION, **MAP)
    press(visit(leader, **{**MAP, "lesson_step": 0}), "open_room")
    code, seat = (leader.query_params[name] for name in ("room", "seat"))
    visit(leader, **MAP, room=code, wall=True, seat=seat)
    for i, cell in enumerate(((2.0, 1.0), (2.0, 1.0), (0.0, 0.0), (3.0, 0.0), (0.0,))):
        machine.rooms().guess(code, f"learner{i}", 2, cell)
    assert_works(run(leader))
    assert "5 guesses" in said(leader) and "appear here together with the answer" in said(leader)
    run(press(leader, "without_guess"))
    counts, measured = figure(leader, "wall_picture")["data"][:2]
    assert counts["text"] == [["1", "", ""], ["", "", ""], ["", "2", ""]]
    assert measured["x"] == [0]


def test_a_curve_is_guessed_point_by_point_and_kept_when_each_is_set():
    at = lesson_opened(lesson_step=1, mask_kind="none")
    points = [at.number_input(key=f"guess_scaling_1_{i}") for i in range(5)]
    assert [each.value for each in points] == [None] * 5
    for each in points[:4]:
        each.set_value(0.25)
    run(at)
    assert figure(at, "guess_curve")["data"][0]["y"] == [0.25, 0.25, 0.25, 0.25, None]
    assert at.button(key="lesson_on").disabled and "Set every point first" in said(at)
    at.number_input(key="guess_scaling_1_4").set_value(0.5)
    assert "Set every point first" not in said(run(at))
    press(at, "lesson_on")
    assert_works(at)
    assert at.query_params["guesses"] == "1:0.25_0.25_0.25_0.25_0.5"
    assert at.table[0].value["guessed"].tolist() == ["0.25", "0.25", "0.25", "0.25", "0.5"]
    assert "furthest off at" in said(at)


def test_a_question_about_the_own_sentence_waits_for_one():
    query = {"preset": None, "panel": None, "lesson": "tokens", "lesson_step": 1}
    at = opened("pages/gpt.py", **query)
    question(at).set_value(0)
    run(at)
    assert at.button(key="lesson_on").disabled and "First write a sentence of your own" in said(at)
    written = opened("pages/gpt.py", **query, text="My cat naps.")
    question(written).set_value(0)
    run(written)
    assert not written.button(key="lesson_on").disabled
    assert "First write a sentence of your own" not in said(written)


def test_a_curve_is_drawn_beside_the_card_though_its_panel_is_shown():
    at = opened("pages/gpt.py", preset=None, panel=None, lesson="tokens", lesson_step=4)
    assert_works(at)
    order = [e.proto.id for e in at.main if e.type == "plotly_chart"]
    assert order[0].endswith("-guess_curve") and "once you have guessed" not in said(at)


def test_an_order_is_kept_when_each_was_chosen_once():
    at = opened("pages/gpt.py", preset=None, panel=None, lesson="feed-forward", lesson_step=3)
    assert at.button(key="lesson_on").disabled and "First fill every place" in said(at)
    for place in range(3):
        at.selectbox(key=f"guess_feed-forward_3_{place}").set_value(place)
    run(at)
    assert not at.button(key="lesson_on").disabled and "First fill every place" not in said(at)


TRANSLATED = {"panel": None, "preset": "translator", "lesson": "translation", "lesson_step": 5}
TRANSLATED |= {"text": "She read two books in the park yesterday."}


def test_a_lesson_names_the_words_that_a_decoder_has_to_write():
    at = opened("pages/seq2seq.py", **TRANSLATED, target_step=0)
    press(at, "solve_task")
    assert_works(at)
    assert at.query_params["forced_ids"] == "379" and any("Done" in e.value for e in at.success)


def test_a_solution_runs_what_it_asks_for():
    query = {"panel": None, "preset": "stories-en-zh", "lesson": "feed-forward", "lesson_step": 3}
    at = press(opened("pages/gpt.py", **query, guesses="3:2_1_0"), "solve_task")
    assert_works(at)
    assert "effects_begin" not in {button.key for button in at.button}
    assert figure(at, "effects")["data"]


# A class


def led() -> tuple[AppTest, str]:
    """Who leads a class, and the code of its room."""
    leader = lesson_opened()
    press(leader, "open_room")
    assert_works(leader)
    return leader, leader.query_params["room"]


def guess(at: AppTest, place: int) -> AppTest:
    question(at).set_value(place)
    run(at)
    return press(at, "lesson_on")


def on_the_wall(at: AppTest) -> list[int]:
    code, word = at.query_params["room"], at.query_params["seat"]
    machine.rooms().hold(code, word, is_held=False)  # what is held back is not drawn
    return figure(run(at), "wall_picture")["data"][0]["x"]


def test_guesses_of_a_class_stand_on_the_wall_beside_the_truth():
    leader, code = led()
    n_options = len(on_the_wall(leader))
    learners = [lesson_opened(room=code) for _i in range(3)]
    for learner, place in zip(learners, (0, 1, 1), strict=True):
        guess(learner, place)
        assert_works(learner, warnings=None)
        assert "wall_picture" not in str([c.proto.id for c in learner.get("plotly_chart")])
    assert on_the_wall(leader) == [1, 2, *[0] * (n_options - 2)]
    assert "3 learners" in said(leader) and code in said(leader)
    colors = {*figure(leader, "wall_picture")["data"][0]["marker"]["color"]}
    press(leader, "without_guess")
    assert_works(leader)
    assert {*figure(leader, "wall_picture")["data"][0]["marker"]["color"]} > colors
    assert on_the_wall(leader) == [1, 2, *[0] * (n_options - 2)]


def test_a_reload_counts_once_and_another_lesson_counts_nothing():
    leader, code = led()
    learner = guess(lesson_opened(room=code), 0)
    again = {name: learner.query_params[name] for name in ("room", "seat")}
    guess(lesson_opened(**again), 1)
    other = opened("pages/block.py", panel=None, lesson="heads", room=code)
    assert_works(other, warnings=None)
    assert sum(on_the_wall(leader)) == 1


def test_a_guess_comes_to_a_room_of_its_own_lesson_alone():
    leader, code = led()
    other = press(lesson_opened(lesson="attention-by-hand", lesson_step=0), "open_room")
    other_code = other.query_params["room"]
    guess(lesson_opened(None, room=other_code), 1)  # a learner of the first lesson, twice
    guess(lesson_opened(None, room=code), 1)
    found = [machine.rooms().room(each) for each in (code, other_code)]
    assert [(room.lesson, room.n_learners) for room in found] == [
        (LESSON, 1),
        ("attention-by-hand", 0),
    ]
    assert sum(on_the_wall(leader)) == 1


@pytest.mark.parametrize("code", ["ABCDEF", "<b>", "", "000000", "abcdefg"])
def test_a_room_that_is_not_there_disturbs_no_learner(code: str):
    assert_works(opened(ATTENTION, panel=None, lesson=LESSON, room=code, wall=True), warnings=None)
    at = opened(ATTENTION, panel=None, lesson=LESSON, room=code)
    assert_works(at, warnings=None)
    guess(at, 0)
    assert_works(at, warnings=None)
    assert "Your guess" in said(at)


def test_a_stranger_s_guess_that_is_none_is_not_drawn():
    leader, code = led()
    machine.rooms().guess(code, "x", 0, (77.0,))
    machine.rooms().guess(code, "y", 0, (0.5, 0.5))
    assert sum(on_the_wall(leader)) == 0
    assert_works(leader)


def test_who_types_the_code_on_home_is_led_to_the_lesson():
    _leader, code = led()
    home = opened("app.py", preset=None, panel=None)
    assert joined_from(home, code.lower())["room"] == code
    home.text_input(key="room_code").set_value("ZZZZZZ")
    run(home)
    assert "No open room has this code" in said(home)


def joined_from(home: AppTest, code: str) -> dict[str, str]:
    """What the link says to which a code leads that is typed on Home."""
    with pytest.MonkeyPatch.context() as patch:
        went = list[dict[str, str]]()
        patch.setattr(
            joining.st, "switch_page", lambda _path, query_params: went.append(query_params)
        )
        home.text_input(key="room_code").set_value(code)
        run(home)
    assert_works(home)
    return went[-1]


def test_the_line_above_says_nothing_that_is_asked():
    at = opened("pages/gpt.py", preset=None, panel=None, lesson="tokens")
    assert "features" not in said(at)
    press(at, "without_guess")
    assert "features" not in said(at)  # the card stays where it was
    press(at, "leave_lesson")
    assert "features" in said(at)


def test_who_joins_by_code_sees_what_the_leader_has_set():
    leader = lesson_opened(text="four quiet words here", d_model=128)
    press(leader, "open_room")
    home = opened("app.py", preset=None, panel=None, lang="zh")
    way = joined_from(home, leader.query_params["room"])
    assert (way["text"], way["lang"]) == ("four quiet words here", "zh") and "wall" not in way


def test_a_lesson_that_is_through_does_not_follow_to_another_page():
    last = {"lesson": "tokens", "lesson_step": 4, "panel": None, "text": " Tom and Tom"}
    at = opened("pages/attention.py", preset="stories-en-zh", **last)
    assert "Back to the lesson" in {e.proto.label for e in at.main if e.type == "page_link"}
    at = opened("pages/attention.py", preset="stories-en-zh", guesses="4:1_1_1_1", **last)
    assert_works(at)
    assert "lesson" not in at.query_params


def test_home_begins_anew_after_a_lesson_with_the_reader_s_own_sentence():
    at = opened(
        "pages/attention.py", panel=None, lesson="attention-by-hand", text="cats", own_text="my own"
    )
    home = visit(
        at.switch_page("app.py"),
        preset="course",
        panel=None,
        lesson="attention-by-hand",
        text="cats",
        own_text="my own",
    )
    assert_works(home)
    assert dict(home.query_params).keys() == {"preset", "text", "left_lesson"}
    assert home.query_params["text"] == "my own"


def test_what_was_computed_by_hand_is_right_within_rounding():
    of = {
        "lesson": "attention-by-hand",
        "lang": "zh",
    }  # there the exact score ends in another digit
    at = opened(ATTENTION, panel=None, **of, d_model=16, n_heads=4)
    (given,) = (each.value for each in at.markdown if each.value.startswith("$q_4$ = $("))
    numbers = [[*map(float, re.findall(r"-?\d\.\d+", line))] for line in given.split("\n")]
    q, k, other_k, (example,) = numbers
    by_hand, as_told = (
        sum(a * b for a, b in zip(q, each, strict=True)) / 2 for each in (k, other_k)
    )
    assert f"{as_told:.3f}" == f"{example:.3f}"
    ((_guess, answer),) = press(at, "without_guess").session_state[progress.MEASURED.name].values()
    (truth,) = answer.truth
    assert by_hand == pytest.approx(truth, abs=0.005)
    assert not any(each.value.startswith("$q_4$ = $(") for each in at.markdown)
    for share, is_right in ((0.951, True), (1.049, True), (0.949, False), (1.051, False)):
        shown = visit(at, panel=None, **of, d_model=16, n_heads=4, guesses=f"0:{share * truth:.6f}")
        assert bool(shown.success) is is_right
    turned = visit(at, panel=None, **of, lesson_step=1, d_model=16, n_heads=4, guesses="1:1")
    told = next(each.value for each in turned.markdown if each.value.startswith("$q_4\\cdot k_1$"))
    dot, other = map(float, re.findall(r"\$(-?\d\.\d{3})\$", told))
    assert dot == pytest.approx(2 * truth, abs=0.001)
    assert dot != other


def test_the_way_to_a_step_on_another_page_keeps_room_guesses_and_sentence():
    at = opened(
        "pages/parameters.py",
        **{"panel": None, "lesson": "heads", "lesson_step": 1, "room": "ABCDEF", "seat": "a1"},
        **{"preset": "gpt2-small", "guesses": "1:2_1_0=1_2_3", "text": "four quiet words"},
    )
    assert_works(at, warnings=None)
    links = [e.proto for e in at.main if e.type == "page_link" and e.proto.page == "attention"]
    (query,) = (parse_qs(way.query_string) for way in links if "Next step" in way.label)
    wanted = {"room": "ABCDEF", "seat": "a1", "text": "four quiet words", "lesson_step": "2"}
    assert wanted.items() <= {name: each[0] for name, each in query.items()}.items()
    assert query["n_heads"] == ["16"] and query["preset"] == ["course"]


def test_settings_changed_in_a_lesson_are_named_and_set_back():
    at = opened("pages/normalization.py", panel=None, lesson="pre-or-post", race_depth=4)
    assert "set_back" not in {button.key for button in at.button}
    query = {"panel": None, "lesson": "pre-or-post", "race_depth": 4, "preset": "gpt2-small"}
    at = press(visit(at, **query), "without_guess")
    (said_so,) = at.warning
    assert "No training run with these settings was recorded" in said_so.value
    assert "Preset is `GPT-2 small` instead of" in said(at) and "Error" not in said(at)
    run(press(at, "set_back"))  # a blank page first
    assert at.query_params.get("preset", ["course"]) in ("course", ["course"])
    press(at, "without_guess")
    assert_works(at)
    assert "measured value is 0.8" in said(at)


@pytest.mark.parametrize("step", [0, 2])
def test_the_word_that_is_asked_about_is_the_one_outlined(step: int):
    lesson = progress.lesson("translation")
    assert lesson is not None
    asked_about = re.search(r"writes (\w+)", lesson.steps[step].ask.question)[1]
    query = dict(lesson.steps[step].set)
    query["text"] = query["text"].replace("+", " ")
    at = opened("pages/seq2seq.py", panel="alignment", **query)  # beside the card this is not said
    assert_works(at)
    assert f"The outlined word `{asked_about}` is linked" in said(at)


def test_no_tooltip_of_the_card_covers_the_buttons_of_the_answer():
    at = lesson_opened()
    assert not at.button(key="open_room").help  # it would open upwards, onto them
    assert any("Learners join anonymously with a code" in each.value for each in at.main.markdown)


def test_the_head_that_a_question_is_about_is_set_back_where_another_was_opened():
    query = {"lesson": "attention-by-hand", "text": "cats chase small dogs", "d_model": 16}
    at = opened(ATTENTION, **query, panel=None, preset="course", n_heads=4, head=2)
    assert "Head is `3` instead of `1`" in said(at)
    press(at, "set_back")
    assert "head" not in at.query_params and "instead of `1`" not in said(at)


def test_the_end_says_what_was_learned_and_how_many_guesses_were_right():
    end = {"lesson_step": 5, "is_scaled": False, "d_head": 256}
    guesses = "0:1;1:;2:0"
    at = lesson_opened(**end, guesses=guesses)
    end_said, done = at.success
    assert "3 guesses have not been compared" not in end_said.value  # one was none
    assert "2 guesses have not been compared with measurements here" in end_said.value
    at = through(at, guesses, **end)
    end_said, done = at.success
    assert done.value.startswith("Done") and "1 of 2 guesses were right." in end_said.value
    assert "Divided by √d they keep" in end_said.value
    assert "3 questions." in end_said.value and "not been compared" not in end_said.value
    drawn = "0:1;1:0_0_0_0_0.5"
    end_said, _done = through(at, drawn, **end).success
    assert "1 of 1 guess was right. Your curve in step 2 was off by at most 0.85." in end_said.value
    assert not lesson_opened(lesson_step=5, guesses=drawn).success  # the task is open
    begun = lesson_opened(lesson_step=0, guesses="0:1=4.07")
    assert not any("guess" in each.value and "were right" in each.value for each in begun.success)


def through(at: AppTest, guesses: str, **end: object) -> AppTest:
    """The same reader sees what came of each guess, and then the end."""
    for step in (0, 1, 2):
        visit(at, panel=None, lesson=LESSON, lesson_step=step, guesses=guesses)
    return visit(at, panel=None, lesson=LESSON, **end, guesses=guesses)


def test_what_a_task_counts_is_told_while_it_is_open():
    at = opened("pages/gpt.py", panel=None, lesson="tokens", lesson_step=1, text="An owl.")
    assert "Words and marks = $3$" in said(at)


def test_a_step_shows_nothing_of_the_step_before_it():
    query = {"lesson": "residual", "lesson_step": 2, "residual": False, "depth": 12}
    guesses = "2:=0.5_0.9_1_1_1;3:=0.00001"
    at = opened("pages/normalization.py", panel="depth", **query, guesses=guesses)
    assert_works(at)
    press(at, "try_residual")
    assert "previous settings" in {each.get("name") for each in figure(at, "depth_panels")["data"]}
    at = run(press(at, "lesson_on"))
    assert_works(at)
    assert at.query_params["lesson_step"] == "3"
    drawn = {each.get("name") for each in figure(at, "depth_panels")["data"]}
    assert "previous settings" not in drawn


@pytest.mark.parametrize(("step", "is_open"), [(0, False), (1, True)])
def test_on_a_phone_a_question_is_open_where_text_and_question_have_room(step: int, is_open: bool):
    at = opened(ATTENTION, **BY_HAND)
    at.session_state["narrow_and_touched"] = True
    visit(at, **BY_HAND, lesson_step=step)
    (fold,) = (e.proto for e in at.get("expander") if "?" in e.label)
    assert fold.expanded == is_open
