"""One panel after another: by its title, by the way to the next, by a link, and back."""

import re

import pytest
from playwright.sync_api import expect
from served import Reader
from told import (
    at,
    click_mark,
    expect_query,
    go_back,
    panel_title,
    plot,
    press,
    query,
    settle,
    unfold,
)


def test_a_title_the_next_panel_the_link_and_back_lead_through_a_page(reader: Reader):
    page = reader.open("/feed_forward?preset=course&d_model=64&text=a%20b%20c")
    expect(at(page, "bend_curves")).to_be_visible()
    panel_title(page, "Which units never fire?").click()
    expect_query(page, panel="dead-units", d_model="64")
    expect(at(page, "activity")).to_be_visible()
    expect(at(page, "bend_curves")).to_have_count(0)
    at(page, "to_unit").get_by_role("button").click()
    expect_query(page, panel="unit")
    expect(panel_title(page, "What activates a unit?")).to_have_attribute("aria-checked", "true")
    go_back(page)
    expect(at(page, "activity")).to_be_visible()
    settle(page)
    assert query(page)["panel"] == "dead-units"

    press(page, "d_model", "ArrowRight")
    expect_query(page, panel="dead-units", d_model="96")
    unfold(page, "input")
    at(page, "text").locator("textarea").fill("a b c d")
    at(page, "text").locator("textarea").press("Control+Enter")
    expect_query(page, panel="dead-units", text="a b c d")
    expect(at(page, "text").locator("textarea")).to_be_visible()
    expect(panel_title(page, "Which units never fire?")).to_have_attribute("aria-checked", "true")


@pytest.mark.exhaustive
def test_a_click_on_a_part_of_the_block_opens_its_panel(reader: Reader):
    page = reader.open("/block?preset=course&d_model=64&text=a%20b%20c")
    stages = plot(page, "strip", "chart.data[0].customdata.map(row => row[0])")
    click_mark(page, "strip", 1, stages.index("feed_forward_out"))
    expect_query(page, panel="stage", stage="feed_forward_out")
    expect(at(page, "stage").locator("[aria-checked=true]")).to_contain_text("feed-forward")
    expect(at(page, "strip")).to_have_count(0)


def test_a_link_is_followed_while_an_explanation_is_open(reader: Reader):
    page = reader.open("/block?preset=course")
    at(page, "flow_explain").get_by_role("button").click()
    expect(page.get_by_test_id("stPopoverBody")).to_be_visible()
    page.get_by_role("link", name="Masks", exact=True).click()
    expect(page.locator("h1")).to_have_text(re.compile("Masks"))
    settle(page)
    expect(page.locator("h1")).to_be_visible()
