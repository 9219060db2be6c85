"""A finger chooses what it touches, the first time."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from served import PHONE
from told import PATIENCE, at, expect_query, settle, tap_mark

TOP = "document.querySelector('[data-testid=stMain]').scrollTop"


@pytest.fixture(scope="module")
def phone(browser: Browser) -> Iterator[Page]:
    """A phone, whose browser does not say so: it is known by what it measures."""
    measured = {name: each for name, each in PHONE.items() if name != "user_agent"}
    with browser.new_context(**measured) as context:
        context.set_default_timeout(PATIENCE)
        yield context.new_page()


def test_a_tap_chooses_cells_and_dots(phone: Page, server: str):
    phone.goto(f"{server}/attention?preset=course&panel=pattern")
    settle(phone)
    for key, column, row in (("head_map", 0, 1), ("head_map", 0, 5), ("bipartite", 0, 2)):
        tap_mark(phone, key, column, row)
        expect_query(phone, token=str(row))


def test_a_tapped_cell_is_told_in_sight_and_walked_from(phone: Page, server: str):
    phone.goto(f"{server}/attention?preset=course&panel=steps&attention_step=softmax")
    settle(phone)
    tap_mark(phone, "step", 1, 4)
    expect_query(phone, token="4", key="1")
    told = at(phone, "walk")
    expect(told).to_be_in_viewport(ratio=1)
    assert at(phone, "walk_right").locator("button:visible").bounding_box()["height"] >= 44
    before = told.inner_text()
    at(phone, "walk_right").locator("button:visible").tap()
    expect_query(phone, token="4", key="2")
    expect(told).not_to_have_text(before)


def test_a_finger_scrolls_the_page_and_chooses_nothing(phone: Page, server: str):
    phone.goto(f"{server}/attention?preset=course&panel=pattern&token=3")
    settle(phone)
    at(phone, "head_map").scroll_into_view_if_needed()
    before, box = phone.evaluate(TOP), at(phone, "head_map").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = phone.context.new_cdp_session(phone)
    for kind, moved in (("touchStart", 0), ("touchMove", 60), ("touchMove", 120)):
        at_once = {"type": kind, "touchPoints": [{"x": x, "y": y - moved}]}
        finger.send("Input.dispatchTouchEvent", at_once)
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    phone.wait_for_function(f"{TOP} > {before}")
    expect_query(phone, token="3")


@pytest.mark.exhaustive
def test_a_tap_sets_a_point_of_a_line(phone: Page, server: str):
    phone.goto(f"{server}/parameters?panel=changes&lesson=heads")
    settle(phone)
    assert phone.locator(".modebar-btn").first.bounding_box()["height"] >= 44
    points = at(phone, "guess_points").locator("input")
    for place, factor in ((1, "1"), (0, "2")):
        tap_mark(phone, "guess_curve", place, float(factor))
        expect(points.nth(place)).to_have_value(factor)


def test_the_menu_closes_behind_what_was_chosen_there(phone: Page, server: str):
    phone.goto(f"{server}/masks?panel=steps")
    settle(phone)
    phone.get_by_test_id("stExpandSidebarButton").tap()
    chosen = phone.get_by_test_id("stSidebar").get_by_test_id("stPageLink").locator("a").nth(4)
    assert chosen.bounding_box()["height"] >= 44
    chosen.tap()
    phone.wait_for_url("**/encoder*")
    phone.wait_for_function(
        "document.querySelector('[data-testid=stSidebar]').getBoundingClientRect().right <= 0"
    )


def test_a_lesson_is_read_before_its_question_opens(phone: Page, server: str):
    phone.goto(f"{server}/gpt?lesson=tokens")
    settle(phone)
    expect(phone.get_by_text("Fewer than 1")).to_be_hidden()
    expect(phone.get_by_text("lacks")).to_have_count(0)
    at(phone, "lesson_question").locator("summary").tap()
    expect(phone.get_by_text("Fewer than 1")).to_be_visible()
