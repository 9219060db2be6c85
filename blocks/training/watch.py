"""Watch a training in a terminal: a bar, a log, a checkpoint that survives Ctrl-C."""

import json
import math
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from blocks.model.faults import N_, ConfigError, Fault
from blocks.training.checkpoint import save
from blocks.training.events import Answer, Ended, Evaluation, Event, Reason, Sample, Step
from blocks.training.loop import Training

EXIT_CODES = {Reason.FINISHED: 0, Reason.STOPPED: 128 + signal.SIGINT}  # all others: 1


def watched(training: Training, *, folder: Path, log: Path | None = None) -> int:
    """Train to the end or to Ctrl-C, with a checkpoint at each evaluation; the exit code."""
    ended = Ended(Reason.FAILED)
    with ExitStack() as stack:
        lines = stack.enter_context(_opened(log, append=training.step > 0)) if log else None
        stack.enter_context(stopped_by_interrupt(training))
        bar = stack.enter_context(Bar(training))
        for event in training.events():
            bar.show(event)
            if lines is not None:
                lines.write(json_line(event) + "\n")
            if isinstance(event, Evaluation) and training.last_good is not None:
                save(training.last_good, folder)
            if isinstance(event, Ended):
                ended = event
    return _close(training, ended, folder)


def _close(training: Training, ended: Ended, folder: Path) -> int:
    """Save what is good and say what there is to do."""
    if ended.reason is Reason.STOPPED:
        save(training.checkpoint(), folder)
        resume = f"python -m blocks.training --resume --out {folder.parent}"
        print(f"Stopped after step {training.step}. Go on with: {resume}")
    elif ended.fault is not None:
        print(ended.fault, file=sys.stderr)
    if ended.reason is Reason.FINISHED:
        print(f"Finished after {training.seconds:.0f} s: {folder}")
    return EXIT_CODES.get(ended.reason, 1)


def _opened(log: Path, *, append: bool) -> TextIO:
    try:
        return log.open("a" if append else "w", encoding="utf-8", buffering=1)
    except OSError as error:
        values = {"file": log, "error": error.strerror}
        text = N_("{file} cannot be written ({error}): choose another file")
        raise ConfigError([Fault(text, values)]) from error


@contextmanager
def stopped_by_interrupt(training: Training) -> Iterator[None]:
    """The first Ctrl-C lets the current step end; a second one interrupts as usual."""
    before = signal.getsignal(signal.SIGINT)

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        training.stop()

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Bar(Progress):
    """Steps made, loss and time left; evaluations and samples above."""

    def __init__(self, training: Training):
        super().__init__(
            TextColumn("loss {task.fields[loss]:.3f}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        n_steps = training.recipe.n_steps
        self.score_name = training.task.score_name
        self.steps = self.add_task("", total=n_steps, completed=training.step, loss=math.nan)

    def show(self, event: Event) -> None:
        """Move on, or write a line above the bar."""
        match event:
            case Step():
                self.update(self.steps, completed=event.step, loss=event.loss)
            case Evaluation():
                held_out = f"held-out loss {event.held_out_loss:.3f}"
                self.say(f"step {event.step}: {held_out}, {self.score_name} {event.score:.3f}")
            case Sample():
                self.say(event.text or "\n".join(map(_line, event.answers)))
            case _:
                pass

    def say(self, text: str) -> None:
        """Print as it is: what a model writes may look like markup."""
        self.console.print(text, markup=False, highlight=False, emoji=False)


def _line(answer: Answer) -> str:
    is_right = answer.written == answer.right
    return f"{answer.question} → {answer.written} {'✓' if is_right else f'✗ ({answer.right})'}"


def json_line(event: Event) -> str:
    """The event as one line of strict JSON; what is no number becomes null."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()
    values = {key: _strict(value) for key, value in asdict(event).items()}
    if isinstance(event, Ended):
        values["fault"] = None if event.fault is None else str(event.fault)
    return json.dumps({"event": name} | values, ensure_ascii=False, allow_nan=False)


def _strict(value: Any) -> Any:
    is_odd = isinstance(value, float) and not math.isfinite(value)
    return None if is_odd else value
