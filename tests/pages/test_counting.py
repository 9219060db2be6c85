"""On the screen everything counts from 1; links, files and code count from 0."""

import re

import pytest
from opened import BLOCK, assert_counts_from_1, control, move, opened, said, settings
from streamlit.testing.v1.element_tree import Selectbox

CASES = (  # beside every page with every preset: see `test_pages`
    ("pages/attention.py", {"n_kv_heads": 2, "n_heads": 4}),
    ("pages/feed_forward.py", {"n_experts": 4, "expert": 0, "unit": 0}),
    ("pages/positions.py", {"shown_position": "alibi"}),
)


@pytest.mark.parametrize("locale", ["en", "zh"])
@pytest.mark.parametrize(("page", "query"), CASES, ids=[page for page, _query in CASES])
@pytest.mark.thinned
def test_nothing_on_the_screen_counts_from_0(page: str, query: dict[str, object], locale: str):
    at = opened(page, locale, head=0, layer=0, **query)
    assert_counts_from_1(at)


@pytest.mark.parametrize(
    ("page", "query", "name", "last"),
    [
        (BLOCK, {"d_model": 64, "n_heads": 64}, "head", 64),
        ("pages/positions.py", {"shown_position": "alibi"}, "position_pair", 8),
        ("pages/feed_forward.py", {"d_model": 32, "d_ff": 64}, "unit", 64),
    ],
)
def test_a_number_is_shown_from_1_and_stands_in_the_link_from_0(
    page: str, query: dict[str, object], name: str, last: int
):
    at = opened(page, **query, **{name: 0})
    shown = control(at, name)
    if isinstance(shown, Selectbox):  # many heads are chosen by their names
        assert [shown.options[i] for i in (0, -1)] == ["1", str(last)] and shown.index == 0
        move(at, name, last - 1)
    else:
        assert shown.value == 1
        move(at, name, last)
    assert settings(at)[name] == str(last - 1)
    assert re.search(rf"(Head|Unit) {last}\b", said(at))
