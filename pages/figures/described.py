"""What a picture shows, in words, read off the picture itself: for those who cannot see it."""

import html
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from blocks.cost.units import with_prefix
from pages.figures.signed import most_of, values_of
from pages.figures.theme import Picture, Translate

SAID = "said"  # in the meta of a trace: what it shows that no axis tells
HEADING = "heading"  # in the same place: the title that stands above its axes
STOPS = ".。"
FEW, FEW_CELLS = 8, 64  # values that are said one by one
MOST_TOLD, FIRST_TOLD = 8, 2  # parts of the sentence about marks; of more than that
TAG = re.compile("<[^>]*>")
NUMBER = re.compile(r"-?[\d.]+(e[+-]\d+)?")
Part = dict[str, Any]


def described(picture: Picture, *, _: Translate) -> str:
    """Three sentences: the title, the axes, and of every trace its values or where they go."""
    layout, traces = picture.parts["layout"], picture.parts["data"]
    title = _plain((layout.get("title") or {}).get("text") or "")
    texts = [text for trace in traces for text in (trace.get("meta") or {}).get(SAID, ())]
    told = [_plain(text).rstrip(STOPS) for text in texts]
    told += [text for trace in traces if _is_seen(trace) for text in _trace(trace, layout, _)]
    said = (title, _axes(layout, _), _("; ").join(filter(None, _some(told, _))))
    return " ".join(_("{said}.").format(said=part) for part in said if part)


def _some(told: list[str], _: Translate) -> list[str]:
    """All of a few; of many the first two, since nobody listens to hundreds: a table has them."""
    if len(told) <= MOST_TOLD:
        return told
    rest = _("and {n} more, in the table").format(n=len(told) - FIRST_TOLD)
    return [*told[:FIRST_TOLD], rest]


def _plain(text: object) -> str:
    return " ".join(html.unescape(TAG.sub(" ", str(text))).split())


def _axes(layout: Part, _: Translate) -> str:
    """What both axes are, or the one that has a title."""
    x, y = (_(", ").join(_titles(layout, letter)) for letter in "xy")
    if x and y:
        return _("Horizontal axis: {x}; vertical axis: {y}").format(x=x, y=y)
    if x:
        return _("Horizontal axis: {names}").format(names=x)
    return _("Vertical axis: {names}").format(names=y) if y else ""


def _titles(layout: Part, letter: str) -> list[str]:
    """The titles of the axes in this direction, each once."""
    axes = (layout[name] for name in layout if name.startswith(f"{letter}axis"))
    return list(dict.fromkeys(filter(None, map(_title, axes))))


def _name(trace: Part, axis: Part, titles: list[str], _: Translate) -> str:
    """What a trace is called; and its axis, where it has no name or there are several axes.

    Where a title stands above its axes as a heading, the trace has it in its `meta`.
    """
    name = _plain(trace.get("name") or "")
    heading = _plain((trace.get("meta") or {}).get(HEADING) or "")
    title = heading or _title(axis)
    if name and title and name != title and (heading or len(titles) > 1):
        return _(", ").join((name, title))
    return name or title


def _title(axis: Part) -> str:
    return _plain((axis.get("title") or {}).get("text") or "")


def _is_seen(trace: Part) -> bool:
    """Not marks that wait for the cursor or say themselves what they show; no lines for the eye."""
    says_itself = SAID in (trace.get("meta") or {})
    is_waiting = (trace.get("marker") or {}).get("opacity") == 0
    leads = trace.get("mode") == "lines" and trace.get("hoverinfo") == "skip"
    is_band = trace.get("fill") == "toself"
    is_nameless = not trace.get("name") and (leads or is_band)
    return not (says_itself or is_waiting or is_nameless)


def _trace(trace: Part, layout: Part, _: Translate) -> Iterator[str]:
    if trace.get("type") == "heatmap":
        yield from _cells(trace, layout, _)
        return
    along, value = "yx" if _lies(trace) else "xy"
    places, found = trace.get(along), trace.get(value)
    if trace.get("mode") == "text" or _is_written_out(trace):
        yield from _texts(trace, layout)
        return
    if places is None or found is None or len(found) == 0 or "base" in trace:
        return  # a bar that hangs in the air is no amount
    axis = _axis(trace, value, layout)
    name = _name(trace, axis, _titles(layout, value), _)
    is_level = len({*places}) == 1 < len(found) and trace.get("mode") == "lines"
    has_names = axis.get("tickvals") is not None and axis.get("type") != "log"
    if is_level or (trace.get("mode") == "markers" and has_names):
        yield name  # it goes through all rows, or marks some
        return
    numbers = np.array([np.nan if each is None else each for each in found], dtype=float)
    if len(numbers) > FEW:
        yield from _reach(name, numbers, axis, _)
        return
    labels = _labels(_own_names(trace) or places, _axis(trace, along, layout))
    listed = [
        f"{label} {_number(number, axis)}"
        for label, number in zip(labels, numbers, strict=True)
        if np.isfinite(number)
    ]
    if listed:
        yield _named(name, "; ".join(listed), _)


