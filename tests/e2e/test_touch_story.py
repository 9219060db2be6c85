"""A finger chooses what it touches, the first time."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect
from served import PHONE, Reader
from told import at, expect_query, tap_mark

# All places, from the top, at which each word is drawn from now on.
DRAWN = """canvas => {
  const [context, seen] = [canvas.getContext("2d"), new Map()];
  const own = context.fillText;
  context.fillText = (text, x, y) => {
    if (/^[a-zA-Z]/.test(text)) seen.set(text, (seen.get(text) || new Set()).add(Math.round(y)));
    own.call(context, text, x, y);
  };
  return seen;
}"""

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


def test_a_tap_on_a_name_does_what_one_on_its_mark_does(phone: Reader):
    page = phone.open("/?preset=stories-en-zh&text=Tom had a red ball. He")
    names = at(page, "graph").locator(".xtick text, .ytick text")
    tap_middle(names.get_by_text("red", exact=True))
    expect_query(page, token="5")
    tap_middle(names.get_by_text("layer 2", exact=True))  # of all tokens
    next_word = at(page, "following").locator(".ytick text").first
    word = next_word.text_content()
    tap_middle(next_word)
    expect_query(page, text=f"Tom had a red {word}")


def tap_middle(name: Locator) -> None:
    """Touch where it stands, whatever is there to be touched."""
    name.scroll_into_view_if_needed()
    box = name.bounding_box()
    name.page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def test_a_tapped_number_stays_where_it_stands_and_its_sum_covers_none(phone: Reader):
    page = phone.open(
        "/forward_pass?preset=stories-en-zh&text=Tom had a red ball. He"
        "&zoom=cell&moment=layers.1.head_out&layer=1&head=1&cell=layers.1.pattern:4,2"
    )
    canvas, told = page.locator("[data-part=canvas]"), page.locator("[data-part=sum]")
    canvas.scroll_into_view_if_needed()
    expect(told).to_contain_text("a")
    before, box = told.inner_text(), canvas.bounding_box()
    drawn = canvas.evaluate_handle(DRAWN)
    canvas.tap(position={"x": box["width"] / 2 + 45, "y": box["height"] / 2 + 45})
    expect(told).not_to_have_text(before)
    assert drawn.evaluate("seen => seen.size") > 4
    assert drawn.evaluate(
        "seen => [...seen.values()].every(ys => ys.size <= 2)"
    )  # a row and a column
    low = told.bounding_box()
    assert low["y"] + low["height"] <= canvas.bounding_box()["y"] + 1
    expect(told).to_be_in_viewport(ratio=1)


def test_one_head_stands_at_the_top_without_the_heads_beside_it(phone: Reader):
    page = phone.load(
        "/forward_pass?preset=stories-en-zh&n_heads=8&text=Tom had a red ball. He"
        "&zoom=head&moment=layers.1.head_out&layer=1&head=2"
    )
    canvas = page.locator("[data-part=canvas]")
    canvas.scroll_into_view_if_needed()
    drawn = canvas.evaluate_handle(DRAWN)
    canvas.press("ArrowLeft")
    page.wait_for_function("seen => seen.has('head 3')", arg=drawn)
    assert (
        max(drawn.evaluate("seen => [...seen.get('head 3')]")) < canvas.bounding_box()["height"] / 8
    )
    assert not drawn.evaluate("seen => seen.has('head 4')")


def test_a_drag_beside_a_number_moves_the_matrix_and_no_time(phone: Reader):
    page = phone.load(
        "/forward_pass?preset=stories-en-zh&text=Tom had a red ball. He"
        "&zoom=cell&head=1&cell=layers.1.pattern:4,2"
    )
    expect_query(page, zoom="cell", moment="layers.1.pattern")
    canvas, told = page.locator("[data-part=canvas]"), page.locator("[data-part=sum]")
    before, box = told.inner_text(), canvas.bounding_box()
    drawn = canvas.evaluate_handle(DRAWN)
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 100, steps=4)
    page.mouse.up()
    page.wait_for_function("seen => seen.size > 0", arg=drawn)
    expect(told).to_have_text(before)
    expect_query(page, zoom="cell", moment="layers.1.pattern", cell="layers.1.pattern:4,2")


def test_the_tools_of_a_table_stand_above_it(phone: Reader):
    page = phone.open("/gpt?preset=stories-en-zh&panel=tokens&text=Tom, he ran")
    table = page.get_by_test_id("stDataFrame")
    tools, rows = table.get_by_test_id("stElementToolbar"), table.get_by_test_id("data-grid-canvas")
    low = tools.bounding_box()
    assert low["height"] >= 44
    assert low["y"] + low["height"] <= rows.bounding_box()["y"] + 1


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


def test_the_next_panel_begins_at_its_title(phone: Reader):
    page = phone.open("/parameters")
    at(page, "to_changes").get_by_role("button").tap()
    expect_query(page, panel="changes")
    expect(at(page, "panel")).to_be_in_viewport()


def test_a_lesson_is_read_before_its_question_opens(phone: Reader):
    page = phone.open("/gpt?lesson=tokens")
    expect(page.get_by_text("Fewer than 1")).to_be_hidden()
    expect(page.get_by_text("lacks")).to_have_count(0)
    at(page, "lesson_question").locator("summary").tap()
    expect(page.get_by_text("Fewer than 1")).to_be_visible()
