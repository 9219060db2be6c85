"""A finger chooses what it touches, the first time."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from served import PHONE, Reader
from told import at, expect_query, tap_mark

TOP = "document.querySelector('[data-testid=stMain]').scrollTop"


@pytest.fixture(scope="module")
def phone(browser: Browser, server: str) -> Iterator[Reader]:
    """A phone, whose browser does not say so: it is known by what it measures."""
    measured = {name: each for name, each in PHONE.items() if name != "user_agent"}
    with browser.new_context(**measured) as context:
        yield Reader(context, server)


def test_a_tap_chooses_cells_and_dots(phone: Reader):
    page = phone.open("/attention?preset=course&panel=pattern")
    for key, column, row in (("head_map", 0, 5), ("bipartite", 0, 2)):
        tap_mark(page, key, column, row)
        expect_query(page, token=str(row))


def test_a_tapped_cell_is_told_in_sight_and_walked_from(phone: Reader):
    page = phone.open("/attention?preset=course&panel=steps&attention_step=softmax")
    tap_mark(page, "step", 1, 4)
    expect_query(page, token="4", key="1")
    told = at(page, "walk")
    expect(told).to_be_in_viewport(ratio=1)
    assert at(page, "walk_right").locator("button:visible").bounding_box()["height"] >= 44
    before = told.inner_text()
    at(page, "walk_right").locator("button:visible").tap()
    expect_query(page, token="4", key="2")
    expect(told).not_to_have_text(before)


def test_a_finger_scrolls_the_page_and_chooses_nothing(phone: Reader):
    page = phone.open("/attention?preset=course&panel=pattern&token=3")
    at(page, "head_map").scroll_into_view_if_needed()
    before, box = page.evaluate(TOP), at(page, "head_map").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = page.context.new_cdp_session(page)
    for kind, moved in (("touchStart", 0), ("touchMove", 60), ("touchMove", 120)):
        at_once = {"type": kind, "touchPoints": [{"x": x, "y": y - moved}]}
        finger.send("Input.dispatchTouchEvent", at_once)
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function(f"{TOP} > {before}")
    expect_query(page, token="3")


@pytest.mark.exhaustive
def test_a_tap_sets_a_point_of_a_line(phone: Reader):
    page = phone.open("/parameters?panel=changes&lesson=heads")
    assert page.locator(".modebar-btn").first.bounding_box()["height"] >= 44
    points = at(page, "guess_points").locator("input")
    for place, factor in ((1, "1"), (0, "2")):
        tap_mark(page, "guess_curve", place, float(factor))
        expect(points.nth(place)).to_have_value(factor)


def test_the_menu_closes_behind_what_was_chosen_there(phone: Reader):
    page = phone.open("/masks?panel=steps")
    page.get_by_test_id("stExpandSidebarButton").tap()
    chosen = page.get_by_test_id("stSidebar").get_by_test_id("stPageLink").locator("a").nth(4)
    assert chosen.bounding_box()["height"] >= 44
    chosen.tap()
    page.wait_for_url("**/encoder*")
    page.wait_for_function(
        "document.querySelector('[data-testid=stSidebar]').getBoundingClientRect().right <= 0"
    )


def test_a_lesson_is_read_before_its_question_opens(phone: Reader):
    page = phone.open("/gpt?lesson=tokens")
    expect(page.get_by_text("Fewer than 1")).to_be_hidden()
    expect(page.get_by_text("lacks")).to_have_count(0)
    at(page, "lesson_question").locator("summary").tap()
    expect(page.get_by_text("Fewer than 1")).to_be_visible()
