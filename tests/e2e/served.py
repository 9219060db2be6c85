"""A server, and someone in front of a browser."""

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
# What the browser does where the reader goes back to an entry of its history.
GO_TO = "link => { history.pushState({}, '', link); dispatchEvent(new PopStateEvent('popstate')); }"


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
    for _ in range(PATIENCE // 100):
        assert process.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
    raise TimeoutError(address)


class Reader:
    """Someone in front of a browser."""

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

    def open(self, link: str) -> Page:
        """Open a link and wait until the page stands."""
        self.page.goto(self.server + link)
        settle(self.page)
        return self.page

    def go(self, link: str) -> Page:
        """Go to a link with another title within the page that is loaded, and wait likewise."""
        title = self.page.locator("h1")
        before = title.inner_text()
        self.page.evaluate(GO_TO, link)
        expect(title).not_to_have_text(before)
        settle(self.page)
        return self.page

    def leave(self) -> None:
        """Close the tabs; no error was seen, and nothing was asked of another machine."""
        for page in self.context.pages:
            if page not in self.others:
                page.close()
        assert self.errors == []
        assert self.hosts <= {"127.0.0.1", None}
