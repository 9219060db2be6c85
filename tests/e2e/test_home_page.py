"""Ten seconds: a line to type into, a picture that moves with it, and doors that lead on."""

from playwright.sync_api import Page, expect
from served import Reader
from told import at, click_mark, expect_query, go_back, plot, settle

TITLE = "Watch a Transformer read your sentence"
NAMES = "chart.layout.xaxis.ticktext.map(text => text.replace(/<[^>]*>/g, ''))"


def line(page: Page):
    return at(page, "text_live").locator("input")


def wait_for(page: Page, key: str, script: str) -> None:
    """Wait until a chart says so; while it is drawn anew there is none."""
    chart = "document.querySelector(`.st-key-${key} .js-plotly-plot`)"
    page.wait_for_function(
        f"key => {{const chart = {chart}; return chart?.layout && {script}}}", arg=key
    )


def test_what_is_typed_is_read_while_it_is_typed_and_nothing_is_lost(reader: Reader):
    page = reader.open("/?lang=en")
    line(page).click()
    page.keyboard.press("End")
    for word in (" little", " red", " ball", " and"):
        page.keyboard.type(word, delay=40)
        page.wait_for_timeout(450)  # a pause in which it is read, while the next word begins
    wait_for(page, "graph", f"{NAMES}.at(-1) === 'and'")
    wait_for(page, "following", "chart.layout.title.text.includes('and')")
    expect(line(page)).to_have_value(
        " Once there was a shy owl called Nora. She had a little red ball and"
    )
    settle(page)


def test_a_click_pins_a_token_and_another_writes_a_word(reader: Reader):
    page = reader.open("/?lang=en&text=+Once+there+was+a")
    click_mark(page, "graph", 1, 3)
    expect_query(page, token="1")
    wait_for(page, "following", "chart.layout.title.text.includes('there')")
    second = plot(page, "following", "chart.layout.yaxis.ticktext[1]")
    click_mark(page, "following", 0.02, 1)
    expect(line(page)).to_have_value(f" Once there {second}")
    at(page, "bring_back").get_by_role("button").click()
    expect(line(page)).to_have_value(" Once there was a")
    expect_query(page, token="1")
    expect(at(page, "bring_back")).to_have_count(0)
    settle(page)
    click_mark(page, "following", 0.02, 1)
    expect(line(page)).to_have_value(f" Once there {second}")
    settle(page)
    at(page, "write_on").get_by_role("button").first.click()
    expect(line(page)).not_to_have_value(f" Once there {second}")
    expect_query(page, text=line(page).input_value())
    go_back(page)
    expect(line(page)).to_have_value(f" Once there {second}")
