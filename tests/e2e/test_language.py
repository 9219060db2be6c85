"""A language can be changed at any time, and what the reader set stays usable."""

import re

import pytest
from conftest import Reader
from playwright.sync_api import expect
from told import at, choose, expect_query

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("path", ["/", "/block"])
def test_a_control_can_be_moved_after_the_language_was_changed(reader: Reader, path: str):
    page = reader.open(f"{path}?lang=en&preset=bert-base&token=2")
    choose(page, "lang", "中文")
    expect_query(page, lang="zh")
    choose(page, "norm_placement", "前置")
    expect_query(page, norm_placement="pre", preset="bert-base", token="2")
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(at(page, "preset").locator("input")).to_have_value(re.compile("BERT-base"))
