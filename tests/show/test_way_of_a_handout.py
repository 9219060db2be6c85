"""A handout is read at home: its way back leads somewhere there; what is long is folded."""

from datetime import UTC, datetime

import pandas as pd
import pytest

from pages.show.page_file import Head, Panel, Part, page_file
from pages.show.seen import Node

ASKED = "attention?panel=pattern&d_model=64"
MADE = datetime(2026, 1, 2, tzinfo=UTC)


def head_of(link: str) -> str:
    return page_file(Head("Attention", link, MADE, "", ()), ()).replace("&amp;", "&")


def test_a_link_that_others_can_open_is_a_link():
    link = f"https://example.org/app/{ASKED}"
    assert f"<a href='{link}'>" in head_of(link)


@pytest.mark.parametrize("host", ["127.0.0.1:8501", "localhost:8501", "[::1]:8501"])
def test_of_an_address_of_this_machine_it_says_what_to_add_to_ones_own(host: str):
    written = head_of(f"http://{host}/{ASKED}")
    assert host not in written and f"your Blockscope: /{ASKED}" in written


@pytest.mark.parametrize("host", ["example.org", "localhost:8501"])
def test_a_long_address_is_folded(host: str):
    for more, is_folded in (("", False), ("&text=" + 120 * "a", True)):
        written = head_of(f"http://{host}/{ASKED}{more}")
        assert ("<details" in written) == is_folded
        assert f"/{ASKED}{more}" in written


@pytest.mark.parametrize(("n", "more"), [(10, None), (11, "1 more row"), (330, "320 more rows")])
def test_ten_rows_of_a_table_are_seen_and_the_others_folded(n: int, more: str | None):
    parts = [Part("table", pd.DataFrame({"head": [f"no. {i}" for i in range(n)]}))]
    written = page_file(
        Head("Attention", "", MADE, "", ()), [Panel("Heads", Node(), lambda: parts)]
    )
    seen, _, folded = written.partition("<details>")
    assert seen.count("<td>") == 10 and folded.count("<td>") == n - 10
    assert written.count("<th>head</th>") == (2 if more else 1)
    assert (f"<summary>{more}</summary>" in folded) == bool(more)


def test_of_colours_within_each_other_the_text_is_left():
    parts = [Part("markdown", ":blue-background[**Tom** :gray[:small[87]]]")]
    written = page_file(Head("GPT", "", MADE, "", ()), [Panel("Read", Node(), lambda: parts)])
    assert "<strong>Tom</strong> 87<" in written
