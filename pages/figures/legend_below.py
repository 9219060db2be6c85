"""A legend under the axis, where a phone has room for a row for each name."""

from typing import Any

AXIS, LEGEND_ROW = 56, 20


def legend_below(plot_height: int) -> dict[str, Any]:
    """Under ticks and title of the axis; free `LEGEND_ROW` pixels for each name below `AXIS`."""
    y = -AXIS / plot_height
    under = {"orientation": "h", "x": 0, "y": y, "yanchor": "top", "traceorder": "normal"}
    return {"showlegend": True, "legend": under}
