"""A server, and someone in front of a browser."""

import os
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

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, expect
from told import PATIENCE, settle

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
# What moves for its own sake keeps a processor busy for as long as a page takes.
DESK = {"viewport": {"width": 1400, "height": 900}, "locale": "en-GB", "reduced_motion": "reduce"}
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
    "user_agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Mobile/15E148",
}
# The page with the least on it, by which one comes from a page to another link of it.
BETWEEN = "/compare?panel=kept"
# What the browser does where the reader goes back to an entry of its history.
GO_TO = "link => { history.pushState({}, '', link); dispatchEvent(new PopStateEvent('popstate')); }"


@contextmanager
def serving() -> Iterator[str]:
    """A fresh server, and where it answers."""
    with started([sys.executable, "-m", "streamlit", "run", "app.py"], cwd=ROOT) as address:
        yield address


@contextmanager
def started(command: list[str], cwd: Path, **environment: str) -> Iterator[str]:
    """A server that this command starts in this folder, and where it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"port": port, "headless": "true", "address": "127.0.0.1"}
    flags = [part for name, value in options.items() for part in (f"--server.{name}", str(value))]
    process = subprocess.Popen(
        [*command, *flags], cwd=cwd, env=os.environ | environment, stdout=subprocess.DEVNULL
    )
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def wait_until_healthy(address: str, process: subprocess.Popen) -> None:
    for _ in range(PATIENCE // 100):
        assert process.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
    raise TimeoutError(address)


class Reader:
    """Someone in front of a browser, with one tab; what a story opens beside it ends with it."""

    def __init__(self, context: BrowserContext, server: str):
        self.context, self.server = context, server
        context.set_default_timeout(PATIENCE)
        self.others = context.pages
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

    def load(self, link: str) -> Page:
        """Open a link as who got it does, in a new session, and wait until the page stands."""
        self.page.goto(self.server + link)
        settle(self.page)
        return self.page

    def open(self, link: str) -> Page:
        """Go to a link, within what is loaded: that costs a quarter of the time.

        The session goes on, so what is told of its beginning (a ghost of the settings before) is
        told of a page that is loaded.
        """
        if not self.page.url.startswith(self.server):
            return self.load(link)
        if urlsplit(self.page.url).path == urlsplit(link).path:
            self.go(BETWEEN)
        return self.go(link)

    def go(self, link: str) -> Page:
        """Go to a link with another title within the page that is loaded, and wait likewise."""
        title = self.page.get_by_test_id("stMain").locator("h1")  # a dialog may have one too
        before = title.inner_text()
        self.page.evaluate(GO_TO, link)
        expect(title).not_to_have_text(before)
        settle(self.page)
        return self.page

    def sit_down(self) -> None:
        """Begin a story."""
        if self.page.is_closed():
            self.page = self.new_tab()
        if self.page.viewport_size != DESK["viewport"]:
            self.page.set_viewport_size(DESK["viewport"])

    def leave(self, *, is_well: bool = True) -> None:
        """End a story; no error was seen, and nothing was asked of another machine."""
        errors, self.errors = self.errors, []
        hosts, self.hosts = self.hosts, set()
        for page in self.context.pages:
            if page not in self.others and (page != self.page or not is_well or errors):
                page.close()
        assert errors == []
        assert hosts <= {"127.0.0.1", None}
