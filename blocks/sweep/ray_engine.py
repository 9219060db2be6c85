"""Sweeps on a Ray cluster: the same jobs as tasks of Ray Core, whose events stream back.

Every node needs Blockscope and the same PyTorch. Nothing is shared but the network: what a training
saves on its way comes back with its events, and goes out again with whoever goes on.
"""

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blocks.model.faults import N_, ConfigError, Fault
from blocks.sweep.engine import Began, Retried, Told
from blocks.sweep.job import Done, PointJob, Saved
from blocks.sweep.point import Point
from blocks.training.events import Ended, Reason
from blocks.training.spec import TrainingSpec
from blocks.work.plain import from_line, to_line

N_TRIES = 3
SECONDS_BETWEEN_LOOKS, SECONDS_BETWEEN_COUNTS = 0.2, 5.0
SECONDS_LOST = 15.0
"""After so long without an answer a head node is taken for lost."""

OUTLIVES = {"RAY_gcs_rpc_server_reconnect_timeout_s": str(10**9)}
"""Else Ray ends this process, and all that it serves, a minute after it has lost the head node."""

MOST_UNREAD = 16
"""Events that a task may be ahead of us before it waits."""

Kept = Mapping[str, bytes]
"""The files of a training that is not finished, by their path in its folder."""


@dataclass
class _Task:
    """A point that is trained somewhere, and how often what trained it was lost since it saved."""

    point: Point
    n_lost: int = 0
    how: str = ""


class RayEngine:
    """Tasks on the cluster at `address` ("auto": the one that this machine belongs to).

    `unfinished` is where the state of each point is kept here. A training of a CPU has a core, one
    of an accelerator a whole one. Raises `ConfigError` where Ray is not there.
    """

    def __init__(
        self,
        address: str,
        unfinished: Callable[[Point], Path],
        device: str,
        *,
        seconds_between: float = 30.0,
    ):
        self._ray, self._address = connected(address), address
        self._answered = time.monotonic()
        self._unfinished, self._seconds_between = unfinished, seconds_between
        self._unit = "CPU" if device == "cpu" else "GPU"
        needs = {"num_cpus": 1, "num_gpus": 0 if device == "cpu" else 1}
        self._train = self._ray.remote(
            num_returns="streaming",
            max_retries=0,
            _generator_backpressure_num_objects=MOST_UNREAD,
            **needs,
        )(train_streaming)
        self._counted, self._n = -SECONDS_BETWEEN_COUNTS, 1

    @property
    def n_at_once(self) -> int:
        """As many as the cluster has room for now; one where it has none yet.

        Raises `ConfigError` where the head node is lost: what is asked of Ray would then never end.
        """
        now = time.monotonic()
        if now < self._counted + SECONDS_BETWEEN_COUNTS:
            return self._n
        if is_there(self._ray):
            self._counted = self._answered = now
            self._n = max(1, int(self._ray.cluster_resources().get(self._unit, 0)))
        elif now > self._answered + SECONDS_LOST:
            raise _lost_head(self._address)
        return self._n

    def events(
        self, points: Iterator[Point | None], leaves_off: Callable[[], bool]
    ) -> Iterator[Told]:
        """See `Engine`."""
        running: dict[Any, _Task] = {}
        try:
            while not leaves_off():
                self._fill(running, points)
                if not running:
                    return
                for stream in self._ready(running):
                    yield from self._heard(running, stream)
        finally:
            for stream in running:
                self._ray.cancel(stream)
        for task in running.values():
            yield Told(task.point, Ended(Reason.STOPPED))

    def _fill(self, running: dict[Any, _Task], points: Iterator[Point | None]) -> None:
        """Give out as many as there is room for; who waits in the cluster would not be ours."""
        while len(running) < self.n_at_once and (point := next(points, None)) is not None:
            self._begin(running, _Task(point))

    def _begin(self, running: dict[Any, _Task], task: _Task) -> None:
        kept = _read(self._unfinished(task.point))
        stream = self._train.remote(to_line(task.point.spec), kept, self._seconds_between)
        running[stream] = task

    def _ready(self, running: Mapping[Any, _Task]) -> list[Any]:
        """All that have an event, as soon as one has."""
        streams = [*running]
        if not self._ray.wait(streams, timeout=SECONDS_BETWEEN_LOOKS)[0]:
            return []
        found: list[Any] = self._ray.wait(streams, num_returns=len(streams), timeout=0)[0]
        return found

    def _heard(self, running: dict[Any, _Task], stream: Any) -> Iterator[Told]:
        """The next event of a task; where it is lost, it goes on elsewhere."""
        task = running[stream]
        try:
            event, kept = self._ray.get(next(stream))
        except (StopIteration, self._ray.exceptions.RayError) as error:
            del running[stream]
            task.n_lost, task.how = task.n_lost + 1, type(error).__name__
            if task.n_lost < N_TRIES:
                self._begin(running, task)
            else:
                yield Told(task.point, _lost(error))
            return
        heard = from_line(event)
        if isinstance(heard, Began) and task.how:
            heard = Retried(f"{task.how}; {heard.place}")
        if isinstance(heard, Saved):
            task.n_lost = 0
            _write(self._unfinished(task.point), kept)
        if isinstance(heard, Done | Ended):
            del running[stream]
        yield Told(task.point, heard)


