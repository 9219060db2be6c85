"""The page of attention in front of a reader: steps by key, cells and frames by a click."""

from playwright.sync_api import expect
from served import Reader
from told import at, click_mark, expect_query, open_panel, plot


def test_steps_are_walked_by_key_a_cell_is_written_out_and_a_head_opened_everywhere(reader: Reader):
    page = reader.open("/attention?preset=sort&text=transform&layer=1&panel=steps")
    page.locator("h1").click()
    page.keyboard.press("n")
    expect_query(page, attention_step="scores")
    page.keyboard.press("n")
    expect_query(page, attention_step="scaled")
    page.keyboard.press("b")
    expect_query(page, attention_step="scores")
    reader.open("/attention?preset=sort&text=transform&attention_step=softmax")
    click_mark(page, "step", 2, 4)
    expect_query(page, token="4", key="2")
    box = at(page, "in_numbers").inner_text()
    assert "q(s) · k(a)" in box and "RoPE" not in box
    labels = plot(page, "step", "chart._fullLayout.xaxis.ticktext")
    assert "".join(labels) == "tr₁ansfor₂m"

    expect(at(page, "filmstrip_explained")).to_be_visible()
    open_panel(page, "All heads", "heads")
    y = plot(page, "head_measures", "chart.data[1].y[6 * 7]")
    click_mark(page, "head_measures", 2, y)
    expect_query(page, layer="1", head="3")
    open_panel(page, "Who reads whom?", "pattern")
    expect(at(page, "bipartite").get_by_text("Attention lines: layer 2, head 4")).to_be_visible()
