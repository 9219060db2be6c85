"""Server settings, from environment variables."""

import os

GIB = 2**30
MAX_TOKENS = 512
MAX_CHARACTERS = 2_000
MAX_NEW_TOKENS = 256


def corpus_characters() -> int:
    """Most characters of a text to learn from: `BLOCKSCOPE_TRAINING_CHARACTERS`, 1 million."""
    return int(os.environ.get("BLOCKSCOPE_TRAINING_CHARACTERS", "1000000"))


def memory_budget() -> int:
    """Bytes that one run may take: `BLOCKSCOPE_MEMORY_GIB`, 2 GiB by default."""
    return int(float(os.environ.get("BLOCKSCOPE_MEMORY_GIB", "2")) * GIB)


def training_seconds() -> float:
    """Longest training, on its device: `BLOCKSCOPE_TRAINING_SECONDS`, 15 minutes by default."""
    return float(os.environ.get("BLOCKSCOPE_TRAINING_SECONDS", "900"))


def training_steps() -> int:
    """Most steps of a training: `BLOCKSCOPE_TRAINING_STEPS`, 20,000 by default."""
    return int(os.environ.get("BLOCKSCOPE_TRAINING_STEPS", "20000"))


def training_in_processes() -> bool:
    """Whether trainings have a process of their own: unless `BLOCKSCOPE_TRAINING_PROCESS=0`."""
    return os.environ.get("BLOCKSCOPE_TRAINING_PROCESS", "1") != "0"


def training_parameters() -> int:
    """Largest model that is trained: `BLOCKSCOPE_TRAINING_PARAMETERS`, 5 million by default."""
    return int(os.environ.get("BLOCKSCOPE_TRAINING_PARAMETERS", "5000000"))
