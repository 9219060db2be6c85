"""Small screens and nasty links."""

from itertools import cycle
from urllib.parse import quote

import pytest
from conftest import ROOT, Reader
from playwright.sync_api import expect
from told import at, labels_cut_off, settle

from pages.ui.language import LANGUAGES

PAGES = ["", *sorted(path.stem for path in (ROOT / "pages").glob("*.py"))]
FITS = """() => [document.documentElement, ...document.querySelectorAll('[data-testid=stMain]')]
    .every(element => element.scrollWidth <= element.clientWidth)"""
MARKUP = "<img src=x onerror=alert(1)> **bold** $x^2$ [a](javascript:x) :material/home:"


@pytest.mark.parametrize(
    ("name", "lang"), [*zip(PAGES, cycle(LANGUAGES)), ("attention", "en"), ("seq2seq", "en")]
)
def test_nothing_is_wider_than_the_screen_or_cut_off(reader: Reader, name: str, lang: str):
    page = reader.open(f"/{name}?lang={lang}")
    for width in (390, 1400):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_function(FITS)
    settle(page)
    assert labels_cut_off(page) == []


def test_markup_in_a_link_stays_text(reader: Reader):
    markup = quote(MARKUP)
    page = reader.open(f"/block?preset=course&{markup}=1&d_model={markup}&text={markup}")
    expect(at(page, "text").locator("textarea")).to_have_value(MARKUP)
    warnings = page.get_by_test_id("stAlertContentWarning")
    expect(warnings).to_have_count(2)
    main = page.get_by_test_id("stMain")
    expect(main.locator("img, .katex, strong:text('bold'), a[href^=javascript]")).to_have_count(0)
    expect(warnings.locator("strong, a, [role=img]")).to_have_count(0)


def test_an_impossible_link_says_what_it_changed(reader: Reader):
    page = reader.open("/block?preset=course&n_heads=6&d_model=256&lang=zh")
    expect(page.get_by_test_id("stAlertContentWarning")).to_contain_text("n_heads")
    expect(at(page, "n_heads").get_by_test_id("stSliderThumbValue")).to_have_text("4")


def test_what_is_too_large_has_a_way_out(reader: Reader):
    page = reader.open("/block?preset=course&d_model=1000000&text=a")
    expect(page.get_by_test_id("stAlertContentError")).to_contain_text("GiB")
    at(page, "mend_0").get_by_role("button").click()
    expect(at(page, "strip")).to_be_visible()
    expect(page.get_by_test_id("stAlertContentError")).to_have_count(0)
