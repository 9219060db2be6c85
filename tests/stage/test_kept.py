"""Configurations that are kept: in the link whatever they are called, and set as they were."""

import pytest
import streamlit as st
from hypothesis import given
from hypothesis import strategies as some

from pages.server.readers import UnreadableError
from pages.show import beside
from pages.stage import kept, link
from pages.state.fields import FIELDS
from pages.state.link_fields.compare import (
    LONGEST_NAME,
    MOST_KEPT,
    Kept,
    kept_of,
    kept_text,
    text_of,
)

NAMES = some.text(min_size=1, max_size=LONGEST_NAME)
QUERIES = some.dictionaries(some.sampled_from([*FIELDS]), some.text(min_size=1, max_size=12))


@pytest.fixture(autouse=True)
def state():
    """A session of its own."""
    st.session_state.clear()
    yield
    st.session_state.clear()


def surrogates_replaced(text: str) -> str:
    return text.encode(errors="replace").decode()


@given(some.dictionaries(NAMES, QUERIES, max_size=MOST_KEPT))
def test_any_name_and_any_value_survive_the_link(found: dict[str, dict[str, str]]):
    entries = tuple(Kept(name, tuple(query.items())) for name, query in found.items())
    text = text_of(entries)
    assert kept_text(text) == text
    assert kept_of(text) == tuple(
        Kept(surrogates_replaced(name), tuple((key, surrogates_replaced(v)) for key, v in query))
        for name, query in entries
    )


@given(some.text(max_size=60))
def test_any_text_is_read_or_refused(text: str):
    try:
        read = kept_text(text)
    except UnreadableError as error:
        assert error.nearest == ""
    else:
        assert kept_text(read) == read
        link.become({"kept": read} if read else {})
        for entry in kept.all_kept():
            assert link.mend(kept.values_with(entry)).faults == ()


def test_a_link_that_is_too_long_is_refused():
    with pytest.raises(UnreadableError):
        kept_text("a=" + "b" * 100_000)


def test_what_is_kept_is_the_model_and_not_the_input():
    link.become({"preset": "course", "n_heads": 4, "text": "one two", "seed": 3, "lang": "zh"})
    kept.keep()
    link.change("n_heads", 16)
    link.change("text", "three")
    link.change("seed", 5)
    entry = kept.a()
    assert entry is not None
    with link.as_if(kept.values_with(entry)):
        assert link.config().n_heads == 4
        assert (link.value("text"), link.value("seed"), link.value("lang")) == ("three", 5, "zh")
    assert link.config().n_heads == 16


def test_a_is_run_on_the_text_of_b_even_where_it_begins_with_its_own():
    link.become({"preset": "induction"})
    kept.keep()
    link.change("preset", "course")
    run = beside.run_of(kept.a(), None)
    with link.as_if(kept.values_with(kept.a())):
        assert link.value("text") == link.value_in({"preset": "course"}, "text")
    assert run.weights == "induction"


def test_swapping_twice_changes_nothing():
    link.become({"preset": "course", "d_ff": 512})
    kept.keep()
    link.change("d_ff", 2048)
    kept.swap()
    assert link.config().d_ff == 512
    kept.swap()
    assert link.config().d_ff == 2048
    assert dict(kept.a().query)["d_ff"] == "512"


def test_kept_in_the_list_a_stays_as_it_is():
    link.become({"preset": "course", "n_heads": 4})
    kept.keep_in_list()
    assert dict(kept.a().query)["n_heads"] == "4"
    for n_layers in range(2, MOST_KEPT + 4):
        link.change("n_layers", n_layers)
        kept.keep_in_list()
        assert dict(kept.a().query)["n_heads"] == "4"
        assert "n_layers" not in dict(kept.a().query)
    assert len(kept.all_kept()) == MOST_KEPT
    kept.keep()
    assert kept.a() == kept.all_kept()[-1]


def test_a_name_says_what_was_changed_and_follows_it():
    link.become(
        {"preset": "course", "n_kv_heads": 2, "norm_placement": "post", "norm_kind": "none"}
    )
    kept.keep()
    assert kept.a().name == "Course block · n_kv_heads 2 · post …"
    link.become({"preset": "course", "residual": False, "kept": link.value("kept")})
    kept.swap()
    assert kept.a().name == "Course block · residual false"
    kept.keep_in_list()
    kept.take(0)
    kept.keep_in_list()
    assert kept.all_kept()[2].name == "Course block · residual false 2"
    kept.rename(0, "my own")
    link.change("seed", 4)
    kept.swap()
    assert kept.a().name == "my own"


def test_what_cannot_be_is_said_and_mended_once():
    impossible = {"preset": "course", "n_heads": "7", "d_model": "many"}
    gone = {"preset": "run-gone"}
    names = {"odd": impossible, "gone": gone, "good": {"preset": "gpt2-small"}}
    text = text_of(tuple(Kept(name, tuple(query.items())) for name, query in names.items()))
    link.become({"kept": text, "compared_with": 1})
    assert [each.name for each in kept.all_kept()] == ["odd", "good"]
    said = kept.mend()
    assert [sentence.partition(":")[0] for sentence in said] == ["`odd`", "`odd`", "`gone`"]
    assert "n_heads" in "".join(said) and "many" in "".join(said)
    assert kept.mend() == []
    assert kept.a().name == "good"
    query = dict(kept.all_kept()[0].query)
    assert "n_heads" not in query and query["preset"] == "course"


def test_a_place_beyond_the_list_is_the_last():
    assert FIELDS["compared_with"].read("99") == MOST_KEPT - 1
    assert FIELDS["compared_with"].read("-4") == 0
    with pytest.raises(UnreadableError):
        FIELDS["compared_with"].read("first")


def test_names_are_free_and_short_and_the_oldest_goes_first():
    link.become({"preset": "course"})
    for _ in range(MOST_KEPT + 3):
        kept.keep()
    names = [each.name for each in kept.all_kept()]
    assert len(set(names)) == len(names) == MOST_KEPT
    kept.rename(0, "  " + "x" * 99)
    kept.rename(1, "x" * 99)
    first, second = (each.name for each in kept.all_kept()[:2])
    assert first == "x" * LONGEST_NAME and first != second and len(second) <= LONGEST_NAME
    kept.rename(0, "   ")
    assert kept.all_kept()[0].name == first


def test_dropping_leaves_a_where_it_was():
    link.become({"preset": "course"})
    for n_heads in (2, 4, 8):
        link.change("n_heads", n_heads)
        kept.keep()
    link.change("compared_with", 1)
    kept.drop(0)
    assert kept.all_kept().index(kept.a()) == 0
    kept.drop(0)
    kept.drop(0)
    kept.drop(0)
    assert kept.a() is None


def test_another_state_is_read_for_a_moment_only():
    link.become({"seed": 1})
    with pytest.raises(ZeroDivisionError), link.as_if({"seed": 2}):
        assert link.value("seed") == 2
        _ = 1 / 0
    assert link.value("seed") == 1


def test_an_automatic_name_is_said_in_the_language_of_the_reader(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept, "current_language", lambda: "en")
    kept.keep()
    kept.keep()
    kept.rename(1, "mine")
    kept.keep()
    english = [each.name for each in kept.all_kept()]
    monkeypatch.setattr(kept, "current_language", lambda: "zh")
    chinese = [each.name for each in kept.all_kept()]
    assert english[1] == chinese[1] == "mine"
    assert english[0] != chinese[0] and english[2] == f"{english[0]} 2"
    assert chinese[2] == f"{chinese[0]} 2"
