"""Everything on a page, taken home in one file and opened without a network."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from served import Reader
from told import PATIENCE, at, settle


@pytest.mark.exhaustive
def test_the_file_opens_without_a_network(reader: Reader, browser: Browser, tmp_path: Path):
    page = reader.open("/masks?preset=course&text=a%20%3Cb%3Eb%3C/b%3E%20c")
    at(page, "to_all").get_by_role("button").click()
    expect(at(page, "one_file_ask")).to_be_visible()
    settle(page)
    at(page, "one_file_ask").get_by_role("button").click()
    with page.expect_download(timeout=PATIENCE) as taken:
        at(page, "one_file").get_by_role("button").click()
    assert taken.value.suggested_filename == "blockscope-masks.html"
    file = tmp_path / "masks.html"
    taken.value.save_as(file)
    n_charts = page.get_by_test_id("stPlotlyChart").count() - 1  # without that of the input

    with browser.new_context(offline=True) as context:
        alone = context.new_page()
        asked, errors = [], []
        alone.on("request", lambda request: asked.append(request.url))
        alone.on("pageerror", lambda error: errors.append(str(error)))
        alone.on("console", lambda said: said.type == "error" and errors.append(said.text))
        alone.goto(file.as_uri())
        expect(alone.locator("figure .plot-container")).to_have_count(n_charts)
        formula = alone.locator("math mfrac").first
        assert (
            formula.bounding_box()["height"]
            > alone.locator("math mn").first.bounding_box()["height"]
        )
        expect(alone.locator("pre").first).to_have_text("a <b>b</b> c")
        assert (asked, errors) == ([file.as_uri()], [])
