"""The reader's own sentence in a lesson that reads a few words."""

import pytest

from blocks.lessons import shelf
from blocks.weights.known import FRANCE
from pages.server.settings import MAX_CHARACTERS
from pages.stage import link, progress

pytestmark = pytest.mark.usefixtures("session")

OWN = "My grandmother repairs old violins."


@pytest.mark.parametrize(
    ("own", "read"),
    [
        (OWN, "My grandmother repairs old"),
        ("我奶奶修旧琴。", "我奶奶修"),
        ("Three small words", "cats chase small dogs"),
        ("", "cats chase small dogs"),
    ],
)
def test_the_first_words_of_the_reader_s_own_sentence_are_read(own: str, read: str):
    link.sync("page")
    link.change("text", own)
    found = shelf.lesson("attention-by-hand", "en")
    assert found
    _page, query = progress.way_in(found)
    assert query["text"] == read and query.get("own_text", "") == own


@pytest.mark.parametrize("name", shelf.names())
def test_the_ways_into_lessons_carry_no_more_of_a_long_text_than_any_link(name: str):
    link.sync("page")
    link.change("text", "word " * MAX_CHARACTERS)
    found = shelf.lesson(name, "en")
    assert found
    _page, query = progress.way_in(found)
    assert max(map(len, query.values())) <= MAX_CHARACTERS


def test_who_comes_back_to_the_first_step_finds_the_same_words():
    link.sync("page")
    state = {"lesson": "attention-by-hand", "lesson_step": 1, "own_text": OWN, "text": "a b c d"}
    link.become(state)
    progress.go(0)
    assert link.value("text") == "My grandmother repairs old" and link.value("own_text") == OWN


def test_a_sentence_written_in_a_lesson_leaves_home_its_own():
    link.sync("page")
    link.become({"lesson": "attention-by-hand", "lesson_step": 1, "own_text": OWN, "text": "a b"})
    link.BEFORE_LESSON.keep({"text": "Dogs chase cats", "token": "1"})
    _page, query = progress.way_home()
    assert (query["text"], query["token"]) == ("Dogs chase cats", "1")


def test_a_text_for_trying_out_goes_and_the_reader_s_own_sentence_comes_back():
    link.sync("page")
    link.become({"lesson": "tokens", "lesson_step": 1, "text": "Enzymes digest my breakfast."})
    progress.go(3)
    tried, own = link.value("text"), link.value("own_text")
    progress.go(4)
    kept = link.value("text")
    progress.go(1)
    assert tried == kept == " She saw a ball" and own == "Enzymes digest my breakfast."
    assert link.value("text") == own and "own_text" not in link.state()


def test_what_home_opens_with_is_nobody_s_own_sentence():
    link.sync("page")
    link.become({"text": FRANCE})
    assert progress.own_text() == ""


def test_of_a_reader_who_wrote_nothing_a_text_for_trying_out_goes_too():
    link.sync("page")
    link.become({"lesson": "tokens", "lesson_step": 1})
    progress.go(3)
    progress.go(2)
    assert "text" not in link.state() and "own_text" not in link.state()
