"""A logarithmic axis of sizes, each written out."""

from collections.abc import Sequence
from typing import Any

from pages.figures.theme import HALF_A_TICK_LABEL


def half_of_last(sizes: Sequence[int]) -> int:
    """Half of what the last of these sizes takes, in pixels: it reaches beyond the axis."""
    return max(HALF_A_TICK_LABEL, 4 * len(f"{sizes[-1]:,}"))


def log_sizes(title: str, sizes: Sequence[int]) -> dict[str, Any]:
    """An axis with a tick at each of these sizes, turned so that none reaches beyond the right."""
    return {
        "title": {"text": title},
        "type": "log",
        "tickvals": list(sizes),
        "ticktext": [f"{size:,}" for size in sizes],
        "autotickangles": [0, -45, -90],
        "fixedrange": True,
    }
