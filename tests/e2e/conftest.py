"""A server, a browser, and readers in front of it."""

import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)
from told import settle

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
expect.set_options(timeout=20_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All that stands here drives a browser; one server is asked for all stories of a page."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.xdist_group(page_of(item)))


def page_of(item: pytest.Item) -> str:
    """The page of a story, as the story or its file is called; else it is told of one block."""
    story = item.path.stem.removeprefix("test_")
    values = item.callspec.params if hasattr(item, "callspec") else {}
    return values.get("name") or next(filter(story.startswith, PAGES), "block")


@contextmanager
def serving(script: Path = ROOT / "app.py") -> Iterator[str]:
    """A fresh server, and where it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"port": port, "headless": "true", "address": "127.0.0.1"}
    flags = [part for name, value in options.items() for part in (f"--server.{name}", str(value))]
    command = [sys.executable, "-m", "streamlit", "run", str(script), *flags]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def wait_until_healthy(address: str, process: subprocess.Popen) -> None:
    for _ in range(300):
        assert process.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
    raise TimeoutError(address)


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


class Reader:
    """Someone in front of a browser."""

    def __init__(self, context: BrowserContext, server: str):
        self.context, self.server = context, server
        self.errors: list[str] = []
        self.hosts: set[str | None] = set()
        self.page = self.new_tab()

    def new_tab(self) -> Page:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self.hear)
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).hostname))
        return page

    def hear(self, said: ConsoleMessage) -> None:
        """Note an error. (Streamlit asks below each page for its own paths, and looks on.)"""
        if said.type == "error" and "/_stcore/" not in said.location["url"]:
            self.errors.append(f"{said.text} {said.location['url']}")

    def open(self, link: str) -> Page:
        """Open a link and wait until the page stands."""
        self.page.goto(self.server + link)
        settle(self.page)
        return self.page

    def leave(self) -> None:
        """Close the tabs; no error was seen, and nothing was asked of another machine."""
        for page in self.context.pages:
            page.close()
        assert self.errors == []
        assert self.hosts <= {"127.0.0.1", None}


DESK = {"viewport": {"width": 1400, "height": 900}, "locale": "en-GB"}


@pytest.fixture(scope="session")
def desk(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that has loaded Streamlit before."""
    with browser.new_context(**DESK) as context:
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
