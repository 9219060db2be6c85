"""How the screen counts."""

from typing import SupportsInt


def from_one(index: SupportsInt) -> int:
    """The number that a reader sees for an index: on the screen everything counts from 1."""
    return int(index) + 1
