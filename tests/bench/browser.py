"""What a reader waits for, measured in a real browser against an empty Streamlit page."""

import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, sync_playwright
from streamlit.testing.v1 import AppTest

from tests.bench.report import report
from tests.bench.served import server

ROUNDS = 12
MOVED = "640", "768"  # d_ff, from one to the next and back
SENTENCE = " ".join(f"word{i}" for i in range(64))
ROOT = Path(__file__).parents[2]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
# Notes when anything inside a chart was last drawn.
WATCH = """() => { window.drawn = 0; new MutationObserver(changes => {
    if (changes.some(({target}) => target.closest?.('.js-plotly-plot'))) {
        window.drawn = performance.now()
    }}).observe(document.body, {subtree: true, childList: true, attributes: true}) }"""
STILL = "() => window.drawn > window.pressed && performance.now() - window.drawn > 400"


def measure() -> None:
    """Print (b), (c) and (e)."""
    chrome = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    )
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(executable_path=chrome, args=FLAGS)
        with server("app.py") as (url, pid):
            address = f"{url}/block?lang=en&text={SENTENCE.replace(' ', '+')}"
            start = f"{address}&d_ff={MOVED[0]}"
            ours, sizes = slider_times(browser.new_page(), start, "d_ff")
            cached = cached_cpu(browser.new_page(), address, pid)
        saved = Path(folder) / "figures.json"
        states = [figures_of(text=SENTENCE, d_ff=d_ff) for d_ff in MOVED]
        saved.write_text(json.dumps(states))
        with server("tests/bench/ready_made.py", str(saved)) as (url, _):
            bare, _sizes = slider_times(browser.new_page(), url, "state")
    ratio = statistics.median(ours) / statistics.median(bare)
    found = f"{ratio:.2f}  ({statistics.median(ours):.0f} / {statistics.median(bare):.0f} ms)"
    report("(b) slider released to painted / ready-made figures", found, "≤ 1.3")
    report("(c) bytes for it", f"{statistics.median(sizes) / 1024:.0f} KiB", "≤ 300 KB")
    for (name, spent), aim in zip(cached.items(), ("≤ 15 ms", "≤ 40 ms"), strict=True):
        report(f"(e) CPU of a rerun, recording cached: {name}", f"{spent:.1f} ms", aim)


def opened(page: Page, address: str) -> None:
    """Open and wait until nothing moves."""
    page.set_viewport_size({"width": 1400, "height": 900})
    page.goto(address)
    page.wait_for_selector('[data-test-script-state="notRunning"]', timeout=60_000)
    page.wait_for_selector(".js-plotly-plot .main-svg", timeout=60_000)
    page.wait_for_timeout(2500)


def slider_times(page: Page, address: str, slider: str) -> tuple[list[float], list[int]]:
    """Milliseconds from key to the last picture drawn, and bytes received for it."""
    received: list[int] = []
    page.on("websocket", lambda ws: ws.on("framereceived", lambda data: received.append(len(data))))
    opened(page, address)
    times, sizes = [], []
    page.evaluate(WATCH)
    for i in range(ROUNDS):
        received.clear()
        page.locator(f".st-key-{slider} input[type=range]").focus()
        page.evaluate("() => { window.pressed = performance.now() }")
        page.keyboard.press("ArrowRight" if i % 2 == 0 else "ArrowLeft")
        page.wait_for_function(STILL, timeout=30_000)
        times.append(page.evaluate("() => window.drawn - window.pressed"))
        sizes.append(sum(received))
    page.close()
    return times[2:], sizes[2:]


def figures_of(**query: str) -> dict[str, str]:
    """The pictures of the Block page, as they are sent."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("pages/block.py")
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    return {str(i): chart.proto.spec for i, chart in enumerate(app.get("plotly_chart"))}


def cached_cpu(page: Page, address: str, pid: int) -> dict[str, float]:
    """CPU milliseconds that the server spends on a rerun of what it has run before."""
    opened(page, f"{address}&panel=heads")
    heads = page.locator(".st-key-head button")
    spent = {"another head (section)": _cpu_of(page, pid, heads, (1, 2))}
    opened(page, address)
    stages = page.locator(".st-key-norm_placement button")
    spent["another norm placement, seen before (page)"] = _cpu_of(page, pid, stages, (1, 0))
    page.close()
    return spent


def _cpu_of(page: Page, pid: int, buttons: Locator, which: tuple[int, int]) -> float:
    """CPU of one press, beyond what the server spends in the same time at rest."""
    for i in which:
        _press(page, buttons, i)
    start = time.perf_counter()
    pressed = _cpu_spent(pid, lambda: [_press(page, buttons, i) for i in which * (ROUNDS // 2)])
    lasted = 1000 * (time.perf_counter() - start)
    resting = _cpu_spent(pid, lambda: page.wait_for_timeout(lasted))
    return 1000 * (pressed - resting) / ROUNDS


def _cpu_spent(pid: int, work: Callable[[], object]) -> float:
    start = _cpu_seconds(pid)
    work()
    return _cpu_seconds(pid) - start


def _press(page: Page, buttons: Locator, i: int) -> None:
    buttons.nth(i).click()
    page.wait_for_timeout(700)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
