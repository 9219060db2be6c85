"""A sweep from the command line: python -m blocks sweep sweep.toml."""

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import pandas as pd
import torch

from blocks.model import devices
from blocks.model.faults import N_, ConfigError, Fault
from blocks.sweep.engine import Began, Engine, Retried, Told
from blocks.sweep.estimate import estimate_seconds
from blocks.sweep.file import read_sweep
from blocks.sweep.job import N_THREADS, Done
from blocks.sweep.local import LocalEngine, processes_at_once
from blocks.sweep.outcome import Outcome
from blocks.sweep.point import Point
from blocks.sweep.ray_engine import RayEngine
from blocks.sweep.run import trained
from blocks.sweep.store import OF_APP, Store
from blocks.sweep.sweep import Sweep
from blocks.sweep.table import points_table, settings_table
from blocks.training.events import Ended
from blocks.training.pace import Pace, measured_pace
from blocks.training.spec import TrainingSpec

FAILED, WRONG_USAGE = 1, 2
EPILOG = """\
sweep.toml:
  seeds = [0, 1, 2]
  [base]
  task = "stories"
  n_steps = 200
  [fields]
  learning_rate = [1e-3, 3e-3, 1e-2]
  n_layers = [1, 2, 4]

Finished trainings are kept in --out and never trained again: the same command goes on.
Where BLOCKSCOPE_DATA names a folder, --out is its folder "sweeps", which the app shares;
else it is runs/NAME of the file.

exit codes:
  0 done   1 a training failed   2 wrong usage   130 stopped by Ctrl-C
"""


def main(words: Sequence[str]) -> int:
    """Do as the arguments say; returns the exit code."""
    options = parser().parse_args(words)
    devices.prepare_process()
    torch.set_num_threads(N_THREADS)
    try:
        sweep = read_sweep(_text(options.file), folder=options.file.parent)
        store = Store(options.out or _usual_store(options.file))
        engine = _engine(options, sweep, store)
        said = sys.stderr if options.json else sys.stdout
        _say_plan(sweep, engine, store, said)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return WRONG_USAGE
    try:
        return 0 if options.plan else _run(options, sweep, engine, store)
    except ConfigError as error:  # a full disk, a lost cluster
        print(error, file=sys.stderr)
        return FAILED


