"""What is said at the ends of horizontal bars."""

from collections.abc import Sequence
from typing import Any

from pages.figures.theme import plain


def bar_ends(x: Sequence[float], labels: Sequence[str], said: Sequence[str]) -> dict[str, Any]:
    """One text a bar, to the right of where it ends; it may reach beyond the picture."""
    return {
        "type": "scatter",
        "mode": "text",
        "x": list(x),
        "y": [plain(label) for label in labels],
        "text": list(said),
        "textposition": "middle right",
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
    }
