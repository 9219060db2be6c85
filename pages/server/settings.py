"""Server settings, from environment variables."""

import os
from pathlib import Path

from blocks.cost.hardware import HARDWARE, data_sheet
from blocks.model import devices
from blocks.training.limits import parameters_in_time
from blocks.weights.folder import installed
from pages.server.once import once

GIB = 2**30
OF_MACHINE, OF_ACCELERATOR, OF_TRAINING = 4, 2, 4  # parts of the memory that runs have one of
TRAINED_ON_CPU = 5_000_000  # parameters
SLOWEST_ACCELERATOR = HARDWARE["t4"]
MAX_TOKENS = 512  # of a block, of a source and its target; a model of one text reads more:
LONGEST_TEXT, LONGEST_ON_ACCELERATOR = 4_096, 8_192  # tokens, where context and memory allow them
MAX_CHARACTERS = 2_000  # that a link carries: in Chinese 18 kB, near what proxies let pass
TYPED_CHARACTERS = 40_000  # of a text that a session holds, whole
MAX_NEW_TOKENS = 256


def corpus_characters() -> int:
    """Most characters of a text to learn from: `BLOCKSCOPE_TRAINING_CHARACTERS`, 1 million."""
    return int(os.environ.get("BLOCKSCOPE_TRAINING_CHARACTERS", "1000000"))


def memory_budget(device: str | None = None) -> int:
    """Bytes that all large runs on a device may take together: `BLOCKSCOPE_MEMORY_GIB`.

    By default a quarter of the memory of this machine, but at least 2 GiB (`make serve` tells each
    process less); of an accelerator half of what others left free, divided among the processes.
    Without a device that of the fastest: what `counted` bytes are a part of.
    """
    device = device or devices.available_devices()[0]
    if told := os.environ.get("BLOCKSCOPE_MEMORY_GIB"):
        return int(float(told) * GIB)
    if free := _left_free(device):
        return free // OF_ACCELERATOR // int(os.environ.get("PROCESSES") or 1)
    if told := os.environ.get("BLOCKSCOPE_CPU_GIB"):
        return int(float(told) * GIB)
    return max(2 * GIB, devices.memory_of("cpu").total // OF_MACHINE)


def budget_gib(device: str | None = None) -> float:
    return memory_budget(device) / GIB


def counted(n_bytes: int, device: str) -> int:
    """So many bytes of a device as a part of the whole budget, in bytes of the fastest one.

    Runs on two devices share one budget: none is ever beyond its own.
    """
    return n_bytes * memory_budget() // memory_budget(device)


@once
def _left_free(device: str) -> int:
    """Bytes that were free on an accelerator when this process first asked; of the CPU 0."""
    return 0 if device == "cpu" else devices.memory_of(device).free


def longest_text(device: str) -> int:
    """Tokens of a text that a model reads at most, where its own context is as long."""
    return LONGEST_TEXT if device == "cpu" else LONGEST_ON_ACCELERATOR


def training_seconds() -> float:
    """Longest training, on its device: `BLOCKSCOPE_TRAINING_SECONDS`, 15 minutes by default."""
    return float(os.environ.get("BLOCKSCOPE_TRAINING_SECONDS", "900"))


def training_steps(device: str) -> int:
    """Most steps of a training: `BLOCKSCOPE_TRAINING_STEPS`, 20,000; on an accelerator 100,000."""
    most = 20_000 if device == "cpu" else 100_000
    return int(os.environ.get("BLOCKSCOPE_TRAINING_STEPS") or most)


def work_in_processes() -> bool:
    """Whether long work has a process of its own: unless `BLOCKSCOPE_TRAINING_PROCESS=0`."""
    return os.environ.get("BLOCKSCOPE_TRAINING_PROCESS", "1") != "0"


def data_folder() -> str:
    """Where processes that serve together keep what they share: `BLOCKSCOPE_DATA`."""
    return os.environ.get("BLOCKSCOPE_DATA", "")


def metrics_address() -> tuple[str, int] | None:
    """Where a server tells its numbers: `BLOCKSCOPE_METRICS` (127.0.0.1:9464), or nowhere."""
    host, _colon, port = os.environ.get("BLOCKSCOPE_METRICS", "").rpartition(":")
    return (host, int(port)) if port else None


def training_parameters(device: str) -> int:
    """Largest model that is trained: `BLOCKSCOPE_TRAINING_PARAMETERS`, 5 million on a CPU.

    On an accelerator as many as it reads a token for each of in the time of a training; one of
    which we have no data sheet counts as a T4.
    """
    if told := os.environ.get("BLOCKSCOPE_TRAINING_PARAMETERS"):
        return int(told)
    if device == "cpu":
        return TRAINED_ON_CPU
    sheet = data_sheet(devices.device_name(device)) or SLOWEST_ACCELERATOR
    return max(TRAINED_ON_CPU, parameters_in_time(training_seconds(), sheet.fastest_training))


def training_bytes(device: str) -> int:
    """Memory of a training: `BLOCKSCOPE_TRAINING_GIB`, 1 GiB on a CPU.

    Of an accelerator a quarter of what others left free: one trains there at a time.
    """
    if told := os.environ.get("BLOCKSCOPE_TRAINING_GIB"):
        return int(float(told) * GIB)
    return _left_free(device) // OF_TRAINING or GIB


def folders() -> tuple[Path, ...]:
    """Below these a reader may open models: `BLOCKSCOPE_FOLDERS`, and what `make model` brought."""
    found = os.environ.get("BLOCKSCOPE_FOLDERS", "").split(os.pathsep)
    return (*(Path(each) for each in found if each), *installed())


def uploads() -> Path | None:
    """Where what readers bring is kept: `BLOCKSCOPE_UPLOADS`; else as long as the server runs."""
    found = os.environ.get("BLOCKSCOPE_UPLOADS")
    return Path(found) if found else None


def uploads_bytes() -> int:
    """Bytes of all that readers bring: `BLOCKSCOPE_UPLOADS_GIB`, 2 GiB by default."""
    return int(float(os.environ.get("BLOCKSCOPE_UPLOADS_GIB", "2")) * GIB)


def hub() -> str:
    """1 or 0 where `BLOCKSCOPE_HUB` says whether models may come from the hub; empty by default."""
    return os.environ.get("BLOCKSCOPE_HUB", "")


def home_model() -> str:
    """What Home opens with: `BLOCKSCOPE_HOME`, a name as links have it, or "none": the stories.

    Empty by default: a real model where one is here and nobody else is served.
    """
    return os.environ.get("BLOCKSCOPE_HOME", "")


def sweep_points() -> int:
    """Most trainings of one sweep: `BLOCKSCOPE_SWEEP_POINTS`, 200 by default."""
    return int(os.environ.get("BLOCKSCOPE_SWEEP_POINTS", "200"))


def ray_address() -> str:
    """The Ray cluster on which sweeps are trained: `BLOCKSCOPE_RAY` ("auto"), or none."""
    return os.environ.get("BLOCKSCOPE_RAY", "")


def lessons_folder() -> Path | None:
    """Lessons beside ours: `BLOCKSCOPE_LESSONS`, none by default."""
    found = os.environ.get("BLOCKSCOPE_LESSONS")
    return Path(found) if found else None
