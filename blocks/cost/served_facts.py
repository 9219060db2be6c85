"""What bounds a served model on each device, and what one user gets of it beside others."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from blocks.cost.device_fit import LARGEST_BATCH
from blocks.cost.fit import chunk_tokens, inference_memory, largest
from blocks.cost.hardware import HARDWARE, HERE, Hardware, Rated
from blocks.cost.serving import Bound, Pace, served, touched_share
from blocks.cost.setup import Setup
from blocks.cost.speed import NO_DRAFT, Speculation, Writing, reading, writing
from blocks.cost.step import Shape
from blocks.model.config import ModelConfig

OWN = "own"
START_SECONDS = 1e-5  # of an all-reduce among neighbours: an example, not from a data sheet
MOST_TEXTS = 4096
BATCHES = tuple(2**i for i in range(MOST_TEXTS.bit_length()))


class Serving(NamedTuple):
    """What is served, how, to whom, and on which devices.

    `n`: tokens of a prompt; `n_output`: tokens that are then written; `usable`: the share of a
    device's memory that may be taken; `here`, `own`: what the device here was measured to do, and
    one that the reader states.
    """

    config: ModelConfig
    setup: Setup
    n: int
    batch: int
    device: str
    n_output: int = 256
    draft: Speculation = NO_DRAFT
    usable: float = 0.9
    here: Rated | None = None
    own: Rated | None = None

    @property
    def sheets(self) -> Mapping[str, Hardware]:
        """Every device by its name, the one here and the stated one first."""
        rated = {HERE: self.here, OWN: self.own}
        return {name: each.hardware(name) for name, each in rated.items() if each} | {**HARDWARE}

    @property
    def sheet(self) -> Hardware:
        """The chosen device. Raises `UnknownNameError`."""
        return self.sheets.get(self.device) or HARDWARE[self.device]

    @property
    def longest(self) -> int:
        """Tokens of a text when it ends."""
        return self.n + self.n_output

    @property
    def needed(self) -> int:
        """Bytes on each device when all texts end."""
        return inference_memory(self.config, self.setup)(self.batch, self.longest).total

    @property
    def memory(self) -> int:
        """Bytes of the chosen device that may be used."""
        return int(self.usable * self.sheet.memory)

    def most_texts(self, device: Hardware) -> int:
        """How many texts fit at once when each ends; 0 where not even one does."""
        needs, budget = inference_memory(self.config, self.setup), int(self.usable * device.memory)
        return largest(lambda batch: needs(batch, self.longest).total, budget, LARGEST_BATCH)


class OnDevice(NamedTuple):
    """One kind of device: how many texts fit, and how fast it reads and writes.

    `per_user`: tokens a second where prompts of new users are read in between.
    """

    device: str
    most: int
    step: Writing | None
    prompt: Pace | None
    per_user: float | None = None


@dataclass(frozen=True, eq=False)
class BoundFacts:
    """What one step and one prompt wait for.

    `curve`: batch, with milliseconds of a step by cause; `turns_at`: the smallest batch (a power of
    two) whose step waits for arithmetic, 0 where none does; `touched`: the share of experts that a
    step is expected to need.
    """

    serving: Serving
    step: Writing
    prompt: Pace
    curve: pd.DataFrame
    turns_at: int
    touched: float
    devices: tuple[OnDevice, ...]

    @property
    def n_devices(self) -> int:
        """All that serve together."""
        return self.serving.setup.serves_as.n_devices

    @property
    def weight_bytes(self) -> float:
        """Bytes of weights that a device reads in a step."""
        return self.step.pace.weights * self.serving.sheet.bandwidth

    @property
    def cache_bytes(self) -> float:
        """Bytes of caches that a device reads in a step."""
        return self.step.pace.cache * self.serving.sheet.bandwidth

    @property
    def start_seconds(self) -> float:
        """What the starts of all all-reduces of a step would add, at `START_SECONDS` each."""
        return self.n_sums * START_SECONDS

    @property
    def n_sums(self) -> int:
        """All-reduces of a step."""
        return served(self.serving.config, self.serving.setup).n_sums


@dataclass(frozen=True, eq=False)
class UserFacts:
    """What one user gets, alone and beside others.

    `alone`: nobody else is served; `curve`: batch, tokens a second per user and of all, and whether
    so many texts fit, where prompts of new users are read in between; `plain`: the step without a
    draft.
    """

    serving: Serving
    alone: Writing
    plain: Writing
    step: Writing
    prompt: Pace
    most: int
    curve: pd.DataFrame
    devices: tuple[OnDevice, ...]

    @property
    def gain(self) -> float:
        """How many times faster writing is with the draft."""
        return self.step.per_user / self.plain.per_user

    @property
    def answer_seconds(self) -> float:
        """From the question to the last token, for one who is alone."""
        return self.prompt.seconds + (self.serving.n_output - 1) / self.alone.per_user

    @property
    def now(self) -> Mapping[str, float]:
        """The row of the curve for as many users as there are."""
        (row,) = self.curve[self.curve["batch"] == self.serving.batch].to_dict("records")
        return {str(name): value for name, value in row.items()}


def bound_facts(serving: Serving) -> BoundFacts | None:
    """Count a step of the batch and a prompt.

    None where the model does not write, or the device has no peak of its number format.
    """
    config, setup, sheet = serving.config, serving.setup, serving.sheet
    step, prompt = _step(serving, serving.batch, sheet), reading(config, setup, serving.n, sheet)
    if step is None or prompt is None:
        return None
    curve = pd.DataFrame([_row(serving, batch, sheet) for batch in _batches(serving)])
    layout = setup.serves_as
    meeting = layout.texts(serving.batch) * layout.replicas_of_experts
    touched = touched_share(config, min(serving.batch, meeting))
    waits = curve["batch"][curve["bound"] == Bound.ARITHMETIC]
    return BoundFacts(
        serving,
        step,
        prompt,
        curve,
        int(waits.min()) if len(waits) else 0,
        touched,
        _on_devices(serving),
    )


def user_facts(serving: Serving) -> UserFacts | None:
    """Count an answer for one user, and what many share; None as in `bound_facts`."""
    sheet = serving.sheet
    alone, step = (_step(serving, batch, sheet) for batch in (1, serving.batch))
    prompt = reading(serving.config, serving.setup, serving.n, sheet)
    plain = _step(serving._replace(draft=NO_DRAFT), serving.batch, sheet)
    if alone is None or step is None or plain is None or prompt is None:
        return None
    most = serving.most_texts(sheet)
    curve = pd.DataFrame({"batch": _batches(serving)})
    curve["per_user"] = [_per_user(serving, batch, sheet) for batch in curve["batch"]]
    curve = curve.assign(all=curve["batch"] * curve["per_user"], fits=curve["batch"] <= most)
    return UserFacts(serving, alone, plain, step, prompt, most, curve, _on_devices(serving))


def _batches(serving: Serving) -> list[int]:
    return sorted({*BATCHES, serving.batch})


def _step(serving: Serving, batch: int, sheet: Hardware) -> Writing | None:
    """A step in the middle of the answers."""
    shape = Shape(serving.n + serving.n_output // 2, batch)
    return writing(serving.config, serving.setup, shape, sheet, serving.draft)


def _row(serving: Serving, batch: int, sheet: Hardware) -> dict[str, object]:
    found = _step(serving, batch, sheet)
    if found is None:
        raise ValueError("the chosen device has no such number format")
    pace = found.pace
    parts = {name: 1e3 * value for name, value in pace._asdict().items() if name != "seconds"}
    return {"batch": batch, **parts, "step": 1e3 * found.seconds, "bound": pace.bound}


def _per_user(serving: Serving, batch: int, sheet: Hardware) -> float | None:
    """Tokens a second while as many new users come as leave: their prompts are read in between."""
    config, setup = serving.config, serving.setup
    found = _step(serving, batch, sheet)
    texts = setup.serves_as.texts(batch)
    together = min(texts, max(1, (chunk_tokens(config, setup) or serving.n) // serving.n))
    prompts = reading(config, setup, serving.n, sheet, together)
    if found is None or prompts is None:
        return None
    new_users = texts * found.tokens_a_step / max(1, serving.n_output)
    seconds = found.seconds + new_users * prompts.seconds / together
    return found.tokens_a_step / seconds


def _on_devices(serving: Serving) -> tuple[OnDevice, ...]:
    return tuple(
        OnDevice(
            name,
            serving.most_texts(sheet),
            _step(serving, serving.batch, sheet),
            reading(serving.config, serving.setup, serving.n, sheet),
            _per_user(serving, serving.batch, sheet),
        )
        for name, sheet in serving.sheets.items()
    )
