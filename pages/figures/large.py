"""A picture for the back row: no text below a size, and room for it."""

import re
from collections.abc import Sequence
from html import unescape
from typing import Any

import numpy as np

from pages.figures.theme import ACROSS, HEIGHT, PRESENTED, TILES, WIDE, Picture, below_title
from pages.figures.theme import TITLE as HEAD

LEAST, TITLE = 16, 18  # pixels
GROWTH = 4 / 3  # of the texts and their room
SQUEEZED, STRETCHED = 3 / 4, 5 / 3  # the lowest and the highest that a picture gets
ONE_SCREEN = 470  # pixels that a panel leaves for its picture at 1280 × 720
WIDTH, SIGN, BETWEEN, LINE = 600, 9, 6, 18  # pixels of a picture, a sign, two labels, a row
FEW = 16  # texts that stand freely
THIRD = 360  # pixels of one of three pictures beside each other
SECOND_LINE = re.compile("\u00a0<br>|<br>\u00a0")
FINE_PRINT = re.compile(r"<br><span style='font-size:\d+px'>[^<]*</span>")
MARKUP = re.compile("<[^>]*>")
WRITTEN = ("text", "texttemplate")
ON_AXES = ("scatter", "scattergl", "bar", "heatmap", "histogram", "box", "violin", "contour")


def enlarged(picture: Picture, room: int = 0) -> Picture:
    """Return a copy with every text at least `LEAST` pixels high, no higher than `room`, if given.

    Numbers that no longer fit into their cells are left out, and so are labels of an axis that
    would run into each other, and what is fine print in a box: it is there under the cursor.
    """
    given = picture.parts["data"]
    layout = {**_unsaid_axes(given), **picture.parts["layout"]}
    if PRESENTED not in (layout.get("meta") or {}) and "height" in layout:
        layout["height"] = _height(given, layout, room)
    traces = [_trace(trace, layout) for trace in given]
    return Picture({"data": traces, "layout": _layout(layout)})


def _height(traces: Sequence[dict[str, Any]], layout: dict[str, Any], room: int) -> int:
    """As much higher as the texts are, as long as a panel stays on one screen.

    A map may be squeezed for that, whose cells are read by colour and by the cursor; all else a
    little.
    """
    height = layout["height"]
    if TILES in (layout.get("meta") or {}):
        return room or _of_tiles(layout)
    if room:
        return round(min(STRETCHED * height, room))
    is_map = any(trace.get("type") == "heatmap" for trace in traces)
    least = ONE_SCREEN if is_map else SQUEEZED * height
    return round(max(min(least, height), min(STRETCHED * height, ONE_SCREEN)))


def _of_tiles(layout: dict[str, Any]) -> int:
    """As high as keeps the cells square, on one screen: there they are as wide as there is room."""
    rows, columns = (abs(np.ptp(layout[axis]["range"])) for axis in ("yaxis", "xaxis"))
    margin = GROWTH * sum(layout["margin"][side] for side in "tb")
    return round(min(margin + rows / columns * _width(layout, WIDTH), ONE_SCREEN))


