"""What readers of large models wait for, in the server, on an accelerator."""

import asyncio
import statistics

from blocks.model import devices
from pages.server import settings
from tests.bench import load
from tests.bench.load import WORDS, percentile
from tests.bench.real import Watching
from tests.bench.report import report
from tests.bench.served import server

TEXTS, HEADS = 4, 4  # others of about one length; other heads of one text
AT_ONCE = (("40 readers of the story model", 40, ""), ("10 of GPT-2 small", 10, "gpt2-small"))


def text(n: int, first: int) -> str:
    """So many words that begin with others each time."""
    return " ".join(WORDS[(first + i * i) % len(WORDS)] for i in range(n))


def waited_for(presets: tuple[str, ...], n_words: int) -> None:
    """(b) from the key to the picture, of the model's layers and of one head."""
    with server("app.py") as (url, pid):
        for preset in presets:
            query = {"preset": preset, "dtype": "bfloat16"}
            gpt = Watching(pid, url, "gpt", **query, text=text(n_words, 0))
            first = gpt.spent[1]
            again = [
                gpt.spent_on(gpt.open, **query, text=text(n_words, 1 + i))[1] for i in range(TEXTS)
            ]
            said = f"first {first:.2f} s, then {_milliseconds(again)}"
            report(f"(b) GPT page of {preset}, {n_words} words", said, "8 B: then ≤ 150 ms")
            query |= {"panel": "steps", "text": text(n_words, 0)}
            heads = Watching(pid, url, "attention", **query)
            maps = [heads.spent_on(heads.open, **query, head=str(i))[1] for i in range(1, HEADS)]
            report(f"(b) … another head on Attention of {preset}", _milliseconds(maps), "≤ 30 ms")


def _milliseconds(seconds: list[float]) -> str:
    least, median = min(seconds), statistics.median(seconds)
    return f"{1000 * median:.0f} ms (least {1000 * least:.0f})"


def at_once(seconds: float, share: float = 1.0) -> None:
    """A class on one device: what the slowest twentieth waits for."""
    for name, n, preset in AT_ONCE:
        with server("app.py") as (url, _pid):
            address, more = url.replace("http", "ws"), {"preset": preset} if preset else {}
            asyncio.run(load.play(address, ("gpt",), 1, 1, 1, more))  # first times are paid for
            playing = load.play(address, ("gpt",), max(1, round(share * n)), seconds, 3, more)
            seen = asyncio.run(playing)
        found = (
            f"{len(seen.moves)} moves, median {percentile(seen.moves, 0.5):.0f}, "
            f"p95 {percentile(seen.moves, 0.95):.0f} ms; {len(seen.opened)} openings, "
            f"median {percentile(seen.opened, 0.5):.0f} ms; {len(seen.faults)} faults"
        )
        report(f"    {name} at once", found, "no faults")
        for fault in {*seen.faults}:
            print(f"      {fault}")


def budgets() -> None:
    """What a run, a training and a text may have there, where nothing is set."""
    device = devices.available_devices()[0]
    run, training = settings.memory_budget(device), settings.training_bytes(device)
    sizes = f"a run {run / 2**30:.0f} GiB, a training {training / 2**30:.0f} GiB"
    millions = settings.training_parameters(device) / 1e6
    found = f"{sizes} of {millions:.0f} M parameters, {settings.longest_text(device):,} tokens"
    report("budgets", found, "was 2 GiB, 1 GiB of 5 M, 512 tokens")
