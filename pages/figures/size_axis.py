"""A logarithmic axis of sizes, each written out."""

from collections.abc import Sequence
from typing import Any


def log_sizes(title: str, sizes: Sequence[int]) -> dict[str, Any]:
    """An axis with a tick at each of these sizes."""
    return {
        "title": {"text": title},
        "type": "log",
        "tickvals": list(sizes),
        "ticktext": [f"{size:,}" for size in sizes],
        "fixedrange": True,
    }
