"""What the one who serves the app may set, from the environment."""

import os

GIB = 2**30
MAX_TOKENS = 256
MAX_CHARACTERS = 2_000
MAX_NEW_TOKENS = 256


def memory_budget() -> int:
    """Bytes that one run may take: `BLOCKSCOPE_MEMORY_GIB`, 2 GiB by default."""
    return int(float(os.environ.get("BLOCKSCOPE_MEMORY_GIB", "2")) * GIB)
