"""Depth in a browser: the residual connection goes, and the curves of before stay as a ghost."""

from playwright.sync_api import expect
from served import Reader
from told import at, expect_query, query, settle, unfold

SMALL = "preset=course&text=a%20b%20c&d_model=32&n_heads=4&n_depth_seeds=1&depth=4"
LINK = f"/normalization?{SMALL}&panel=depth"


def test_the_residual_connection_goes_before_a_ghost_and_placements_stand_together(
    reader: Reader,
):
    page = reader.load(LINK)
    curves = at(page, "depth_panels")
    expect(curves.get_by_text("post", exact=True)).to_be_visible()
    expect(curves.get_by_text("previous settings", exact=True)).to_have_count(0)
    at(page, "try_residual").get_by_role("button").click()
    expect_query(page, residual="false")
    settle(page)
    expect(curves.get_by_text("previous settings", exact=True)).to_be_visible()
    unfold(page, "stacks")
    at(page, "depth_placements").get_by_role("button", name="sandwich").click()
    settle(page)
    expect(curves.get_by_text("sandwich", exact=True)).to_be_visible()
    assert query(page)["depth_placements"] == "post,sandwich"
