"""The words in which the stories are told."""

from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from playwright.sync_api import Locator, Page, TimeoutError, expect

PATIENCE = 180_000  # milliseconds: far more than a busy machine takes

# True when nothing runs or moves, all is drawn, and nothing came or went since the last look.
STANDS_STILL = """() => {
    const count = selector => document.querySelectorAll(selector).length;
    const charts = [...document.querySelectorAll("[data-testid='stPlotlyChart']")];
    const ends = animation => animation.effect?.getComputedTiming().endTime < Infinity;
    const glides = document.getAnimations().filter(one => one.playState === 'running' && ends(one));
    const size = count('*'), before = window.sizeBefore;
    window.sizeBefore = size;
    window.waitsFor = Object.entries({
        'the title': !count('h1'),
        'the script to end': !count("[data-test-script-state='notRunning']"),
        'stale elements': count("[data-stale='true']"),
        'skeletons': count("[data-testid='stSkeleton']"),
        'charts to be drawn': charts.filter(chart => !chart.querySelector('.main-svg')).length,
        'elements to stop coming and going': size !== before,
        'animations to end': glides.length,
    }).filter(([_, waits]) => Number(waits)).map(([what, n]) => `${what} (${Number(n)})`);
    return window.waitsFor.length === 0;
}"""

TITLES = ".st-key-panel"

# True when the address bar says all of it.
SAYS = """wanted => {
    const said = new URLSearchParams(location.search);
    return Object.entries(wanted).every(([name, value]) => said.get(name) === value);
}"""


def settle(page: Page) -> None:
    """Wait until the page was drawn and nothing runs."""
    page.evaluate("delete window.sizeBefore")
    try:
        page.wait_for_function(STANDS_STILL, polling=100)
    except TimeoutError:
        waits_for = ", ".join(page.evaluate("window.waitsFor"))
        raise AssertionError(f"{page.url} still waits for: {waits_for}") from None
    expect(page.get_by_test_id("stException")).to_have_count(0)


def at(page: Page, key: str) -> Locator:
    """The element with this key."""
    return page.locator(f".st-key-{key}")


def unfold(page: Page, key: str) -> None:
    """Open what is folded, and wait until it stands: while it glides, a click misses its mark."""
    at(page, key).locator("summary").click()
    settle(page)


def press(page: Page, key: str, *keys: str) -> None:
    """Move a slider, or the choice among buttons, by keyboard."""
    at(page, key).locator("input[type=range], [aria-checked=true]").focus()
    for name in keys:
        page.keyboard.press(name)


def as_fast_as_a_hand(page: Page) -> None:
    """What lies between two moves, though the page is still being redrawn."""
    page.wait_for_timeout(300)


def go_back(page: Page) -> None:
    """Press Back as a reader does, later than what the browser says twice after a fast move."""
    page.wait_for_timeout(700)
    page.go_back()


def choose(page: Page, key: str, label: str) -> None:
    """Click one of several buttons."""
    at(page, key).get_by_role("radio", name=label, exact=True).click()


def panel_title(page: Page, title: str) -> Locator:
    """The title of a panel, among all those of the page."""
    return page.locator(TITLES).get_by_role("radio", name=title, exact=True)


def opened_title(page: Page) -> Locator:
    """The title of the panel that is open, among those of the page."""
    return page.locator(TITLES).locator("[aria-checked=true]")


def open_panel(page: Page, title: str, name: str) -> None:
    """Go to another panel of the page by its title."""
    panel_title(page, title).click()
    expect_query(page, panel=name)


def link_of(page: Page) -> str:
    """What the address bar says after the server."""
    said = urlsplit(page.url)
    return f"{said.path}?{said.query}"


def query(page: Page) -> dict[str, str]:
    """The settings in the address bar, beyond the preset and panels from which a story starts."""
    start = (("preset", "course"), ("panel", "all"))
    return {n: v for n, v in parse_qsl(urlsplit(page.url).query) if (n, v) not in start}


def expect_query(page: Page, **settings: str) -> None:
    """Wait until the address bar says so, and the page stands.

    (Playwright's own `expect` describes the whole page after each look in vain.)
    """
    with suppress(TimeoutError):
        page.wait_for_function(SAYS, arg=settings, polling=50)
    settle(page)
    if not settings.items() <= query(page).items():
        raise AssertionError(f"{page.url} does not come to say {settings}")


def plot(page: Page, key: str, script: str) -> Any:
    """What a script reads off a chart (`chart`: Plotly's element)."""
    chart = at(page, key).locator(".js-plotly-plot")
    expect(chart.locator("svg.main-svg").first).to_be_visible()
    return chart.evaluate(f"chart => {script}")


CUT_OFF = """[...document.querySelectorAll('.js-plotly-plot')].flatMap(chart => {
    const {left, right} = chart.getBoundingClientRect();
    return [...chart.querySelectorAll('.xtick text, .ytick text, .gtitle, .legendtext')]
        .filter(label => {
            const box = label.getBoundingClientRect();
            return box.width && (box.left < left - 1 || box.right > right + 1);
        })
        .map(label => label.textContent);
})"""


def labels_cut_off(page: Page) -> list[str]:
    """What is written on a chart and stands outside of it, even a while later."""
    with suppress(TimeoutError):
        page.wait_for_function(f"() => {CUT_OFF}.length == 0", timeout=PATIENCE / 6)
    return page.evaluate(CUT_OFF)


IS_HOVERED = "key => document.querySelector(`.st-key-${key} .js-plotly-plot`)?._hoverdata?.length"


def click_mark(page: Page, key: str, x: float, y: float) -> None:
    """Click a chart where its axes say (x, y), once it notices the mouse there.

    While a page is drawn anew, the chart of before may still stand beside the one that follows.
    """
    expect(at(page, key)).to_have_count(1)
    at(page, key).scroll_into_view_if_needed()
    for _ in range(PATIENCE // 1000):
        left, top = _place_of_mark(page, key, x, y)
        page.mouse.move(left - 3, top - 3)
        page.mouse.move(left, top)
        with suppress(TimeoutError):
            page.wait_for_function(IS_HOVERED, arg=key, timeout=1000)
            page.mouse.click(left, top)
            return
    raise AssertionError(f"{key} has nothing to point at in ({x}, {y})")


def tap_mark(page: Page, key: str, x: float, y: float) -> None:
    """Touch a chart once where its axes say (x, y)."""
    expect(at(page, key)).to_have_count(1)
    at(page, key).scroll_into_view_if_needed()
    page.touchscreen.tap(*_place_of_mark(page, key, x, y))


def _place_of_mark(page: Page, key: str, x: float, y: float) -> tuple[float, float]:
    """Where on the screen a chart draws (x, y)."""
    return plot(
        page,
        key,
        f"""{{
            const box = chart.getBoundingClientRect(), {{xaxis, yaxis}} = chart._fullLayout;
            const x = box.left + xaxis._offset + xaxis.l2p({x});
            return [x, box.top + yaxis._offset + yaxis.l2p({y})];
        }}""",
    )
