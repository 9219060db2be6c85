"""The marks that pictures share: lines, bands around them, levels, and what waits for a click."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pages.figures import palette
from pages.figures.theme import faint, plain

SVG_UP_TO = 600  # a browser has few WebGL contexts, and a page many pictures


def line(x: Iterable[float | str | None], y: Iterable[float | None], **more: Any) -> dict[str, Any]:
    """A curve, broken where there is None; `more` says how it looks and what it is called."""
    return {"type": "scatter", "mode": "lines", "x": _packed(x), "y": _packed(y), **more}


def dots(
    x: Iterable[float | str | None], y: Iterable[float | str | None], **more: Any
) -> dict[str, Any]:
    """Single marks; `more` says how they look and what they are called."""
    return {"type": "scatter", "mode": "markers", "x": _packed(x), "y": _packed(y), **more}


def points_of(n: int) -> str:
    """The type of so many marks: drawn by WebGL where SVG would be slow."""
    return "scatter" if n <= SVG_UP_TO else "scattergl"


def words(
    x: Iterable[float], y: Iterable[float | str], text: Iterable[str], **more: Any
) -> dict[str, Any]:
    """Texts that stand in the picture, and say nothing more under the cursor."""
    silent = {"hoverinfo": "skip", **more}
    return {**dots(x, y, text=list(text)), "mode": "text", **silent}


def bars(
    x: Iterable[float | str | None], y: Iterable[float | str | None], **more: Any
) -> dict[str, Any]:
    return {"type": "bar", "x": _packed(x), "y": _packed(y), **more}


def lying(
    lengths: Iterable[float | None], rows: Iterable[float | str | None], **more: Any
) -> dict[str, Any]:
    return {**bars(lengths, rows), "orientation": "h", **more}


def heat(z: Any, **more: Any) -> dict[str, Any]:
    """Cells in colours, which say nothing under the cursor: marks above them do."""
    return {"type": "heatmap", "z": z, "hoverinfo": "skip", **more}


def color_bar(title: str, **more: Any) -> dict[str, Any]:
    named = {"title": {"text": title, "side": "right"}}
    return {**named, "thickness": 10, "outlinewidth": 0, **more}


def written(texts: Iterable[str]) -> dict[str, Any]:
    return {"text": list(texts), "textposition": "outside", "cliponaxis": False}


def steady(opacity: float = 1) -> dict[str, Any]:
    look = {"marker": {"opacity": opacity}}
    return {"selected": look, "unselected": look}


def unseen() -> dict[str, Any]:
    return {"marker": {"opacity": 0}, **steady(0)}


def ground(x0: float, x1: float, color: str) -> dict[str, Any]:
    """The ground behind a stretch of the picture, from its foot to its head."""
    place = {"x0": x0, "x1": x1, "y0": 0, "y1": 1, "yref": "paper"}
    return {"type": "rect", **place, "fillcolor": color, "line": {"width": 0}, "layer": "below"}


def _packed(values: Iterable[Any]) -> Any:
    """Arrays as they are: Plotly sends them packed."""
    return values if isinstance(values, np.ndarray) else list(values)


def band(
    x: Iterable[float], low: Iterable[float], high: Iterable[float], color: str, **more: Any
) -> dict[str, Any]:
    """The ground between two curves, which says nothing under the cursor."""
    places = list(x)
    return {
        **line([*places, *places[::-1]], [*high, *list(low)[::-1]]),
        "fill": "toself",
        "fillcolor": faint(color, 0.2),
        "line": {"width": 0},
        "hoverinfo": "skip",
        **more,
    }


def dashed(
    color: str = palette.BEFORE, *, dash: str = "dash", width: float = 1.5
) -> dict[str, Any]:
    return {"color": color, "width": width, "dash": dash}


def level(y: float, **more: Any) -> dict[str, Any]:
    across = {"x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y}
    return {"type": "line", **across, "line": dashed(), **more}


def upright(x: float, **more: Any) -> dict[str, Any]:
    place = {"x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper"}
    return {"type": "line", **place, "line": dashed(), **more}


def level_name(y: float, text: str, **more: Any) -> dict[str, Any]:
    """What a level is, at its left end; `y` as the axis has it: of a logarithmic one its power."""
    place = {"x": 0, "xref": "paper", "xanchor": "left", "y": y, "yanchor": "bottom"}
    return {**place, "text": text, **more}


def targets(
    x: Iterable[float | str], y: Iterable[float], returns: Iterable[Any], size: int, **more: Any
) -> dict[str, Any]:
    """Squares that are not seen, to be hovered and clicked; a click gives what one `returns`."""
    given = _packed(returns)
    return {
        **dots(x, y, type=points_of(len(given)), customdata=given, **steady(0)),
        "marker": {"symbol": "square", "size": size, "opacity": 0},
        **more,
    }


def told(hovers: Iterable[str]) -> dict[str, Any]:
    """What marks say under the cursor, each its own text and nothing else."""
    return {"hovertext": list(hovers), "hoverinfo": "text"}


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
