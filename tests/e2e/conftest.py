"""A server, a browser, and readers in front of it."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
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
def desk(browser: Browser, server: str) -> Iterator[Reader]:
    """A reader whose tab stays from story to story: Streamlit is loaded and compiled once."""
    with browser.new_context(**DESK) as context:
        yield Reader(context, server)


@pytest.fixture(scope="session")
def other_desk(browser: Browser, server: str) -> Iterator[Reader]:
    """Another one, with another browser, in Chinese."""
    with browser.new_context(**{**DESK, "locale": "zh-CN"}) as context:
        yield Reader(context, server)


@pytest.fixture
def reader(desk: Reader, request: pytest.FixtureRequest) -> Iterator[Reader]:
    """One reader at a desk."""
    yield from one_story(desk, request.session)


@pytest.fixture
def other_reader(other_desk: Reader, request: pytest.FixtureRequest) -> Iterator[Reader]:
    """Someone else, elsewhere."""
    yield from one_story(other_desk, request.session)


def one_story(reader: Reader, told: pytest.Session) -> Iterator[Reader]:
    """After a story that failed the next has a new tab."""
    n_failed = told.testsfailed
    reader.sit_down()
    yield reader
    reader.leave(is_well=told.testsfailed == n_failed)
