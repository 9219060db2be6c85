"""A mask that is painted by clicks, in front of a reader."""

from playwright.sync_api import expect
from served import Reader
from told import at, choose, click_mark, expect_query, link_of, open_panel, plot, unfold

LINK = "/masks?preset=course&text=a%20b%20c%20d&d_model=32"


def test_a_fault_is_planted_a_mask_chosen_by_its_picture_and_painted_by_a_click(reader: Reader):
    page = reader.open(LINK)
    expect(at(page, "verdict").get_by_text("No leak: every")).to_be_visible()
    choose(page, "planted_fault", "off by one")
    expect(at(page, "fault_verdict").get_by_text("Leak: output")).to_be_visible()
    open_panel(page, "What does a mask do?", "steps")
    x, y = plot(page, "mask_kinds", "[chart.data[1].x[4 * 9 + 4], chart.data[1].y[4 * 9 + 4]]")
    click_mark(page, "mask_kinds", x, y)
    expect_query(page, mask_kind="sliding_window", planted_fault="off_by_one")

    reader.open(f"{LINK}&panel=steps")
    click_mark(page, "mask_map", 3, 1)
    expect_query(page, mask_kind="painted", painted="4.je8")
    unfold(page, "input")
    expect(page.get_by_text("Painted for 4 tokens")).to_be_visible()
    reader.open(link_of(page))
    assert plot(page, "mask_map", "chart._fullData[1].x.length") == 11
