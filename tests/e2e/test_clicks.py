"""What is drawn can be clicked, and the same is done by keyboard."""

import math

import pytest
from playwright.sync_api import expect
from served import Reader
from told import at, click_mark, expect_query, open_panel, plot, press, unfold

from blocks.inspection.tiles import TITLE_SHARE

SMALL = "/block?preset=course&d_model=64"
N_TOKENS = 12  # of the sample
TITLE_ROWS = math.ceil(TITLE_SHARE * N_TOKENS)


def test_a_click_chooses_a_head_and_pins_a_token_everywhere(reader: Reader):
    page = reader.open(f"{SMALL}&panel=heads")
    third, second = 2 * (N_TOKENS + 1) + N_TOKENS / 2, 2 * TITLE_ROWS + 1.5 * N_TOKENS
    click_mark(page, "head_tiles", third, second)
    expect_query(page, head="6")
    expect(page.locator("strong", has_text="Head 7")).to_be_visible()

    seen, masked = 0, 11
    click_mark(page, "head_map", seen, 1)
    expect_query(page, token="1")
    click_mark(page, "head_map", masked, 2)
    expect_query(page, token="2")
    expect(page.get_by_text("pinned token: robot")).to_be_visible()
    assert plot(page, "head_map", "chart.layout.shapes[0].y0") == 1.5
    marks = plot(page, "head_tiles", "chart.layout.shapes.find(s => s.type == 'path').path")
    assert float(marks.split()[1].partition(",")[2]) == TITLE_ROWS + 2
    open_panel(page, "What does one stage do?", "stage")
    assert "robot" in plot(page, "token_values", "chart.layout.title.text")
    unfold(page, "input")
    expect(at(page, "token").locator("input")).to_have_value("3 · robot")


@pytest.mark.exhaustive
def test_token_stage_and_head_are_chosen_by_keyboard(reader: Reader):
    page = reader.open(f"{SMALL}&text=one%20two%20three&panel=all")
    at(page, "token").locator("input").press("ArrowDown")
    expect(page.get_by_role("option", name="1 · one")).to_be_visible()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect_query(page, token="0")
    press(page, "stage", "ArrowRight", "Space")
    expect_query(page, stage="resid_mid")
    expect(at(page, "stage").locator("[aria-checked=true]")).to_contain_text("+ attention")
    press(page, "head", "ArrowRight", "Space")
    expect_query(page, token="0", head="1", stage="resid_mid")
    expect(page.locator("strong", has_text="Head 2")).to_be_visible()
