"""A link, and a server that has shown nothing yet."""

import pytest
from playwright.sync_api import Browser, expect
from served import DESK, Reader, serving
from told import at, query


@pytest.fixture
def cold_reader(browser: Browser):
    """Someone who opens the first link of a fresh server."""
    with serving() as server, browser.new_context(**DESK) as context:
        reader = Reader(context, server)
        yield reader
        reader.leave()


def test_a_deep_link_into_a_cold_server_shows_what_it_says(cold_reader: Reader):
    page = cold_reader.open(
        "/block?preset=course&d_model=512&n_heads=4&norm_placement=post&lang=zh"
    )
    expect(page.locator("h1")).to_have_text("一个 Transformer 块")
    expect(at(page, "d_model").get_by_test_id("stSliderThumbValue")).to_have_text("512")
    expect(at(page, "n_heads").get_by_test_id("stSliderThumbValue")).to_have_text("4")
    expect(at(page, "norm_placement").locator("[aria-checked=true]")).to_have_count(1)
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_test_id("stAlertContentWarning")).to_have_count(0)
    wanted = {"d_model": "512", "n_heads": "4", "norm_placement": "post", "lang": "zh"}
    assert query(page) == wanted
