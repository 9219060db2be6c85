"""Many readers at once: `make load`.

Each opens a page with a sentence of its own, moves a control every few seconds, goes on to another
page, and leaves without a word; where the server lets go of one, it comes back by its link.
Each asks for permessage-deflate (RFC 7692), as browsers do, so that what it costs to compress is
in the CPU of a run.
"""

import argparse
import asyncio
import random
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from tests.bench.served import Served, server

WORDS = ("owl", "fox", "bear", "tree", "lamp", "bell", "boat", "cake", "night", "river", "moon")
OF_THE_MODEL = ("d_model", "n_heads", "d_ff")
ENDED = (
    ForwardMsg.FINISHED_SUCCESSFULLY,
    ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
    ForwardMsg.FINISHED_WITH_COMPILE_ERROR,
)
A_PAGE_IN, A_LEAVE_IN = 8, 40  # so many moves, on average, between two pages and two readers
FOR_P95 = 64  # steps in a row's time; of fewer than 40 moves the p95 is about their largest
PATIENCE = 180.0  # seconds
TO_WARM_UP = 8  # readers: enough that each of a few processes has paid for its first times
FOR_ALL: Mapping[str, str] = MappingProxyType({})  # what every address says
BY_ITSELF = ("app", "training")  # moves without a reader; nothing there answers to a slider


@dataclass
class Seen:
    """What happened to all readers: seconds of each answer, and what went wrong."""

    moves: list[float] = field(default_factory=list)
    opened: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    came_back: int = 0


class Slider(NamedTuple):
    """Where it can be moved to, and the fragment that reruns with it, as in a browser."""

    options: Sequence[str]
    fragment: str


