"""Numbers for whoever serves: those of all processes at one address, by whichever has it."""

import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from waiting import PATIENCE, wait

from blocks.work import Queue, metrics
from blocks.work.metrics import Metrics, Sample, exposition
from blocks.work.queue import Lane


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def read(port: int, path: str = "/metrics") -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE) as answer:
            return str(answer.read().decode())
    except urllib.error.URLError as error:
        return str(error)


def test_numbers_of_one_name_stand_together_and_labels_are_safe():
    samples = [Sample("a_total", 1, {"of": 'x"\n'}), Sample("b", 0.5), Sample("a_total", 2e9)]
    assert exposition(samples).splitlines() == [
        "# TYPE a_total counter",
        'a_total{of="x\\"\\n"} 1',
        "a_total 2000000000",
        "# TYPE b gauge",
        "b 0.5",
    ]


def test_one_process_tells_of_all_and_another_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(metrics, "EVERY", 0.05)
    port, queues = free_port(), [Queue(tmp_path / "queue") for _ in range(2)]
    one, other = (
        Metrics(queue, ("127.0.0.1", port), name, lambda: [Sample("readers", 3)])
        for queue, name in zip(queues, "ab", strict=True)
    )
    ticket = queues[0].enter(Lane("training", "cpu"))
    wait(lambda: 'readers{process="b"} 3' in read(port))
    text = read(port)
    assert 'readers{process="a"} 3' in text
    assert 'blockscope_queue{lane="training",device="cpu"} 1' in text
    assert "404" in read(port, "/")
    queues[0].leave(ticket)
    one.close()
    wait(lambda: 'readers{process="b"} 3' in read(port))
    assert "blockscope_queue" not in read(port)
    other.close()
    for queue in queues:
        queue.close()
