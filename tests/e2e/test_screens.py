"""Small screens and nasty links."""

from collections.abc import Iterator
from itertools import cycle
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from served import PAGES, Reader
from told import at, labels_cut_off, settle, unfold

FITS = """() => [document.documentElement, ...document.querySelectorAll('[data-testid=stMain]')]
    .every(element => element.scrollWidth <= element.clientWidth)"""
SMALL, LARGE = ({"width": width, "height": 844} for width in (390, 1400))
OFTEN = ("", "cost")
MARKUP = "<img src=x onerror=alert(1)> **bold** $x^2$ [a](javascript:x) :material/home:"


@pytest.fixture(scope="module")
def walker(desk: Reader) -> Iterator[Reader]:
    """A reader who goes through all pages."""
    desk.sit_down()
    desk.open("/?lang=en")
    yield desk
    desk.leave()


def looks() -> Iterator[object]:
    """All panels of each page in one language; what opens first in the other, where there is least
    room. Daily some on a small screen, where most does not fit; and one size at a time."""
    pages = [*zip(["", *PAGES], cycle([("en", "zh"), ("zh", "en")]))]
    for name, (lang, _) in pages:
        daily = [] if name in OFTEN else [pytest.mark.exhaustive]
        yield pytest.param(SMALL, f"/{name}?lang={lang}&panel=all", marks=daily)
    for name, (lang, _) in pages:
        yield pytest.param(LARGE, f"/{name}?lang={lang}&panel=all", marks=pytest.mark.exhaustive)
    for name, (_, other) in pages:
        yield pytest.param(SMALL, f"/{name}?lang={other}", marks=pytest.mark.exhaustive)


@pytest.mark.parametrize(("size", "link"), [*looks()])
def test_nothing_is_wider_than_the_screen_or_cut_off(
    walker: Reader, size: dict[str, int], link: str
):
    walker.page.set_viewport_size(size)
    walker.open(link)
    assert_fits(walker.page)


def assert_fits(page: Page) -> None:
    page.wait_for_function(FITS)
    settle(page)
    assert labels_cut_off(page) == []


def test_markup_in_a_link_stays_text(reader: Reader):
    markup = quote(MARKUP)
    page = reader.open(f"/block?preset=course&{markup}=1&d_model={markup}&text={markup}&panel=flow")
    unfold(page, "input")
    expect(at(page, "text").locator("textarea")).to_have_value(MARKUP)
    warnings = page.get_by_test_id("stAlertContentWarning")
    expect(warnings).to_have_count(2)
    main = page.get_by_test_id("stMain")
    expect(main.locator("img, .katex, strong:text('bold'), a[href^=javascript]")).to_have_count(0)
    expect(warnings.locator("strong, a, [role=img]")).to_have_count(0)
