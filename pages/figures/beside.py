"""Two pictures of one kind on the same scales, so that they can be compared."""

import copy
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from pages.figures.signed import most_of, with_most
from pages.figures.theme import WIDE, Picture

Range = tuple[float, float]
COLOR_ENDS = (("zmin", "zmax"), ("cmin", "cmax"))
MOST_ROOM, TITLE_ROOM, TICK, LATIN, CHINESE = 160, 22, 10, 7, 12  # pixels
TAG = re.compile("<[^>]*>")
WITH_POINTS = ("scatter", "scattergl", "bar")


def on_one_scale(a: Picture, b: Picture) -> tuple[Picture, Picture]:
    """Both with axes and colours that reach as far as either; what was given stays as it is.

    Axes of names stay their own, and so do those of stacked bars where neither says its range.
    Where they reach equally far upwards, they are equally high: a row is as high in both.
    """
    parts = [_parts(a), _parts(b)]
    layouts = [each["layout"] for each in parts]
    names = [name for name in layouts[0] if name in layouts[1]]
    joined = {n for n in names if n.startswith(("xaxis", "yaxis")) and _join_axes(n, parts)}
    if "yaxis" in joined and all("height" in layout for layout in layouts):
        layouts[0]["height"] = layouts[1]["height"] = max(each["height"] for each in layouts)
    for ours, theirs in zip(parts[0]["data"], parts[1]["data"], strict=False):
        _join_colors(ours, theirs)
        _join_colors(ours.get("marker", {}), theirs.get("marker", {}))
    _join_signed(*(each["data"] for each in parts))
    _join_margins(parts)
    return Picture(parts[0]), Picture(parts[1])


def are_same(a: Picture, b: Picture) -> bool:
    return _are_equal(a.sent, b.sent)


def _are_equal(a: Any, b: Any) -> bool:
    """Value by value: an array that Plotly could not pack, as an empty one, has no one answer."""
    a, b = (each.tolist() if isinstance(each, np.ndarray) else each for each in (a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_are_equal(a[name], b[name]) for name in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_are_equal, a, b))
    return bool(a == b) or (a != a and b != b)  # NaN: nothing is drawn there in either


def _join_signed(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> None:
    """Maps of either sign have a scale of their own, which is widened."""
    for i, pair in enumerate(zip(a, b, strict=False)):
        found = [most for trace in pair if (most := most_of(trace)) is not None]
        if len(found) == len(pair):
            a[i], b[i] = (with_most(trace, max(found)) for trace in pair)


def _join_margins(parts: list[dict[str, Any]]) -> None:
    """Where rows have other names, room at the left for the longest, so that bars line up."""
    rooms = [_names_room(each["layout"].get("yaxis", {})) for each in parts]
    if rooms[0] != rooms[1] and all(rooms):
        for each in parts:
            margin = each["layout"]["margin"]
            each["layout"]["margin"] = {**margin, "l": max(*rooms, margin.get("l", 0))}


def _names_room(axis: dict[str, Any]) -> int:
    """Pixels that the names of rows need, and their title; 0 where it has none."""
    names = [TAG.sub("", str(name)) for name in axis.get("ticktext") or ()]
    if not names:
        return 0
    widest = max(sum(CHINESE if ord(c) > WIDE else LATIN for c in name) for name in names)
    title = TITLE_ROOM if (axis.get("title") or {}).get("text") else 0
    return min(widest + TICK, MOST_ROOM) + title


def _parts(picture: Picture) -> dict[str, Any]:
    return copy.deepcopy(picture.parts)


def _join_axes(name: str, parts: list[dict[str, Any]]) -> bool:
    """Whether this axis can be joined; then it is."""
    axes = [each["layout"][name] for each in parts]
    if axes[0].get("type") != axes[1].get("type"):
        return False
    a, b = (_range(name, each) for each in parts)
    if a is None or b is None:
        return False
    (a_start, a_end), (b_start, b_end) = a, b
    is_reversed = a_start > a_end
    if is_reversed != (b_start > b_end):
        return False
    low = min(a_start, b_start, a_end, b_end)
    high = max(a_start, b_start, a_end, b_end)
    for axis in axes:
        axis["range"] = [high, low] if is_reversed else [low, high]
        axis.pop("autorange", None)
    return True


def _range(name: str, parts: dict[str, Any]) -> Range | None:
    """What the axis says of itself, or else as far as the points on it reach."""
    axis = parts["layout"][name]
    if axis.get("range") is not None:
        return _numbers(axis["range"])
    is_stacked = parts["layout"].get("barmode") in ("stack", "relative")
    if axis.get("autorange") == "reversed" or is_stacked:
        return None
    return _reach(name, parts)


def _numbers(ends: Iterable[Any]) -> Range | None:
    start, end = ends
    is_numeric = all(isinstance(each, (int, float)) for each in (start, end))
    return (float(start), float(end)) if is_numeric else None


def _reach(name: str, parts: dict[str, Any]) -> Range | None:
    letter, is_log = name[0], parts["layout"][name].get("type") == "log"
    short = letter + name[5:]
    ends: list[Range] = []
    for trace in parts["data"]:
        if trace.get(f"{letter}axis", letter) != short:
            continue
        if trace.get("type", "scatter") not in WITH_POINTS:
            return None
        ends += _reach_of(trace, letter, is_log)
    if not ends:
        return None
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    room = 0.05 * (high - low)
    return None if room == 0 else (low - room * (low != 0), high + room)


def _reach_of(trace: dict[str, Any], letter: str, is_log: bool) -> Iterator[Range]:
    try:
        values = np.asarray(trace.get(letter, ()), dtype=float)
    except (TypeError, ValueError):  # names
        return
    is_length = trace.get("type") == "bar" and (trace.get("orientation") == "h") == (letter == "x")
    if is_length and trace.get("base") is not None:
        base = np.asarray(trace["base"], dtype=float)
        values, is_length = np.concatenate((base, base + values)), False
    if is_log:
        values = np.log10(values[values > 0])
    values = values[np.isfinite(values)]
    if not values.size:
        return
    low, high = float(values.min()), float(values.max())
    yield (min(low, 0.0), max(high, 0.0)) if is_length and not is_log else (low, high)


def _join_colors(a: dict[str, Any], b: dict[str, Any]) -> None:
    for low, high in COLOR_ENDS:
        ends: list[Any] = [a.get(low), b.get(low), a.get(high), b.get(high)]
        if all(isinstance(end, (int, float)) and math.isfinite(end) for end in ends):
            for each in (a, b):
                each[low], each[high] = min(ends[:2]), max(ends[2:])
