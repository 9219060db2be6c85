"""Positions are pinned, and kinds chosen, where they are drawn."""

from playwright.sync_api import expect
from served import Reader
from told import at, click_mark, expect_query, open_panel, plot, press, settle

SMALL = "/positions?preset=course&d_model=16&n_heads=2&trained_len=8&n_positions=16&panel=kinds"


def test_clicks_pin_a_position_choose_its_pair_and_look_at_another_kind(reader: Reader):
    page = reader.open(SMALL)
    columns = plot(page, "position_table", "chart.layout.xaxis.ticktext")
    assert columns[0] == "0"
    click_mark(page, "position_table", 5, 3)  # of 16 columns sines come first: feature 10
    expect_query(page, token="3", position_pair="5")
    assert plot(page, "position_table", "chart.layout.shapes[0].y0") == 2.5
    expect(page.get_by_text("at position 3, it has made")).to_be_visible()

    open_panel(page, "Do common claims hold?", "claims")
    click_mark(page, "claim_grid", 4, 1)
    expect_query(page, shown_position="alibi")
    open_panel(page, "How is word order encoded?", "kinds")
    expect(page.get_by_text("Bias added to the scores of the query")).to_be_visible()
    at(page, "use_position").get_by_role("button").click()
    expect_query(page, position_kind="alibi")
    open_panel(page, "Do common claims hold?", "claims")
    assert plot(page, "claim_grid", "chart.layout.shapes[0].x0") == 3.5


def test_a_slider_whose_range_was_another_for_a_while_shows_what_is_set(reader: Reader):
    page = reader.open(
        "/positions?preset=course&d_model=64&n_heads=4&position_kind=rope&position_pair=3"
    )
    for name, wanted in (("d_model", "96"), ("n_heads", "6")):  # d_head is 16, 24, 16
        press(page, name, "ArrowRight")
        expect_query(page, **{name: wanted})
        settle(page)
        expect(at(page, "position_pair").locator("input[type=range]")).to_have_value("3")
