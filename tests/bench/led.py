"""Classes that are led: `python -m tests.bench.led --classes 2 --learners 40`.

In each class all learners open the lesson and guess; then who leads it shows the answer, and goes
on to the next step. Every session asks again for what reruns by itself, as a browser does.
"""

import argparse
import asyncio
import random
import re
import time
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.bench.classroom import LINK, N_OPTIONS, PAGE, Noted, Session, line_to
from tests.bench.load import ENDED, PATIENCE, percentile
from tests.bench.served import Served, server

A_LOOK = 0.1  # seconds between two looks at what has come


class Live(Session):
    """A browser that stays: it reads what comes, and asks again for what reruns by itself."""

    def __init__(self, *given: object):
        super().__init__(*given)  # type: ignore[arg-type]
        self.again: dict[str, float] = {}
        self.is_shown, self.is_fragment, self.n_asked, self.shows = False, False, 0, ""
        self.ended, self.chosen = asyncio.Event(), ""

    async def stay(self) -> None:
        """Read until somebody ends this."""
        asking = asyncio.create_task(self._ask_again())
        try:
            async for message in self.line:
                answer = ForwardMsg()
                answer.ParseFromString(message)
                self.take_in(answer)
        finally:
            asking.cancel()

    def take_in(self, answer: ForwardMsg) -> None:
        """Note what a message says."""
        match answer.WhichOneof("type"):
            case "new_session":  # of a fragment alone, or of the whole page
                if not self.is_fragment:
                    self.again.clear()
                self.is_fragment = False
            case "auto_rerun":
                self.again[answer.auto_rerun.fragment_id] = answer.auto_rerun.interval
            case "page_info_changed":
                self.query = answer.page_info_changed.query_string
            case "navigation":
                self.page = answer.navigation.page_script_hash
            case "delta":
                self.note(answer.delta.new_element, answer.delta.fragment_id)
                chart = answer.delta.new_element.plotly_chart.id
                self.is_shown |= "guess_picture" in chart
            case "script_finished" if answer.script_finished in ENDED:
                self.ended.set()

    async def _ask_again(self) -> None:
        due: dict[str, float] = {}
        while True:
            await asyncio.sleep(A_LOOK)
            now = time.monotonic()
            due = {each: due.get(each, now + every) for each, every in self.again.items()}
            for each in [each for each, at in due.items() if at <= now and self.ended.is_set()]:
                due[each] = now + self.again[each]
                self.n_asked += 1
                await self.send(again=each)

    async def send(self, *, option: int | None = None, press: str = "", again: str = "") -> None:
        """Send what is set."""
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name, state.page_script_hash = self.query, PAGE, self.page
        state.fragment_id, state.is_auto_rerun = again, bool(again)
        if option is not None:
            state.fragment_id, self.chosen = self.question, self.options[option]
        if self.chosen:  # a browser says with every request what is set
            state.widget_states.widgets.add(id=self.radio, string_value=self.chosen)
        if press:
            state.widget_states.widgets.add(id=press, trigger_value=True)
        self.is_fragment = bool(state.fragment_id)
        await self.line.send(message.SerializeToString())

    async def ran(self, **what: object) -> None:
        """Send it, and wait until a script has ended."""
        self.ended.clear()
        await self.send(**what)  # type: ignore[arg-type]
        await asyncio.wait_for(self.ended.wait(), PATIENCE)

    async def until(self, is_so: object) -> float:
        """When it is so."""
        end = time.monotonic() + PATIENCE
        while not is_so() and time.monotonic() < end:  # type: ignore[operator]
            await asyncio.sleep(A_LOOK)
        return time.monotonic() if is_so() else float("inf")  # type: ignore[operator]

    def note(self, element: object, fragment: str) -> None:
        """The buttons of who leads too."""
        super().note(element, fragment)
        name = element.button.id  # type: ignore[attr-defined]
        self.shows = name if name.endswith("without_guess") else self.shows

    def step(self) -> str:
        """The step that the address says."""
        return parse_qs(self.query).get("lesson_step", ["0"])[0]


async def learn(address: str, room: str, within: float, times: dict[str, list[float]]) -> None:
    """Open, guess, wait for the answer, follow."""
    async with line_to(address) as line:
        me = Live(line, {**LINK, "room": room}, Noted())
        reading = asyncio.create_task(me.stay())
        await asyncio.sleep(within * random.random())
        await me.ran()
        await asyncio.sleep(within * random.random())
        option = random.randrange(N_OPTIONS)
        await me.ran(option=option)
        await me.ran(option=option, press=me.button)
        times["shown"].append(await me.until(lambda: me.is_shown))
        times["followed"].append(await me.until(lambda: me.step() == "1"))
        times["asked"].append(me.n_asked)
        times["faults"] += me.noted.faults
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading


async def play(address: str, n: int, within: float) -> dict[str, list[float]]:
    """A class of so many: seconds from showing to seen, and from the next step to followed."""
    times: dict[str, list[float]] = {"shown": [], "followed": [], "asked": [], "faults": []}
    async with line_to(address) as line:
        leader = Live(line, LINK, Noted())
        reading = asyncio.create_task(leader.stay())
        await leader.ran()
        await leader.ran(press=leader.opens)
        await leader.until(lambda: "room=" in leader.query)
        found = re.search(r"room=([A-Z0-9]{6})", leader.query)
        assert found, leader.query
        learners = [asyncio.create_task(learn(address, found[1], within, times)) for _i in range(n)]
        await leader.until(lambda: leader.n_guessed == n)
        times["counted"], shown = [leader.n_guessed], time.monotonic()
        await leader.ran(press=leader.shows)
        await leader.until(lambda: len(times["shown"]) == n)
        gone = time.monotonic()
        await leader.ran(press=leader.button)
        await asyncio.gather(*learners)
        times["shown"] = [at - shown for at in times["shown"]]
        times["followed"] = [at - gone for at in times["followed"]]
        reading.cancel()
    return times


async def play_all(address: str, n_classes: int, n: int, within: float) -> list[dict]:
    return await asyncio.gather(*(play(address, n, within) for _i in range(n_classes)))


def main() -> None:
    """Play them at once, and print a row for each class."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--classes", type=int, default=2)
    options.add_argument("--learners", type=int, default=40)
    options.add_argument("--within", type=float, default=30, help="seconds to open, and to guess")
    chosen = options.parse_args()
    with server("app.py") as (address, pid):
        served, began = Served(address, (pid,)), time.monotonic()
        socket = f"ws://{urlsplit(address).netloc}"
        found = asyncio.run(play_all(socket, chosen.classes, chosen.learners, chosen.within))
        for times in found:
            said = " · ".join(
                f"{name} median {percentile(times[name], 0.5):.0f} ms, "
                f"last {1000 * max(times[name]):.0f}"
                for name in ("shown", "followed")
            )
            print(f"{len(times['shown'])} learners · counted {times['counted'][0]} · {said}")
            print(f"    looks {sum(times['asked']):.0f} · faults {len(times['faults'])}")
        print(f"CPU {served.cpu():.0f} s in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
