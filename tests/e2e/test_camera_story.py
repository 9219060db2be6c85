"""A picture is saved from its own corner."""

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from served import PHONE, Reader
from told import at, settle, unfold

COVERED = """chart => {
    const tools = chart.querySelector('.modebar').getBoundingClientRect();
    const title = chart.querySelector('.gtitle').getBoundingClientRect();
    return title.right > tools.left && title.top < tools.bottom && title.bottom > tools.top;
}"""


def tools(page: Page, key: str) -> Locator:
    """What the corner of a picture offers."""
    return at(page, key).locator(".modebar-btn")


def groups(page: Page, key: str) -> Locator:
    """They, as they come and go."""
    return at(page, key).locator(".modebar-group").first


def test_a_picture_is_saved_by_the_camera_in_its_corner(reader: Reader):
    page = reader.open("/attention?preset=course&panel=pattern")
    page.mouse.move(0, 0)  # where the story before has left it, may be anywhere
    expect(groups(page, "head_map")).to_have_css("opacity", "1")
    camera = tools(page, "head_map").and_(page.locator("[data-title*='PNG']"))
    titles = tools(page, "head_map").evaluate_all("all => all.map(each => each.dataset.title)")
    assert titles == ["Download plot as a PNG", "Fullscreen"]
    with page.expect_download() as saving:
        camera.click()
    expect(at(page, "head_map").locator(".gtitle")).to_have_text(
        "Head 1: what each query attends to"
    )
    said = "blockscope-Head-1-what-each-query-attends-to.png"
    assert saving.value.suggested_filename == said
    unfold(page, "take_away")
    at(page, "picture_format").get_by_text("SVG").click()
    settle(page)
    page.get_by_test_id("stSidebarContent").get_by_text("Masks", exact=True).click()
    settle(page)
    with page.expect_download() as saving:
        save = page.locator(".modebar-btn").and_(page.locator("[data-title='Download plot']"))
        save.first.click()
    assert saving.value.suggested_filename.endswith(".svg")


@pytest.mark.exhaustive
def test_on_a_phone_no_title_is_covered(browser: Browser, server: str):
    with browser.new_context(**PHONE) as context:
        page = context.new_page()
        page.goto(server + "/attention?preset=course&panel=contribution")
        settle(page)
        expect(groups(page, "sinks")).to_have_css("opacity", "1")
        charts = page.locator(".js-plotly-plot")
        assert charts.count() > 1
        assert [charts.nth(i).evaluate(COVERED) for i in range(charts.count())].count(True) == 0
