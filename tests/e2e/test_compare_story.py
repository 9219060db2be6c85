"""A setting is kept on one page, changed, and compared on another."""

import re

from playwright.sync_api import expect
from served import Reader
from told import at, click_mark, expect_query, open_panel, panel_title, plot, press, query, settle

DOT = """(() => {
    const isIt = key => key[0] === 'preset:gemma-2b';
    const dots = chart.data.find(trace => trace.customdata?.some(isIt));
    const i = dots.customdata.findIndex(isIt);
    return [Math.log10(dots.x[i]), Math.log10(dots.y[i])];
})()"""
LINK = "/attention?preset=course&text=one%20two%20three&d_model=32&panel=pattern"


def test_keep_change_compare_swap_and_drop(reader: Reader):
    page = reader.open(LINK)
    at(page, "keeping").get_by_role("button").first.click()
    page.get_by_role("button", name="Keep as A").click()
    settle(page)
    page.keyboard.press("Escape")
    press(page, "n_heads", "ArrowLeft")
    expect_query(page, n_heads="4")

    at(page, "keeping").get_by_role("button").first.click()
    page.get_by_role("link", name="Compare A and B").click()
    expect(panel_title(page, "One head: B − A")).to_be_visible()
    settle(page)
    assert query(page)["n_heads"] == "4" and "kept" in query(page)
    expect(page.get_by_text("Settings that differ (3): n_heads")).to_be_visible()

    open_panel(page, "One head: B − A", "head")
    click_mark(page, "pair_difference", 0, 1)
    expect_query(page, token="1")
    open_panel(page, "All heads", "heads")
    x, y = plot(page, "pair_distances", "[3, 0]")
    click_mark(page, "pair_distances", x, y)
    expect_query(page, head="3")

    open_panel(page, "What have you kept?", "kept")
    at(page, "swap_here").get_by_role("button").click()
    expect(page).not_to_have_url(re.compile("[?&]n_heads="))
    settle(page)
    at(page, "kept_drop_0").get_by_role("button").click()
    expect(page.get_by_text("Nothing has been kept yet").first).to_be_visible()
    settle(page)
    assert "kept" not in query(page)

    open_panel(page, "Is it worth it?", "trade-off")
    x, y = plot(page, "trade_off_dots", DOT)
    click_mark(page, "trade_off_dots", x, y)
    expect_query(page, preset="gemma-2b")