def _unsaid_axes(traces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The axes of the traces, which a layout need not name."""
    flat = [trace for trace in traces if trace.get("type", "scatter") in ON_AXES]
    return {
        f"{letter}axis{trace.get(f'{letter}axis', letter)[1:]}": {}
        for trace in flat
        for letter in "xy"
    }


def _layout(layout: dict[str, Any]) -> dict[str, Any]:
    if TILES in (layout.get("meta") or {}):
        layout = {**layout, "yaxis": {**layout["yaxis"], "scaleanchor": None}}
    grown = {
        **{name: _axis(name, axis, layout) for name, axis in layout.items() if _is_axis(name)},
        "title": _titled(layout.get("title"), TITLE),
        "font": _font(layout.get("font")),
        "legend": _with_font(_below(layout)),
        "hoverlabel": _with_font(layout.get("hoverlabel")),
        "annotations": [_annotation(each) for each in layout.get("annotations") or ()],
        "margin": {side: round(GROWTH * n) for side, n in (layout.get("margin") or {}).items()},
    }
    if "coloraxis" in layout:
        grown["coloraxis"] = _barred(layout["coloraxis"])
    return {**layout, **grown}


def _below(layout: dict[str, Any]) -> dict[str, Any]:
    return below_title(layout.get("legend") or {}, layout.get("height", HEIGHT), GROWTH * HEAD)


def _is_axis(name: str) -> bool:
    return name.startswith(("xaxis", "yaxis"))


def _axis(name: str, axis: dict[str, Any], layout: dict[str, Any]) -> dict[str, Any]:
    grown = {**axis, "tickfont": _font(axis.get("tickfont")), "title": _titled(axis.get("title"))}
    ticks = axis.get("tickvals")
    if ticks is None or not (axis.get("ticktext") is not None and axis.get("showticklabels", True)):
        return grown
    step, names = _step(name, len(ticks), axis, layout), [*axis["ticktext"]]
    if name.startswith("x") and axis.get("tickangle") == 0:
        in_one_line = [SECOND_LINE.sub("", label) for label in names]
        is_set = any("<br>" in label for label in in_one_line)  # in lines, by who knows its width
        if not is_set and (needed := _upright_step(in_one_line, axis, layout)) > 1:
            step, names = needed, in_one_line
    shown = slice((len(ticks) - 1) % step, None, step)  # the last among them: it is often pinned
    return {**grown, "tickvals": [*ticks][shown], "ticktext": names[shown]}


def _upright_step(names: Sequence[str], axis: dict[str, Any], layout: dict[str, Any]) -> int:
    """Every which name has room where they stand upright beside each other; in two lines, twice."""
    said = (MARKUP.sub("", name) for name in names)
    widest = max((sum(LEAST if ord(c) > WIDE else SIGN for c in name) for name in said), default=0)
    low, high = axis.get("domain") or (0, 1)
    width = _width(layout, THIRD)
    lines = 2 if any(SECOND_LINE.search(name) for name in axis["ticktext"]) else 1
    step = -(-len(names) * (widest + BETWEEN) // max(1, round(width * (high - low))))
    return step if step > lines else 1


def _step(name: str, n: int, axis: dict[str, Any], layout: dict[str, Any]) -> int:
    """Every which label is shown, so that each has a line of its own."""
    if name.startswith("x"):
        room = _width(layout, WIDTH)
    else:
        if layout.get("height") is None:
            return 1
        room = round(_plot_height(layout))
    low, high = axis.get("domain") or (0, 1)
    return max(1, -(-n * LINE // max(LINE, round(room * (high - low)))))


def _annotation(given: dict[str, Any]) -> dict[str, Any]:
    shifts: dict[str, Any] = {
        name: GROWTH * given[name] for name in ("xshift", "yshift") if name in given
    }
    text = FINE_PRINT.sub("", given.get("text") or "")
    return {**given, **shifts, "text": text, "font": _font(given.get("font"))}


def _trace(trace: dict[str, Any], layout: dict[str, Any]) -> dict[str, Any]:
    if trace.get("type") == "heatmap" and "text" in trace:
        trace = {**trace, "text": _in_lines_with_room(trace["text"], layout)}
    is_scaled = "colorbar" in trace or trace.get("type") == "heatmap"
    grown = _barred(trace) if is_scaled else {**trace}
    if "colorbar" in (trace.get("marker") or {}):
        grown["marker"] = _barred(trace["marker"])
    if "text" not in trace:
        return grown
    if _has_room(trace, layout):
        return {**grown, "textfont": _font(trace.get("textfont"))}
    bare = {name: value for name, value in grown.items() if name not in WRITTEN}
    return {**bare, "x": [], "y": []} if trace.get("mode") == "text" else bare


def _in_lines_with_room(texts: Any, layout: dict[str, Any]) -> list[list[str]]:
    """As many lines of each text as a row of the map has room for, but at least the first."""
    low, high = (layout.get("yaxis") or {}).get("domain", (0, 1))
    n = max(1, int(_plot_height(layout) * (high - low) / len(texts) // LINE))
    return [["<br>".join(str(text).split("<br>")[:n]) for text in row] for row in texts]


def _plot_height(layout: dict[str, Any]) -> float:
    """Pixels between the margins, which grow with the texts."""
    margin = layout.get("margin") or {}
    return float(layout.get("height", HEIGHT) - GROWTH * (margin.get("t", 0) + margin.get("b", 0)))


def _has_room(trace: dict[str, Any], layout: dict[str, Any]) -> bool:
    """Whether its texts fit into a matrix or beside lying bars; all others stand freely."""
    texts = np.asarray(trace["text"], dtype=object)
    if trace.get("type") == "bar" and trace.get("orientation") == "h":
        return len(set(np.asarray(trace["y"]).tolist())) * LINE <= _plot_height(layout)
    is_heatmap = trace.get("type") == "heatmap"
    if not is_heatmap and (trace.get("mode") != "text" or texts.size <= FEW):
        return True
    columns = texts.shape[-1] if is_heatmap else len(set(np.asarray(trace["x"]).tolist()))
    axis = layout.get("xaxis" + trace.get("xaxis", "x")[1:]) or {}
    low, high = axis.get("domain") or (0, 1)
    lines = (unescape(line) for text in texts.flat for line in str(text).split("<br>"))
    longest = max(map(len, lines), default=0)
    return columns * (SIGN * longest + BETWEEN) <= _width(layout, WIDTH) * (high - low)


def _width(layout: dict[str, Any], least: int) -> int:
    """Pixels for a picture that says how wide it is shown, or as many as any has."""
    meta = layout.get("meta") or {}
    return int(meta.get(PRESENTED) or meta.get(ACROSS) or least)


def _barred(holder: dict[str, Any]) -> dict[str, Any]:
    bar = holder.get("colorbar") or {}
    texts = {"tickfont": _font(bar.get("tickfont")), "title": _titled(bar.get("title"))}
    return {**holder, "colorbar": {**bar, **texts}}


def _titled(title: Any, least: int = LEAST) -> dict[str, Any]:
    found: dict[str, Any] = {"text": title} if isinstance(title, str) else {**(title or {})}
    return {**found, "font": _font(found.get("font"), least)}


def _with_font(holder: dict[str, Any] | None) -> dict[str, Any]:
    return {**(holder or {}), "font": _font((holder or {}).get("font"))}


def _font(given: dict[str, Any] | None, least: int = LEAST) -> dict[str, Any]:
    size = (given or {}).get("size", least)
    several = isinstance(size, (list, tuple, np.ndarray))
    most = np.maximum(size, least).tolist() if several else max(size, least)
    return {**(given or {}), "size": most}
