"""A language can be changed at any time, and what the reader set stays usable."""

import re

from playwright.sync_api import expect
from served import Reader
from told import at, choose, expect_query, query


def test_the_language_keeps_the_settings_and_a_control_can_be_moved_after_it(reader: Reader):
    page = reader.open("/block?lang=en&preset=bert-base&d_model=96&token=2")
    choose(page, "lang", "中文")
    expect_query(page, lang="zh")
    expect(page.locator("h1")).to_have_text("一个 Transformer 块")
    assert query(page) == {"lang": "zh", "preset": "bert-base", "d_model": "96", "token": "2"}
    choose(page, "norm_placement", "前置")
    expect_query(page, norm_placement="pre", preset="bert-base", token="2")
    expect(at(page, "preset").locator("input")).to_have_value(re.compile("BERT-base"))
