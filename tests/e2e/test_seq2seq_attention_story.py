"""Two texts in front of a reader: a click chooses a head, pins a token, opens what aligns."""

from playwright.sync_api import expect
from served import Reader
from told import at, click_mark, expect_query, open_panel, plot

TARGET_ROW, SOURCE_COLUMN = 2, 1


def test_a_tile_a_cell_a_strip_and_a_row_lead_from_head_to_token(reader: Reader):
    page = reader.open("/seq2seq?preset=translator&sort_aligned_by=layer&panel=attention")
    tile = 9 * 6 + 4  # the middle of layer 2, head 3
    x, y = plot(page, "tiles_decoder", f"[chart.data[1].x[{tile}], chart.data[1].y[{tile}]]")
    click_mark(page, "tiles_decoder", x, y)
    expect_query(page, attention_of="decoder", layer="1", head="2")
    expect(page.get_by_text("Target to target · layer 2, head 3").first).to_be_visible()
    x, y = plot(page, "tiles_cross", f"[chart.data[1].x[{tile}], chart.data[1].y[{tile}]]")
    click_mark(page, "tiles_cross", x, y)
    expect(page.get_by_text("Target to source · layer 2, head 3").first).to_be_visible()
    click_mark(page, "two_text_map", SOURCE_COLUMN, TARGET_ROW)
    expect_query(page, token=str(SOURCE_COLUMN), target_token=str(TARGET_ROW))
    click_mark(page, "strips", 0, 0)
    expect_query(page, token="0", pinned_in="source")
    expect(page.get_by_text("receives the most attention from")).to_be_visible()

    open_panel(page, "Which word comes from which?", "alignment")
    click_mark(page, "aligned_heads", 0, 3)
    expect_query(page, aligned_head="one_head", head="3")
    expect(at(page, "alignment_map").get_by_text("Layer 1, head 4")).to_be_visible()
    click_mark(page, "alignment_map", 0, 1)
    expect_query(page, token="0", target_token="2")
