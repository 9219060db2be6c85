"""Numbers of a server for whoever serves, as the plain text that Prometheus reads.

Each process pins its numbers up beside the queue; whichever process has the address tells those of
all. Where that one ends, the next takes its place.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from blocks.model.faults import ConfigError
from blocks.work.queue import Queue

EVERY, GONE_AFTER = 5.0, 15.0  # seconds
KIND, PATH = "metrics", "/metrics"


class Sample(NamedTuple):
    """One number: of what, and of which."""

    name: str
    value: float
    labels: Mapping[str, str] = {}


def exposition(samples: Iterable[Sample]) -> str:
    """A line a sample, those of one name together (Prometheus, text format 0.0.4)."""
    of_names: dict[str, list[str]] = {}
    for name, value, labels in samples:
        inside = ",".join(f'{label}="{_escaped(of)}"' for label, of in labels.items())
        lines = of_names.setdefault(name, [f"# TYPE {name} {_kind(name)}"])
        lines.append(f"{name}{{{inside}}} {value:.10g}" if inside else f"{name} {value:.10g}")
    return "".join(f"{line}\n" for lines in of_names.values() for line in lines)


def _kind(name: str) -> str:
    return "counter" if name.endswith("_total") else "gauge"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def of_all(queue: Queue) -> Iterator[Sample]:
    """The queue, and what each process that is alive has said of itself."""
    for lane, n in queue.lanes().items():
        yield Sample("blockscope_queue", n, {"lane": lane.name, "device": lane.device})
    for process, said in queue.notes(KIND, within=GONE_AFTER).items():
        for name, value, labels in said["samples"]:
            yield Sample(name, value, {"process": process, **labels})


class Metrics:
    """Says the numbers of this process every few seconds, and those of all at an address."""

    def __init__(
        self,
        queue: Queue,
        address: tuple[str, int],
        process: str,
        of_this: Callable[[], Iterable[Sample]],
    ):
        self._queue, self._address, self._process, self._of_this = queue, address, process, of_this
        self._server: ThreadingHTTPServer | None = None
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Say no more."""
        self._is_closed.set()
        self._thread.join()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def _go_on(self) -> None:
        while True:
            with suppress(ConfigError):  # next time
                self._queue.note(KIND, self._process, {"samples": [*self._of_this()]})
            if self._server is None:
                with suppress(OSError):  # another process has the address
                    self._server = _served(self._address, lambda: exposition(of_all(self._queue)))
            if self._is_closed.wait(EVERY):
                return


def _served(address: tuple[str, int], text: Callable[[], str]) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """The text, and nothing else."""
            if self.path != PATH:
                self.send_error(404)
                return
            body = text().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Who looks is nobody's business."""

    server = ThreadingHTTPServer(address, Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
