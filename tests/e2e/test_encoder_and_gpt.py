"""An encoder and a GPT, whole, in front of a reader."""

from playwright.sync_api import expect
from served import Reader
from told import at, click_mark, expect_query, link_of, open_panel, plot, press


def test_a_click_on_a_tile_opens_that_head_of_that_layer(reader: Reader):
    page = reader.open("/encoder?preset=sort&text=transform&panel=heads")
    x, y = plot(page, "head_tiles", "[chart.data[1].x[6 * 9 + 4], chart.data[1].y[6 * 9 + 4]]")
    click_mark(page, "head_tiles", x, y)
    expect_query(page, layer="1", head="2")
    expect(page.get_by_text("Head 3: what each query attends to")).to_be_visible()


def test_a_step_writes_a_token_that_the_link_keeps_and_sampling_counts_choices(
    reader: Reader,
):
    page = reader.open("/gpt?n_new_tokens=2&panel=writing")
    at(page, "step").get_by_role("button").click()
    expect_query(page, n_new_tokens="3")
    written = at(page, "text_so_far").inner_text()
    reader.open(link_of(page))
    assert at(page, "text_so_far").inner_text() == written
    open_panel(page, "What comes next?", "next")
    press(page, "top_k", "ArrowRight")
    expect_query(page, top_k="1")
    expect(page.get_by_text("1 of 1,024 tokens")).to_be_visible()
