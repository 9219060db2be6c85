"""A class that guesses at once: `python -m tests.bench.classroom --learners 1,40,200`.

Each learner opens the lesson in a room, thinks, marks an option and presses the button; the one who
leads the class looks at the wall as often as a browser does.
"""

import argparse
import asyncio
import random
import re
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from pages.lessons.wall import EVERY
from tests.bench.load import ENDED, PATIENCE, percentile
from tests.bench.served import Served, server

PAGE, LESSON, N_OPTIONS = "attention", "scaling", 3
ALONE = 30  # learners, one after another, say how quick a single one is
LINK = {"preset": "course", "lesson": LESSON, "panel": "random-scores"}


@dataclass
class Noted:
    """Seconds of each run of a learner; when guesses were sent, and when the wall had so many."""

    opened: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    wall: list[tuple[float, int]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def delays(self) -> list[float]:
        """From each guess to the first look at the wall that counts it."""
        looks = [
            next((at for at, n in self.wall if n > i), float("inf")) for i in range(len(self.sent))
        ]
        return [look - sent for look, sent in zip(looks, sorted(self.sent), strict=True)]


class Session:
    """One browser: a websocket and what its page holds."""

    def __init__(self, line: ClientConnection, query: dict[str, str], noted: Noted):
        self.line, self.query, self.noted = line, urlencode(query), noted
        self.radio = self.button = self.opens = self.question = self.page = ""
        self.options: list[str] = []
        self.n_guessed = 0

    async def run(self, *, option: int | None = None, press: str = "") -> float:
        """Send what is set, and read until the script ends; the seconds it took."""
        message, began = BackMsg(), time.monotonic()
        message.rerun_script.query_string = self.query
        message.rerun_script.page_name = PAGE
        message.rerun_script.page_script_hash = self.page
        widgets = message.rerun_script.widget_states.widgets
        if option is not None:
            message.rerun_script.fragment_id = self.question  # which both stand in
            widgets.add(id=self.radio, string_value=self.options[option])
        if press:
            widgets.add(id=press, trigger_value=True)
        await self.line.send(message.SerializeToString())
        while True:
            answer = ForwardMsg()
            answer.ParseFromString(await asyncio.wait_for(self.line.recv(), PATIENCE))
            kind = answer.WhichOneof("type")
            if kind == "page_info_changed":
                self.query = answer.page_info_changed.query_string
            elif kind == "navigation":
                self.page = answer.navigation.page_script_hash
            elif kind == "delta":
                self.note(answer.delta.new_element, answer.delta.fragment_id)
            elif kind == "script_finished" and answer.script_finished in ENDED:
                return time.monotonic() - began

    def note(self, element: object, fragment: str) -> None:
        kind = element.WhichOneof("type")  # type: ignore[attr-defined]
        if kind == "exception":
            self.noted.faults.append(element.exception.message[:200])  # type: ignore[attr-defined]
        elif kind == "radio" and "guess_" in element.radio.id:  # type: ignore[attr-defined]
            self.radio, self.question = element.radio.id, fragment  # type: ignore[attr-defined]
            self.options = [*element.radio.options]  # type: ignore[attr-defined]
        elif kind == "button":
            name = element.button.id  # type: ignore[attr-defined]
            self.button = name if name.endswith("lesson_on") else self.button
            self.opens = name if name.endswith("open_room") else self.opens
        elif kind == "markdown":  # the picture of the wall is held back until the answer
            found = re.match(r"\*\*(\d+) guess", element.markdown.body)  # type: ignore[attr-defined]
            self.n_guessed = int(found[1]) if found else self.n_guessed


def line_to(address: str) -> connect:
    return connect(
        f"{address}/_stcore/stream",
        subprotocols=["streamlit"],
        max_size=None,
        compression=None,
        ping_interval=None,
        open_timeout=PATIENCE,
    )


async def learn(address: str, room: str, within: float, noted: Noted) -> None:
    """Open the lesson, think, guess."""
    async with line_to(address) as line:
        session = Session(line, {**LINK, "room": room}, noted)
        await asyncio.sleep(within * random.random())
        noted.opened.append(await session.run())
        await asyncio.sleep(within * random.random())
        option = random.randrange(N_OPTIONS)
        noted.steps.append(await session.run(option=option))
        noted.sent.append(time.monotonic())
        noted.steps.append(await session.run(option=option, press=session.button))


async def lead(session: Session, n: int, until: float) -> None:
    """Look at the wall until all have guessed."""
    while session.n_guessed < n and time.monotonic() < until:
        await asyncio.sleep(EVERY)
        await session.run()
        session.noted.wall.append((time.monotonic(), session.n_guessed))


async def play(address: str, n: int, within: float) -> Noted:
    """A class of so many; with no time to think (`within` 0), one after another."""
    noted = Noted()
    async with line_to(address) as line:
        leader = Session(line, LINK, noted)
        await leader.run()
        await leader.run(press=leader.opens)
        found = re.search(r"room=([A-Z0-9]{6})", leader.query)
        assert found, leader.query
        until = time.monotonic() + 4 * within + PATIENCE
        learners = [learn(address, found[1], within, noted) for _i in range(n)]
        if within:
            await asyncio.gather(lead(leader, n, until), *learners)
        else:
            for alone in learners:
                await alone
            await lead(leader, n, until)
    return noted


def report(n: int, noted: Noted, cpu: float, at_once: bool) -> str:
    """One row, in milliseconds; `cpu` are the seconds that the server took for it."""
    delays = noted.delays()
    wall = (
        f" · on the wall median {percentile(delays, 0.5):.0f}, p95 {percentile(delays, 0.95):.0f}"
    )
    return (
        f"{n:4d} learners {'at once' if at_once else 'one by one'}"
        f" · opening {percentile(noted.opened, 0.5):.0f} ms"
        f" · step median {percentile(noted.steps, 0.5):.0f},"
        f" p95 {percentile(noted.steps, 0.95):.0f}"
        f"{wall if at_once else ''} · CPU a learner {1000 * cpu / n:.0f}"
        f" · counted {noted.wall[-1][1] if noted.wall else 0} · faults {len(noted.faults)}"
    )


def main() -> None:
    """Play classes of each size, and print a row for each."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--learners", default="1,40,200", help="how many, one row each")
    options.add_argument("--within", type=float, default=30, help="seconds to open, and to guess")
    chosen = options.parse_args()
    with server("app.py") as (address, pid):
        served = Served(address, (pid,))
        socket = f"ws://{urlsplit(address).netloc}"
        asyncio.run(play(socket, 1, 1))  # first times are paid for
        for at_once in map(int, chosen.learners.split(",")):
            n, within = (at_once, chosen.within) if at_once > 1 else (ALONE, 0)
            before = served.cpu()
            noted = asyncio.run(play(socket, n, within))
            print(report(n, noted, served.cpu() - before, at_once > 1), flush=True)
            for fault in dict.fromkeys(noted.faults):
                print(f"     {fault}")


if __name__ == "__main__":
    main()
