"""A click on a picture without a browser: what the frontend of Streamlit would say of it."""

import base64
import json
from typing import Any

import numpy as np
from opened import assert_works, figure
from streamlit.testing.v1 import AppTest


def click(at: AppTest, key: str, **where: object) -> AppTest:
    """Click the mark of a picture that lies there (x, y), or whose customdata begins so (says):
    of those that answer to a pointer the one that is drawn last."""
    marks = [mark for trace in figure(at, key)["data"] for mark in _marks(trace)]
    found = next(mark for mark in reversed(marks) if where.items() <= mark.items())
    points = {"points": [{"customdata": found["customdata"]}], "point_indices": [0]}
    (chart,) = (each.proto for each in at.get("plotly_chart") if each.proto.id.endswith(f"-{key}"))
    states = at._tree.get_widget_states()
    said = json.dumps({"selection": {**points, "box": [], "lasso": []}})
    states.widgets.add(id=chart.id, string_value=said)
    at._run(states)
    assert_works(at)
    return at


def _marks(trace: dict[str, Any]) -> list[dict[str, Any]]:
    if trace.get("hoverinfo") == "skip" or "customdata" not in trace:
        return []
    xs, ys, known = (_unpacked(trace[name]) for name in ("x", "y", "customdata"))
    rows = zip(xs, ys, known, strict=True)
    return [{"x": x, "y": y, "says": own[0], "customdata": own} for x, y, own in rows]


def _unpacked(values: Any) -> list[Any]:
    """A list as it is, an array as Plotly packs it."""
    if isinstance(values, list):
        return values
    shape = [int(n) for n in str(values.get("shape", "-1")).split(",")]
    flat = np.frombuffer(base64.b64decode(values["bdata"]), f"<{values['dtype']}")
    return flat.reshape(shape).tolist()
