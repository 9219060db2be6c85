"""What changes on the page, what is explained there, and what can be taken away."""

import csv
import json
import tomllib
from pathlib import Path

from playwright.sync_api import Page, expect
from served import Reader
from told import at, choose, expect_query, labels_cut_off, open_panel, plot, unfold

from blocks import PRESETS, ModelConfig
from pages.figures import palette
from pages.panels.block.strip_picture import BRANCH, TRUNK

NORM_BOXES = (
    f"chart.layout.shapes.filter(s => s.type == 'rect' && s.line.color == '{palette.NORM}')"
    ".map(s => (s.x0 + s.x1) / 2)"
)


def test_norms_move_before_a_ghost_and_texts_and_code_explain_them(reader: Reader):
    page = reader.load("/block?preset=course&d_model=64&lang=zh")
    assert plot(page, "strip", NORM_BOXES) == [BRANCH, BRANCH]
    traces = plot(page, "bands", "chart.data.length")
    choose(page, "norm_placement", "后置")
    expect_query(page, norm_placement="post")
    page.wait_for_function(
        "n => document.querySelector('.st-key-bands .js-plotly-plot').data.length == n",
        arg=traces + 1,
    )
    assert plot(page, "strip", NORM_BOXES) == [TRUNK, TRUNK]
    assert "改动前" in plot(page, "bands", "chart.data.at(-1).name")

    opened = page.get_by_test_id("stPopoverBody")
    at(page, "flow_code").get_by_role("button").click()
    for name in ("EncoderLayer", "PostNorm"):
        expect(opened.get_by_test_id("stCode")).to_contain_text(f"class {name}")
    page.keyboard.press("Escape")
    open_panel(page, "各个头关注什么？", "heads")
    at(page, "heads_explain").get_by_role("button").click()
    page.get_by_role("tab", name="注意力", exact=True).click()
    expect(opened.locator("h4:visible").first).to_have_text("观察要点")
    expect(opened.locator(".katex:visible").first).to_be_visible()
    expect(opened.locator(".katex-error")).to_have_count(0)


def saved(page: Page, name: str) -> str:
    """The file behind a download button."""
    with page.expect_download() as download:
        at(page, f"save_{name}").get_by_role("button").click()
    return Path(download.value.path()).read_text(encoding="utf-8")


def test_numbers_and_pictures_can_be_taken_away(reader: Reader, tmp_path: Path):
    page = reader.open("/block?preset=smollm2-135m&n_heads=3")
    unfold(page, "take_away")
    config = PRESETS["smollm2-135m"].replace(n_heads=3).one_block()
    assert ModelConfig.from_flat(tomllib.loads(saved(page, "config_toml"))) == config
    assert ModelConfig.from_flat(json.loads(saved(page, "config_json"))) == config
    rows = list(csv.DictReader(saved(page, "flow_csv").splitlines()))
    assert rows and all(None not in row and None not in row.values() for row in rows)
    file = tmp_path / "pictures.html"
    file.write_text(saved(page, "pictures_html"), encoding="utf-8")
    tab = reader.new_tab()
    tab.goto(file.as_uri())
    expect(tab.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    assert tab.locator("script[src]").count() == 0
    assert labels_cut_off(tab) == []
