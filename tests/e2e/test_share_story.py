"""Share: the link of the open panel, as text and as a code."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect
from served import Reader
from told import at, opened_title, settle


def shared(page: Page):
    page.get_by_role("button", name="Share").click()
    return page.get_by_test_id("stDialog")


def test_the_link_names_the_panel_and_stands_there_as_a_code_too(reader: Reader):
    page = reader.open("/masks?preset=course&text=a%20b%20c")
    found = shared(page)
    code = found.get_by_role("img", name="QR code of the link below")
    expect(code).to_be_visible()
    box = code.bounding_box()
    assert box and box["width"] >= 380 and abs(box["width"] - box["height"]) < 2
    expect(found).to_contain_text("The link works on this machine only.")
    link = found.get_by_test_id("stCode").inner_text().strip()
    asked = parse_qs(urlsplit(link).query)
    assert asked["text"] == ["a b c"] and asked["panel"]
    reader.open(link.removeprefix(reader.server))
    expect(opened_title(page)).to_have_count(1)
    assert at(page, "share").count() == 1


def test_the_menu_leads_on_from_a_panel_that_was_just_added_to_the_lecture(reader: Reader):
    page = reader.open("/attention?preset=course&text=a%20b%20c&panel=scaling")
    found = shared(page)
    found.get_by_role("tab", name="My lecture").click()
    found.get_by_role("button", name="Add to my lecture").click()
    settle(page)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Masks").click()
    page.wait_for_url("**/masks?*lecture=*")
    settle(page)
    assert "panel=" not in page.url


@pytest.mark.exhaustive
def test_a_link_that_is_too_long_for_a_code_says_so(reader: Reader):
    page = reader.open(f"/masks?preset=course&text={'word%20' * 350}")
    expect(shared(page)).to_contain_text("too long for a QR code")


@pytest.mark.exhaustive
def test_what_a_teacher_leaves_out_is_in_the_link_and_not_on_the_teacher_s_page(reader: Reader):
    page = reader.open("/masks?preset=course&text=a%20b%20c&lang=en")
    found = shared(page)
    found.get_by_role("button", name="page menu").click()
    expect(found.get_by_test_id("stCode")).to_contain_text("hide=menu")
    settle(page)
    expect(page.get_by_role("link", name="Positions")).to_be_visible()
    preview = found.get_by_role("link", name="Preview").get_attribute("href")
    assert preview
    reader.load(preview.removeprefix(reader.server))
    expect(page.get_by_role("link", name="Positions")).to_have_count(0)
