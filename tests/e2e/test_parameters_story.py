"""A model is taken apart, changed, and exchanged for another, by clicks on the pictures."""

import math

from playwright.sync_api import expect
from served import Reader
from told import click_mark, expect_query, open_panel, plot


def test_pieces_changes_and_published_models_are_clicked(reader: Reader):
    page = reader.open("/parameters?preset=gpt2-small")
    kinds = plot(page, "pieces", "chart.data[1].customdata.map(row => row[0])")
    i = kinds.index("attention")
    start, width = plot(page, "pieces", f"[chart.data[1].base[{i}], chart.data[1].x[{i}]]")
    click_mark(page, "pieces", start + width / 2, 2)
    expect_query(page, opened_piece="attention")
    expect(page.get_by_text("Opened: attention, 28,348,416 parameters")).to_be_visible()

    open_panel(page, "What changes the count?", "changes")
    names = plot(page, "differences", "chart.data[0].customdata.map(row => row[0])")
    row = names.index("untied")
    click_mark(page, "differences", 2, row + 0.24)
    expect_query(page, tie_embeddings="false")
    open_panel(page, "Where are the parameters?", "breakdown")
    expect(page.get_by_role("heading", name="163,037,184")).to_be_visible()

    open_panel(page, "How large are other models?", "published")
    # The first dot is the reader's own, the next are those of GPTs.
    models = plot(page, "published", "chart.data[1].customdata.map(row => row[0])")
    i = models.index("llama-3-8b")
    size, row = plot(page, "published", f"[chart.data[1].x[{i}], chart.data[1].y[{i}]]")
    click_mark(page, "published", math.log10(size), row)
    expect_query(page, preset="llama-3-8b")
    open_panel(page, "Where are the parameters?", "breakdown")
    expect(page.get_by_role("heading", name="8,030,261,248")).to_be_visible()
