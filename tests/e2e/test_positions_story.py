"""The page of positions in front of a reader."""

from playwright.sync_api import expect
from served import Reader
from told import at, expect_query, press, settle


def test_a_slider_whose_range_was_another_for_a_while_shows_what_is_set(reader: Reader):
    page = reader.open(
        "/positions?preset=course&d_model=64&n_heads=4&position_kind=rope&position_pair=3"
    )
    for name, wanted in (("d_model", "96"), ("n_heads", "6")):  # d_head is 16, 24, 16
        press(page, name, "ArrowRight")
        expect_query(page, **{name: wanted})
        settle(page)
        expect(at(page, "position_pair").locator("input[type=range]")).to_have_value("3")