class Reader:
    """Someone with a phone: one websocket, one page, some sliders."""

    def __init__(
        self,
        address: str,
        pages: Sequence[str],
        seed: int,
        seen: Seen,
        more: Mapping[str, str] = FOR_ALL,
    ):
        """A sentence of its own, so that nothing is served ready-made; `more` in each address."""
        self.address, self.pages, self.seen, self.more = address, pages, seen, more
        self.random = random.Random(seed)
        self.page, self.query, self.cookie = pages[seed % len(pages)], "", ""
        self.sliders: dict[str, Slider] = {}
        self.moved: dict[str, str] = {}

    async def stay(self, until: float, think: float) -> None:
        """Open a page, move controls, leave; again and again until the time is over."""
        await asyncio.sleep(self.random.random() * think)
        while time.monotonic() < until:
            self.query = urlencode({"text": self.sentence(), **self.more})
            await self._one_visit(until, think)

    def sentence(self) -> str:
        """Some words in any order."""
        return "Once there was a " + " ".join(self.random.choices(WORDS, k=10))

    async def _one_visit(self, until: float, think: float) -> None:
        is_left = False
        while time.monotonic() < until and not is_left:
            try:
                async with self._line() as line:
                    self._keep_cookie(line)
                    self.seen.opened.append(await self._run(line))
                    is_left = await self._moves(line, until, think)
            except (websockets.ConnectionClosed, OSError, TimeoutError, websockets.InvalidStatus):
                self.seen.came_back += 1
                await asyncio.sleep(1)

    def _line(self) -> connect:
        headers = {"Cookie": self.cookie} if self.cookie else {}
        return connect(
            f"{self.address}/_stcore/stream",
            subprotocols=["streamlit"],
            additional_headers=headers,
            max_size=None,
            ping_interval=None,
            open_timeout=PATIENCE,
        )

    def _keep_cookie(self, line: ClientConnection) -> None:
        """Which process of several a reader is with."""
        given = line.response.headers.get_all("Set-Cookie") if line.response else []
        if ours := [each for each in given if each.startswith("blockscope=")]:
            self.cookie = ours[0].partition(";")[0]

    async def _moves(self, line: ClientConnection, until: float, think: float) -> bool:
        """Whether the reader left, and the next one takes the seat."""
        while time.monotonic() < until:
            await asyncio.sleep(self.random.expovariate(1 / think))
            if self.random.randrange(A_LEAVE_IN) == 0:
                return True
            if self.random.randrange(A_PAGE_IN) == 0 or not self.sliders:
                self.page = self.random.choice(self.pages)
                self.sliders, self.moved = {}, {}
                self.seen.opened.append(await self._run(line))
            else:
                name = self.random.choice([*self.sliders])
                self.moved[name] = self.random.choice(self.sliders[name].options[:6])
                self.seen.moves.append(await self._run(line, self.sliders[name].fragment))
        return True

    async def _run(self, line: ClientConnection, fragment: str = "") -> float:
        """Send what is set, and read until the script ends; the seconds it took."""
        began = time.monotonic()
        async with asyncio.timeout(PATIENCE):
            await line.send(self._asks(fragment).SerializeToString())
            await self._hear(line)
        return time.monotonic() - began

    async def _hear(self, line: ClientConnection) -> None:
        """Read until the script ends."""
        while True:
            message = ForwardMsg.FromString(await line.recv())
            kind = message.WhichOneof("type")
            if kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "delta":
                self._note(message)
            elif kind == "script_finished" and message.script_finished in ENDED:
                return

    def _asks(self, fragment: str) -> BackMsg:
        message = BackMsg()
        message.rerun_script.query_string = self.query
        message.rerun_script.fragment_id = fragment
        message.rerun_script.page_name = "" if self.page == "app" else self.page
        for name, option in self.moved.items():
            widget = message.rerun_script.widget_states.widgets.add()
            widget.id = name
            widget.string_array_value.data.append(option)
        return message

    def _note(self, message: ForwardMsg) -> None:
        element = message.delta.new_element
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.seen.faults.append(f"{self.page}: {element.exception.message[:200]}")
        elif kind == "slider" and len(element.slider.options) > 1:
            name = element.slider.id
            if any(f"-{each}" in name for each in OF_THE_MODEL):
                self.sliders[name] = Slider([*element.slider.options], message.delta.fragment_id)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all does not exceed, in milliseconds."""
    return 1000 * sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


async def play(
    address: str,
    pages: Sequence[str],
    n: int,
    seconds: float,
    think: float,
    more: Mapping[str, str] = FOR_ALL,
) -> Seen:
    """So many readers for so long."""
    seen, until = Seen(), time.monotonic() + seconds
    readers = [Reader(address, pages, seed, seen, more) for seed in range(n)]
    await asyncio.gather(*(reader.stay(until, think) for reader in readers))
    return seen


@contextmanager
def somewhere(url: str | None) -> Iterator[Served]:
    """A server that runs already, whose processes are not ours to measure, or one of our own."""
    if url:
        yield Served(f"ws://{urlsplit(url).netloc}", ())
    else:
        with server("app.py") as (address, pid):
            yield Served(f"ws://{urlsplit(address).netloc}", (pid,))


def between_moves(n: int, seconds: float, think: float) -> float:
    """Seconds that each thinks: few readers less than asked for, so that a p95 can be told."""
    return min(think, n * seconds / FOR_P95)


def report(
    n: int, think: float, seen: Seen, served: Served, cpu: float, own: float, before: float
) -> str:
    """One row: times in milliseconds, memory in MiB; `own` is what playing the readers took."""
    runs = len(seen.moves) + len(seen.opened)
    row = (
        f"{n:4d} readers · {len(seen.moves)} moves, one in {think:.1f} s"
        f" · median {percentile(seen.moves, 0.5):.0f} ms"
        f" · p95 {percentile(seen.moves, 0.95):.0f} ms · {len(seen.opened)} openings,"
        f" median {percentile(seen.opened, 0.5):.0f} ms · came back {seen.came_back}"
        f" · faults {len(seen.faults)}"
    )
    if served.pids and runs:
        memory = served.memory() - before
        row += f" · CPU {1000 * cpu / runs:.0f} ms a run, of the readers {1000 * own / runs:.1f}"
        row += f" · {memory / n:.1f} MiB a reader"
    return row


def main() -> None:
    """Play the readers asked for and print a row for each number of them."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--url", help="a server that runs; without one, one is started")
    options.add_argument("--readers", default="1,20,40", help="how many, one row each")
    options.add_argument("--seconds", type=float, default=30, help="how long for each row, ≤ 600")
    options.add_argument(
        "--think", type=float, default=5, help="seconds between two moves, at most"
    )
    options.add_argument("--pages", help="which, by name; all but those that move by themselves")
    chosen = options.parse_args()
    here = [path.stem for path in sorted(Path("pages").glob("*.py"))]
    pages = chosen.pages.split(",") if chosen.pages else [p for p in here if p not in BY_ITSELF]
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    with somewhere(chosen.url) as served:
        asyncio.run(play(served.address, pages, TO_WARM_UP, 5, 1))
        for n in map(int, chosen.readers.split(",")):
            before, cpu, own = served.memory(), served.cpu(), time.process_time()
            seconds = min(chosen.seconds, 600)
            think = between_moves(n, seconds, chosen.think)
            seen = asyncio.run(play(served.address, pages, n, seconds, think))
            cpu, own = served.cpu() - cpu, time.process_time() - own
            print(report(n, think, seen, served, cpu, own, before), flush=True)
            for fault, times in {each: seen.faults.count(each) for each in seen.faults}.items():
                print(f"     {times} × {fault}")


if __name__ == "__main__":
    main()