def parser() -> argparse.ArgumentParser:
    """The options and their help."""
    options = argparse.ArgumentParser(
        prog="python -m blocks sweep",
        description="Train every combination of some values from several seeds.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = options.add_argument
    add("file", type=Path, metavar="sweep.toml", help="what is trained")
    add("--out", type=Path, metavar="FOLDER", help="where finished runs are kept (see below)")
    add("--plan", action="store_true", help="say how long it would take, and train nothing")
    add("--engine", choices=["local", "ray"], default="local", help="engine (%(default)s)")
    add("--address", default="auto", metavar="A", help="address of the Ray cluster (%(default)s)")
    add("--processes", type=int, metavar="N", help="runs at a time (one per core; one on a GPU)")
    add("--json", action="store_true", help="answer as one JSON object")
    add("--csv", type=Path, metavar="FILE", help="write one row per run there")
    return options


def _usual_store(file: Path) -> Path:
    """That of the app, where it has one that stays; else one beside us, named as the file."""
    data = os.environ.get("BLOCKSCOPE_DATA")
    return Path(data) / OF_APP if data else Path("runs") / file.stem


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        text = N_("{file} cannot be read ({error}): choose another file")
        raise ConfigError([Fault(text, {"file": file, "error": error})]) from error


def _engine(options: argparse.Namespace, sweep: Sweep, store: Store) -> Engine:
    if options.engine == "ray":
        return RayEngine(options.address, store.unfinished, sweep.base.device)
    n_at_once = options.processes or processes_at_once(sweep.base.device)
    return LocalEngine(store.unfinished, store.folder, n_at_once=n_at_once)


def _say_plan(sweep: Sweep, engine: Engine, store: Store, said: TextIO) -> None:
    """How much there is to do, and how long that takes."""
    points = sweep.planned()
    left = [point for point in points if store.get(point) is None]
    print(f"Finished runs are kept in {store.folder}", file=said)
    text = f"{len(points)} runs of {len(sweep.specs)} settings, {len(left)} to be trained"
    starting = time.process_time()  # what it took us to load the same
    n = engine.n_at_once
    seconds = estimate_seconds(left, n, _pace, starting=starting) if left else None
    if seconds is not None:
        text += f", {n} at a time: about {duration(seconds)} if nothing else runs here"
    print(text, file=said, flush=True)


def _pace(spec: TrainingSpec) -> Pace | None:
    """Timed here; None where the device is elsewhere."""
    return measured_pace(spec) if spec.device in devices.available_devices() else None


def _run(options: argparse.Namespace, sweep: Sweep, engine: Engine, store: Store) -> int:
    watch = _Watch(sweep, sys.stderr)
    with _stopped_by_interrupt() as leaves_off:
        for told in trained(sweep, engine, store, leaves_off.is_set):
            watch.hear(told)
    points = sweep.points({key: each.held_out_loss for key, each in watch.found.items()})
    table = points_table(points, watch.found)
    if options.csv:
        table.to_csv(options.csv, index=False)
    if options.json:
        print(json.dumps(_answer(points, watch.found), ensure_ascii=False))
    elif not table.empty:
        print(settings_table(points, watch.found).to_string(index=False))
    if leaves_off.is_set():
        print("Stopped; the same command continues.", file=sys.stderr)
        return 128 + signal.SIGINT
    return FAILED if watch.n_failed else 0


def _answer(points: Sequence[Point], found: Mapping[str, Outcome]) -> dict[str, object]:
    curves = {key: [*map(list, each.looks)] for key, each in found.items()}
    table = points_table(points, found)
    best = settings_table(points, found)
    return {"points": _rows(table), "settings": _rows(best), "looks": curves}


def _rows(table: pd.DataFrame) -> Any:
    """As JSON has them; what is infinite is null."""
    return json.loads(table.to_json(orient="records", double_precision=15))


class _Watch:
    """A line for each training that begins or ends, with what is left."""

    def __init__(self, sweep: Sweep, lines: TextIO):
        self.n_planned, self._lines = len(sweep.planned()), lines
        self.found: dict[str, Outcome] = {}
        self.n_failed, self._n_known = 0, 0
        self._began: float | None = None

    def hear(self, told: Told) -> None:
        """Note what is told, and say it."""
        name = _name(told.point)
        match told.event:
            case Began(place=place):
                if self._began is None:
                    self._began, self._n_known = time.monotonic(), len(self.found)
                self._say(f"{name} on {place}")
            case Retried(how=how):
                self._say(f"{name}: its process ended ({how}), it continues")
            case Done(outcome=outcome):
                self.found[told.point.key] = outcome
                loss = f"held-out loss {outcome.held_out_loss:.4f} in {outcome.seconds:.1f} s"
                self._say(f"{len(self.found)} of {self.n_planned}  {name}: {loss}{self._left()}")
            case Ended(fault=fault) if fault is not None:
                self.n_failed += 1
                self._say(f"{name}: {fault}")

    def _left(self) -> str:
        if self._began is None or not (n := len(self.found) - self._n_known):
            return ""
        pace = (time.monotonic() - self._began) / n
        return f", about {duration(pace * (self.n_planned - len(self.found)))} left"

    def _say(self, text: str) -> None:
        print(text, file=self._lines, flush=True)


def _name(point: Point) -> str:
    values = (f"{name}={value}" for name, value in (*point.setting, ("seed", point.spec.seed)))
    return " ".join(values)


def duration(seconds: float) -> str:
    """A round time in words: 40 s, 12 min, 5 h, 3 days."""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


@contextmanager
def _stopped_by_interrupt() -> Iterator[threading.Event]:
    """The first Ctrl-C lets each training save where it is; a second one interrupts as usual."""
    leaves_off, before = threading.Event(), signal.getsignal(signal.SIGINT)

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        leaves_off.set()

    signal.signal(signal.SIGINT, stop)
    try:
        yield leaves_off
    finally:
        signal.signal(signal.SIGINT, before)
