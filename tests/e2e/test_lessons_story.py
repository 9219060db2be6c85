"""A lesson by keyboard alone, and a class that guesses together."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect
from served import BETWEEN, Reader
from told import at, click_mark, expect_query, go_back, plot, settle

FIRST = "/attention?preset=course&lesson=scaling&panel=random-scores"
MAP = "/attention?preset=course&lesson=attention-by-hand&lesson_step=2&text=a+b+c&panel=steps"


def tab_to(page: Page, key: str) -> None:
    """Press Tab until the focus is inside of what has this key."""
    for _i in range(80):
        page.keyboard.press("Tab")
        if at(page, key).locator(":focus").count():
            return
    raise AssertionError(f"the keyboard does not come to {key}")


def guess(page: Page, place: int) -> None:
    asked = page.locator(".st-key-lesson_card, .st-key-lesson_veil")
    radio = asked.get_by_role("radio").nth(place)
    radio.focus()
    page.keyboard.press("Space")
    expect(radio).to_be_checked()
    at(page, "lesson_on").get_by_role("button").click()
    expect(at(page, "guess_picture")).to_be_visible()
    settle(page)


def test_a_lesson_is_taken_by_keyboard_alone(reader: Reader):
    page = reader.open(FIRST)
    expect(at(page, "lesson_veil")).to_be_visible()
    page.get_by_role("heading", name="Wider vectors").click()
    tab_to(page, "guess_scaling_0")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    expect(at(page, "lesson_on").get_by_role("button")).to_be_enabled()
    settle(page)
    tab_to(page, "lesson_on")
    page.keyboard.press("Enter")
    expect(at(page, "guess_picture")).to_be_visible()
    settle(page)
    assert "guesses" in parse_qs(urlsplit(page.url).query)
    on = at(page, "lesson_on").get_by_role("button", name="Next step")
    expect(on).to_be_focused()  # what ended the guessing
    page.keyboard.press("Enter")
    expect_query(page, lesson_step="1")
    tab_to(page, "leave")
    page.keyboard.press("Enter")
    expect(at(page, "left_lesson").get_by_role("link")).to_contain_text("step 2 of 6")
    expect(at(page, "lesson_card")).to_have_count(0)


def test_a_cell_is_clicked_and_so_is_a_point_of_a_curve(reader: Reader):
    page = reader.open(MAP)
    click_mark(page, "guess_cell", 1, 2)
    keep = at(page, "lesson_on").get_by_role("button")
    expect(keep).to_be_enabled()
    settle(page)
    assert plot(page, "guess_cell", "[chart.data[1].x[0], chart.data[1].y[0]].join()") == "1,2"
    keep.click()
    expect_query(page, guesses="2:2_1")
    page = reader.open(FIRST + "&lesson_step=1")
    click_mark(page, "guess_curve", 2, 0.75)
    settle(page)
    assert plot(page, "guess_curve", "chart.data[0].y.join()") == ",,0.75,,"
    expect(at(page, "lesson_on").get_by_role("button")).to_be_disabled()


@pytest.mark.exhaustive
def test_a_curve_is_drawn_and_answered_above_the_fold_of_a_laptop_by_keyboard(reader: Reader):
    page = reader.open(FIRST + "&lesson_step=1")
    page.set_viewport_size({"width": 1280, "height": 720})
    settle(page)
    expect(at(page, "guess_curve")).to_be_in_viewport(ratio=1)
    for i in range(5):
        tab_to(page, f"guess_scaling_1_{i}")
        page.keyboard.type("0.5")
    page.keyboard.press("Enter")
    keep = at(page, "lesson_on").get_by_role("button")
    expect(keep).to_be_enabled()
    keep.press("Enter")
    expect(at(page, "lesson_on").get_by_role("button", name="Next step")).to_be_focused()
    for key in ("lesson_verdict", "guess_picture", "lesson_on"):
        expect(at(page, key)).to_be_in_viewport(ratio=1)
    settle(page)


def test_a_step_begins_at_its_top(reader: Reader):
    page = reader.open(FIRST + "&guesses=0:0")
    page.set_viewport_size({"width": 390, "height": 700})
    at(page, "for_a_class").scroll_into_view_if_needed()
    assert scrolled(page) > 0
    at(page, "lesson_on").get_by_role("button").dispatch_event("click")
    expect(page.get_by_role("heading", name="What softmax makes of it")).to_be_in_viewport()
    settle(page)
    assert scrolled(page) == 0


def scrolled(page: Page) -> int:
    return page.get_by_test_id("stMain").evaluate("main => main.scrollTop")


def room_of(leader: Page) -> str:
    """A room for a class, opened in front of a lesson; returns its code."""
    at(leader, "for_a_class").get_by_role("button").click()
    at(leader, "open_room").get_by_role("button").click()
    expect(at(leader, "wall")).to_be_visible()
    settle(leader)
    return parse_qs(urlsplit(leader.url).query)["room"][0]


def test_a_guess_comes_to_the_wall_and_the_answer_to_the_learner_by_itself(
    reader: Reader, other_reader: Reader
):
    code = room_of(leader := reader.open(f"{FIRST}&lang=en"))
    at(leader, "join").get_by_role("button").click()
    dialog = leader.get_by_test_id("stDialog")
    expect(dialog.get_by_role("img")).to_be_visible()
    joining = urlsplit(dialog.get_by_test_id("stCode").inner_text().strip())
    assert (joining.path, joining.query) == ("/", f"room={code}")
    leader.keyboard.press("Escape")
    learner = other_reader.load(f"/?room={code}")  # leads to the lesson
    learner.get_by_role("radiogroup").locator("label").nth(1).click()
    at(learner, "lesson_on").get_by_role("button").click()
    expect(at(leader, "wall")).to_contain_text("1 guess ·")
    expect(at(leader, "wall_picture")).to_have_count(0)
    expect(learner.get_by_text("你的猜测：约 4 倍。等老师公布后，你会看到答案。")).to_be_visible()
    at(leader, "without_guess").get_by_role("button").click()
    expect(at(learner, "lesson_verdict")).to_be_visible()  # by itself
    at(leader, "lesson_on").get_by_role("button").click()
    learner.wait_for_url("**lesson_step=1**")


@pytest.mark.exhaustive
def test_back_leads_out_of_a_room(reader: Reader, other_reader: Reader):
    code = room_of(reader.open(f"{FIRST}&lang=en"))
    learner = other_reader.load(BETWEEN)
    other_reader.load(f"/?room={code}")
    for key in ("left_lesson", "back_to_room"):  # Home twice, since Streamlit writes two entries
        go_back(learner)
        expect(at(learner, key)).to_be_visible()
    go_back(learner)
    learner.wait_for_url(f"**{BETWEEN}*")
