"""A handout is read at home: its way back is one that leads somewhere there."""

from datetime import UTC, datetime

import pytest

from pages.show.page_file import Head, page_file

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