def _cells(heatmap: Part, layout: Part, _: Translate) -> Iterator[str]:
    """What is written in few cells; else from where to where they go, or the scale, in words."""
    written = heatmap.get("text") if heatmap.get("texttemplate") else None
    if written is not None and np.size(written) <= FEW_CELLS:
        yield from _written(written, layout, _)
        return
    bar = heatmap.get("colorbar") or {}
    name = _plain(heatmap.get("name") or "") or _title(bar) or _("colors")
    texts = bar.get("ticktext") or []
    if all(NUMBER.fullmatch(text) for text in texts):
        yield from _reach(name, _values(heatmap), {}, _)
    elif heatmap.get("showscale", True):
        yield _named(name, _("{least} to {most}").format(least=texts[0], most=texts[-1]), _)


def _values(heatmap: Part) -> np.ndarray:
    """What its colors stand for, NaN where masked: codes are read off the scale beside them."""
    z, bar = np.asarray(heatmap["z"]), heatmap.get("colorbar") or {}
    if z.dtype != np.uint8:
        return z.astype(float)
    if (most := most_of(heatmap)) is not None:
        return _two_digits(values_of(z, most))
    ticks, texts = bar.get("tickvals") or [], bar.get("ticktext") or []
    if not texts:
        return z.astype(float)
    slope = (float(texts[-1]) - float(texts[0])) / (ticks[-1] - ticks[0])
    return _two_digits(np.where(z < ticks[0], np.nan, float(texts[0]) + slope * (z - ticks[0])))


def _two_digits(values: np.ndarray) -> np.ndarray:
    largest = np.abs(values[np.isfinite(values)]).max(initial=0)
    return values.round(2 - math.ceil(math.log10(largest))) if largest else values


def _written(texts: Sequence[Sequence[str]], layout: Part, _: Translate) -> Iterator[str]:
    across = _labels(range(len(texts[0])), layout.get("xaxis") or {})
    down = _labels(range(len(texts)), layout.get("yaxis") or {})
    for name, row in zip(down, texts, strict=True):
        cells = (f"{label} {_plain(text)}" for label, text in zip(across, row, strict=True) if text)
        if said := "; ".join(cells):
            yield _named(name, said, _)


def _lies(trace: Part) -> bool:
    """Whether its values go from left to right, over names that stand below each other."""
    rows = trace.get("y")
    has_names = rows is not None and len(rows) > 0 and isinstance(rows[0], str)
    return has_names or trace.get("orientation") == "h"


def _own_names(trace: Part) -> Sequence[str]:
    """What single marks are called, where they say it under the cursor alone."""
    return trace.get("text") or () if trace.get("mode") == "markers" else ()


def _is_written_out(trace: Part) -> bool:
    """Whether the values of horizontal bars stand at their ends as text."""
    return bool(trace.get("orientation") == "h" and isinstance(trace.get("text"), list))


def _texts(trace: Part, layout: Part) -> Iterator[str]:
    """What stands at the ends of horizontal bars, each after the name of its bar."""
    rows = trace["y"]
    if "orientation" in trace:
        rows = _labels(rows, _axis(trace, "y", layout))
    else:
        rows = [_plain(row) if isinstance(row, str) else "" for row in rows]
    pairs = zip(rows, trace["text"], strict=True)
    if said := [f"{row} {_plain(text)}" for row, text in pairs if row]:
        yield "; ".join(said)


def _axis(trace: Part, letter: str, layout: Part) -> Part:
    return layout.get(f"{letter}axis{trace.get(f'{letter}axis', letter)[1:]}") or {}


def _labels(places: Sequence[Any], axis: Part) -> list[str]:
    ticks = dict(zip(axis.get("tickvals") or (), axis.get("ticktext") or (), strict=False))
    return [_plain(ticks.get(place, place)) for place in places]


def _reach(name: str, values: np.ndarray, axis: Part, _: Translate) -> Iterator[str]:
    found = values[np.isfinite(values)]
    if not found.size:
        return
    text = _("{least} to {most}")
    ends = (_number(end, axis) for end in (found.min(), found.max()))
    yield _named(name, text.format(**dict(zip(("least", "most"), ends, strict=True))), _)


def _named(name: str, said: str, _: Translate) -> str:
    return _("{name}: {said}").format(name=name, said=said) if name else said


def _number(value: float, axis: Part) -> str:
    tickformat = axis.get("tickformat") or ""
    if "%" in tickformat:
        return f"{value:.1%}"
    if tickformat.endswith("s"):
        return f"{with_prefix(value)}{axis.get('ticksuffix', '')}"
    return f"{value:,.0f}" if value == round(value) else f"{value:.3g}"
