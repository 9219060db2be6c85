"""Present: in by a button, on and back by keys, out by Escape; all of it on one screen."""

import pytest
from playwright.sync_api import Page, expect
from served import Reader
from told import at, expect_query, opened_title, plot, query, settle

SCREEN = {"width": 1280, "height": 720}
LEAST, LEAST_SAID = 16, 22  # pixels, of labels and of sentences
SAID = """[...document.querySelectorAll("[data-testid='stMain'] p")]
    .filter(text => text.getBoundingClientRect().width && !text.closest('button'))
    .map(text => parseFloat(getComputedStyle(text).fontSize))"""
SIZES = """[...chart.querySelectorAll('text')]
    .filter(text => text.textContent.trim() && text.getBoundingClientRect().width)
    .map(text => parseFloat(getComputedStyle(text).fontSize))"""

# Signs for help and the texts of tables, which take their sizes when they are drawn.
MEASURED = """[
    ...[...document.querySelectorAll('[data-testid=stTooltipHoverTarget] svg')]
        .map(sign => sign.clientWidth),
    ...[...document.querySelectorAll('[data-testid=stDataFrame] canvas')]
        .map(table => table.getContext('2d').font),
]"""


@pytest.fixture
def speaker(reader: Reader) -> Reader:
    """Someone at a projector."""
    reader.page.set_viewport_size(SCREEN)
    return reader


def bottom(page: Page, key: str) -> float:
    box = at(page, key).bounding_box()
    assert box
    return box["y"] + box["height"]


def test_in_on_back_and_out(speaker: Reader):
    page = speaker.open("/masks?preset=course&text=a%20b%20c")
    first = opened_title(page).inner_text()
    at(page, "present").get_by_role("button").click()
    expect_query(page, present="true")
    expect(page.locator("h1")).to_contain_text(first)
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_visible()
    expect(opened_title(page)).to_have_count(0)
    page.keyboard.press("PageDown")
    expect(page.locator("h1")).not_to_contain_text(first)
    settle(page)
    page.reload()
    settle(page)
    page.keyboard.press("PageUp")
    expect(page.locator("h1")).to_contain_text(first)
    page.keyboard.press("Escape")
    expect(opened_title(page)).to_have_text(first)
    expect(page.get_by_test_id("stExpandSidebarButton")).to_have_count(0)
    settle(page)
    assert "present" not in page.url
    assert min(page.evaluate(SAID)) < LEAST_SAID


def test_what_was_large_before_a_class_is_small_again_after_it(speaker: Reader):
    page = speaker.open("/gpt?preset=stories-en-zh&panel=logit-lens")
    before = page.evaluate(MEASURED), plot(page, "lens_ranks", SIZES)
    page.goto(f"{page.url}&present=true")
    settle(page)
    page.keyboard.press("Escape")
    expect(opened_title(page).first).to_be_visible()
    settle(page)
    assert (page.evaluate(MEASURED), plot(page, "lens_ranks", SIZES)) == before


def test_a_remote_control_steps_through_the_pass_from_its_beginning(speaker: Reader):
    page = speaker.open("/forward_pass?preset=stories-en-zh&text=a%20b&present=true")
    title = page.locator("[data-part=title]")
    expect(title).to_have_text("embedding")
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    expect(title).to_have_text("layer 1 · attention")
    page.keyboard.press("PageUp")
    expect(title).to_have_text("embedding")


def test_a_remote_control_leads_on_from_a_slider_that_was_moved(speaker: Reader):
    page = speaker.open("/phases?panel=circle&present=true")
    thumb = page.get_by_test_id("stMain").get_by_role("slider").first
    thumb.focus()
    page.keyboard.press("ArrowLeft")
    settle(page)
    moved = query(page)["clock_step"]
    thumb.focus()
    page.keyboard.press("PageDown")
    page.wait_for_url("**/phases?*panel=induction-head*")
    assert query(page).get("clock_step", moved) == moved


@pytest.mark.exhaustive
def test_each_step_of_a_head_stands_on_one_screen_with_its_arithmetic(speaker: Reader):
    page = speaker.open("/attention?preset=stories-en-zh&panel=steps&present=true")
    for _step in range(9):
        assert max(bottom(page, "step"), bottom(page, "in_numbers")) <= 720
        assert min(plot(page, "step", SIZES)) >= LEAST
        assert min(page.evaluate(SAID)) >= LEAST_SAID
        page.keyboard.press("PageDown")
        settle(page)
    expect_query(page, panel="score-gradient")


WORST = (
    "/positions?panel=claims",
    "/seq2seq?panel=decoding",
    "/gpt?panel=writing",
    "/parameters?panel=published",
    "/efficiency?panel=distillation",
    "/training?panel=staircase",
    "/scaling?panel=valleys",
    "/scaling?panel=predict",
    "/phases?panel=grokking",
    "/phases?panel=circle",
    "/phases?panel=induction-head",
    "/phases?panel=superposition",
    "/phases?panel=dictionary",
    "/instruments?panel=chart",
    "/instruments?panel=circuit",
)


@pytest.mark.exhaustive
def test_panels_that_have_much_to_show_stand_on_one_screen(speaker: Reader):
    for link in WORST:
        page = speaker.open(f"{link}&lang=en&present=true")
        height = page.get_by_test_id("stMain").evaluate("main => main.scrollHeight")
        assert height <= SCREEN["height"], link
