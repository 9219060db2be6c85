"""Units and experts are opened by clicks on their pictures."""

from playwright.sync_api import expect
from served import Reader
from told import at, click_mark, expect_query, open_panel, plot, unfold

LINK = "/feed_forward?preset=course&d_model=32&n_heads=4&text=a%20b%20c%20d&panel=unit"


def test_a_unit_is_opened_by_its_cell_and_an_expert_that_is_tried_by_its_bar(reader: Reader):
    page = reader.open(LINK)
    unit, token = plot(page, "unit_map", "chart.data[1].customdata[3 * 4 + 1]")
    click_mark(page, "unit_map", token, 3)
    expect_query(page, unit=str(unit), token=str(token))
    expect(page.get_by_text(f"Unit {unit + 1} is active at").first).to_be_visible()
    unfold(page, "input")
    expect(at(page, "token").locator("input")).to_have_value("2 · b")

    open_panel(page, "Which expert?", "experts")
    at(page, "try_experts").get_by_role("button").click()
    expect_query(page, n_experts="8")
    taken = plot(page, "load", "Array.from(chart.data[0].x)")
    busy = max(range(8), key=taken.__getitem__)
    click_mark(page, "load", taken[busy] / 2, busy)
    expect_query(page, n_experts="8", expert=str(busy))
    open_panel(page, "Where do pre-activations land?", "activation")
    expect(page.get_by_text(f"expert {busy + 1} ({taken[busy]} tokens").first).to_be_visible()
