"""CPU of the server for what one reader does, against a rerun of an empty page."""

import statistics
import time
from collections.abc import Callable
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from tests.bench.report import report
from tests.bench.served import server

N_TIMES, N_MOVES = 24, 6
SENTENCE = "Once there was a little owl who lived in an old tree"


def measure() -> None:
    """Print one line a page and kind of rerun."""
    with server("tests/bench/empty_page.py") as (url, pid):
        empty = cpu_of(Reader(url, "").rerun, pid, N_TIMES)
    for page in ("block", "gpt"):
        with server("app.py") as (url, pid):
            reader = Reader(url, page)
            spent = reader.spent(pid)
        for name, (milliseconds, aim) in spent.items():
            found = f"{milliseconds / empty:.0f} × empty  ({milliseconds:.0f} ms)"
            report(f"CPU of a rerun, {page}: {name}", found, f"≤ {aim} ms")


class Reader:
    """A browser without a screen: it says what was moved, and hears what is drawn."""

    def __init__(self, url: str, page: str, **query: str):
        address = f"{url.replace('http', 'ws')}/_stcore/stream"
        self.socket = connect(address, subprotocols=["streamlit"], max_size=None, compression=None)
        self.page, self.query = page, urlencode({"text": SENTENCE, **query})
        self.sliders: dict[str, tuple[str, list[str], str]] = {}
        self.buttons: dict[str, tuple[str, str]] = {}
        self.section = ""
        self.rerun()

    def spent(self, pid: int) -> dict[str, tuple[float, int]]:
        """Milliseconds and aim of each kind of rerun."""
        name = next(name for name in ("d_ff", "n_heads") if name in self.sliders)
        places = iter(range(N_MOVES))
        moved = cpu_of(lambda: self.move(name, next(places)), pid, N_MOVES)
        page = cpu_of(self.rerun, pid, N_TIMES)
        section = cpu_of(lambda: self.rerun(section=self.section), pid, N_TIMES)
        return {
            "a moved control": (moved, 60),
            "the page, its recording kept": (page, 40),
            "a section, its recording kept": (section, 15),
        }

    def move(self, name: str, place: int) -> None:
        """Move a slider to one of its places; what it stands in reruns."""
        widget, options, section = self.sliders[name]
        self.rerun(widget, options[place % len(options)], section)

    def open(self, **query: str) -> None:
        """Go to another address of the same page."""
        self.query = urlencode(query)
        self.rerun()

    def press(self, key: str) -> None:
        """Press a button; what it stands in reruns."""
        widget, section = self.buttons[key]
        self.rerun(widget, section=section)

    def rerun(self, widget: str = "", value: str = "", section: str = "") -> None:
        """Ask for the page, or for a section of it, and hear it to its end."""
        message = BackMsg()
        asked = message.rerun_script
        asked.query_string, asked.page_name, asked.fragment_id = self.query, self.page, section
        if widget:
            state = asked.widget_states.widgets.add(id=widget)
            if value:
                state.string_array_value.data.append(value)
            else:
                state.trigger_value = True
        self.socket.send(message.SerializeToString())
        while self.heard() != "script_finished":
            pass

    def heard(self) -> str | None:
        """Take in one message; its kind."""
        message = ForwardMsg()
        message.ParseFromString(self.socket.recv(timeout=120))
        kind = message.WhichOneof("type")
        if kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        if kind == "delta":
            self.note(message.delta)
        return kind

    def note(self, delta: Delta) -> None:
        """Remember sliders and buttons, and the section of the last chart: the open panel."""
        element = delta.new_element
        kind = element.WhichOneof("type")
        if kind == "plotly_chart":
            self.section = delta.fragment_id
        if kind == "button":
            key = element.button.id.rpartition("-")[2]
            self.buttons[key] = element.button.id, delta.fragment_id
        if kind == "slider":
            name = element.slider.id.rpartition("-")[2].partition("__")[0]
            self.sliders[name] = element.slider.id, [*element.slider.options], delta.fragment_id


def cpu_of(work: Callable[[], object], pid: int, n: int) -> float:
    """Median CPU milliseconds that a process spends on this work."""
    clock = (~pid << 3) | 2  # the CPU clock of another process: clock_getcpuclockid(3)
    spent = []
    for _ in range(n):
        start = time.clock_gettime(clock)
        work()
        time.sleep(0.1)  # what it does after its answer is its work, too
        spent.append(1000 * (time.clock_gettime(clock) - start))
    return statistics.median(spent)
