"""A server of our own to be measured: where it answers, what it has used of the machine."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent


class Served(NamedTuple):
    """Where it answers, and the processes behind it."""

    address: str
    pids: tuple[int, ...]

    def cpu(self) -> float:
        """Seconds of CPU so far (Linux)."""
        ticks = 0
        for pid in self.pids:
            numbers = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(numbers[11]) + int(numbers[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """MiB, what is shared with others by its part (Linux)."""
        return sum(_of_its_own(Path(f"/proc/{pid}/smaps_rollup")) for pid in self.pids)


def _of_its_own(rollup: Path) -> float:
    found = next(line for line in rollup.read_text().splitlines() if line.startswith("Pss:"))
    return int(found.split()[1]) / 1024


@contextmanager
def server(script: str, *arguments: str) -> Iterator[tuple[str, int]]:
    """Serve a script on a free port of this machine; its address and process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"port": str(port), "headless": "true", "address": "127.0.0.1"}
    flags = [part for name, value in options.items() for part in (f"--server.{name}", value)]
    command = [sys.executable, "-m", "streamlit", "run", script, *flags, "--", *arguments]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_until_healthy(port, process)
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait(20)


def _wait_until_healthy(port: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1).close()
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the server ended")