def connected(address: str) -> Any:
    """Ray, connected to a cluster. Raises `ConfigError` where it is not installed or not there."""
    os.environ.update(OUTLIVES)
    try:
        import ray
    except ImportError:
        text = N_("Ray is not installed: run pip install blockscope[ray]")
        raise ConfigError([Fault(text)]) from None
    try:
        if not ray.is_initialized():
            _reach(address)
            quiet = {"log_to_driver": False, "logging_level": "error"}
            ray.init(address=address, ignore_reinit_error=True, **quiet)
    except (OSError, RuntimeError, ValueError) as error:
        text = N_("There is no Ray cluster at {address} ({error}): start one with ray start --head")
        raise ConfigError([Fault(text, {"address": address, "error": error})]) from error
    if not is_there(ray):  # Ray cannot be left while other threads use it
        raise _lost_head(address)
    return ray


def is_there(ray: Any) -> bool:
    """Whether the head node of the cluster that we are connected to answers."""
    try:
        _reach(ray.get_runtime_context().gcs_address)
    except (OSError, RuntimeError):
        return False
    return True


def _reach(address: str) -> None:
    """Raise `OSError` at once where nobody listens; an address without a port is Ray's to find."""
    host, _colon, port = address.rpartition(":")
    if port.isdecimal():
        socket.create_connection((host, int(port)), timeout=2.0).close()


def nodes(ray: Any) -> list[dict[str, Any]]:
    """The nodes that are alive: their address, and how much of what they have."""
    return [
        {"node": each["NodeManagerAddress"], **{u: each["Resources"].get(u, 0) for u in UNITS}}
        for each in ray.nodes()
        if each["Alive"]
    ]


UNITS = ("CPU", "GPU")


def train_streaming(line: str, kept: Kept, seconds_between: float) -> Iterator[tuple[str, Kept]]:
    """The task: the events of a point, and what it has saved with those that say that it did."""
    spec = from_line(line)
    assert isinstance(spec, TrainingSpec)
    yield to_line(Began(_here())), {}
    with tempfile.TemporaryDirectory(prefix="blockscope-") as name:
        folder = Path(name)
        _write(folder, kept)
        for event in PointJob(spec, folder, seconds_between).events(lambda: False):
            yield to_line(event), _read(folder) if isinstance(event, Saved) else {}


def _here() -> str:
    import ray

    context = ray.get_runtime_context()
    return f"{ray.util.get_node_ip_address()} ({context.get_node_id()[:6]})"


def _read(folder: Path) -> Kept:
    """All files of a folder; one that another takes away meanwhile is left out."""
    found = {}
    for file in folder.rglob("*"):
        with suppress(OSError):
            if file.is_file():
                found[str(file.relative_to(folder))] = file.read_bytes()
    return found


def _write(folder: Path, kept: Kept) -> None:
    """Put them there, in the place of all that was there."""
    new = folder.with_name(f".{folder.name}")
    for name, content in kept.items():
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        (new / name).write_bytes(content)
    if kept:
        shutil.rmtree(folder, ignore_errors=True)
        new.replace(folder)


def _lost_head(address: str) -> ConfigError:
    text = N_(
        "The head node of the Ray cluster at {address} was lost: start it with ray start --head, "
        "start Blockscope again and resume; finished runs are kept"
    )
    return ConfigError([Fault(text, {"address": address})])


def _lost(error: BaseException) -> Ended:
    text = N_("The run was lost {n} times ({how}): try a smaller model")
    how = str(error).splitlines()[0] if str(error) else type(error).__name__
    return Ended(Reason.LOST, Fault(text, {"n": N_TRIES, "how": how}))
