"""Small screens and nasty links."""

from collections.abc import Iterator
from itertools import cycle
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from served import PAGES, Reader
from told import at, labels_cut_off, settle

from pages.ui.language import LANGUAGES

FITS = """() => [document.documentElement, ...document.querySelectorAll('[data-testid=stMain]')]
    .every(element => element.scrollWidth <= element.clientWidth)"""
SMALL, LARGE = ({"width": width, "height": 844} for width in (390, 1400))
MARKUP = "<img src=x onerror=alert(1)> **bold** $x^2$ [a](javascript:x) :material/home:"


@pytest.fixture(scope="module")
def walker(desk: Reader) -> Iterator[Reader]:
    """A reader who goes through all pages."""
    desk.sit_down()
    desk.open("/?lang=en")
    yield desk
    desk.leave()


@pytest.mark.parametrize(("name", "lang"), [*zip(["", *PAGES], cycle(LANGUAGES))])
def test_nothing_is_wider_than_the_screen_or_cut_off(walker: Reader, name: str, lang: str):
    """All panels in one language; what opens first in the other, where there is least room."""
    (other,) = LANGUAGES.keys() - {lang}
    first, whole = f"/{name}?lang={other}", f"/{name}?lang={lang}&panel=all"
    looks = [(SMALL, first), (SMALL, whole), (LARGE, whole)]
    if walker.page.viewport_size == LARGE:  # each change of width draws all pictures anew
        looks.reverse()
    shown = ""
    for size, link in looks:
        walker.page.set_viewport_size(size)
        if link != shown:
            walker.go(link)
        shown = link
        assert_fits(walker.page)


def assert_fits(page: Page) -> None:
    page.wait_for_function(FITS)
    settle(page)
    assert labels_cut_off(page) == []


def test_markup_in_a_link_stays_text(reader: Reader):
    markup = quote(MARKUP)
    page = reader.open(f"/block?preset=course&{markup}=1&d_model={markup}&text={markup}&panel=all")
    expect(at(page, "text").locator("textarea")).to_have_value(MARKUP)
    warnings = page.get_by_test_id("stAlertContentWarning")
    expect(warnings).to_have_count(2)
    main = page.get_by_test_id("stMain")
    expect(main.locator("img, .katex, strong:text('bold'), a[href^=javascript]")).to_have_count(0)
    expect(warnings.locator("strong, a, [role=img]")).to_have_count(0)
