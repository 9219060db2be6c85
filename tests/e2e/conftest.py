"""A server, a browser, and readers in front of it."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright
from served import DESK, Reader, serving
from told import PATIENCE

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # all tabs in one process, which compiles the scripts of Streamlit once
]
STORY_SECONDS = 900
expect.set_options(timeout=PATIENCE)


def pytest_itemcollected(item: pytest.Item) -> None:
    """All that stands here drives a browser; one process tells all stories, to one server."""
    item.add_marker(pytest.mark.e2e)
    item.add_marker(pytest.mark.timeout(STORY_SECONDS))
    item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The server that all stories share."""
    with serving() as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The machine's own Chrome or Chromium, else Playwright's."""
    found = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=next(found, None), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def desk(browser: Browser, server: str) -> Iterator[BrowserContext]:
    """A browser that has loaded Streamlit before, and one tab that keeps its process alive."""
    with browser.new_context(**DESK) as context:
        context.new_page().goto(f"{server}/_stcore/health")
        yield context


@pytest.fixture
def reader(desk: BrowserContext, server: str) -> Iterator[Reader]:
    """One reader at a desk."""
    reader = Reader(desk, server)
    yield reader
    reader.leave()


@pytest.fixture
def other_reader(browser: Browser, server: str) -> Iterator[Reader]:
    """Another one, with another browser, in Chinese."""
    with browser.new_context(**{**DESK, "locale": "zh-CN"}) as context:
        reader = Reader(context, server)
        yield reader
        reader.leave()
