"""A translation in front of a reader, who looks into its search."""

import pytest
from playwright.sync_api import expect
from served import Reader
from told import click_mark, expect_query, link_of, plot, query

LINK = "/seq2seq?text=I+like+the+small+cat.&beam_width=3"


@pytest.mark.exhaustive
def test_a_click_in_the_tree_shows_what_stands_there(reader: Reader):
    page = reader.open(LINK)
    x, y, place = plot(
        page, "beam_tree", "{const d = chart.data.at(-1); return [d.x[8], d.y[8], d.customdata[8]]}"
    )
    click_mark(page, "beam_tree", x, y)
    expect_query(page, beam_node=str(place[0]))
    expect(page.get_by_text(f"After {y} of")).to_be_visible()
    reader.open(link_of(page))
    assert query(page)["beam_node"] == str(place[0])
    dropped = "chart.data.find(trace => trace.name == 'pruned')"
    x, y = plot(page, "beam_tree", f"[{dropped}.x[0], {dropped}.y[0]]")
    click_mark(page, "beam_tree", x, y)
    expect_query(page, target_step=str(y))
    assert len(query(page)["forced_ids"].split(".")) == y
