"""What all pictures share: the bones of a figure. Backgrounds and text take the page's theme."""

import functools
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from _plotly_utils.utils import to_typed_array_spec
from plotly import io

Translate = Callable[[str], str]

HIDDEN_AXIS = {"visible": False}
AXIS = {"automargin": True, "fixedrange": True}  # nothing is dragged: a page scrolls under a finger
TITLE, TITLE_AND_LEGEND, EDGE = 36, 64, 4
HALF_A_TICK_LABEL = 18
WIDE = 0x2E80  # from here on signs are as wide as they are high
LATIN_SIGN, CHINESE_SIGN = 7.5, 16  # pixels of a sign of a title
BESIDE_TOOLS, TOOLS = 270, 28  # pixels that tools leave of a line on a phone; how high they are
HEIGHT = 450  # of a picture that says none, as Plotly has it
SPACE = "␣"  # in the label of a token: the space before a word
PRESENTED = "presented"  # in the meta: made for a projector, and for so many pixels of its width
TILES = "tiles"  # in the meta: maps side by side, on a projector as wide as there is room
ACROSS = "across"  # in the meta: so many pixels of its width on a projector, where these are known


class Picture(go.Figure):  # type: ignore[misc]  # Plotly ships no types
    """A finished figure as plain values, sent many times: what is sent is made once.

    Plotly's own objects are made for whoever asks for one, which no page does, and its check of
    every property is left to the tests: both take many times as long as the rest.
    """

    def __init__(self, parts: dict[str, Any]):
        self._parts = parts

    @property
    def parts(self) -> dict[str, Any]:
        """Traces and layout as plain values, not to be changed."""
        return self._parts

    def __getattr__(self, name: str) -> Any:
        """What Plotly's own objects know, to be looked at."""
        return getattr(self._plotly, name)

    @functools.cached_property
    def _plotly(self) -> go.Figure:
        return go.Figure(self._parts["data"], self._parts["layout"], _validate=False)

    def with_layout(self, **more: Any) -> "Picture":
        return Picture({**self._parts, "layout": {**self._parts["layout"], **more}})

    def written_in(self, color: str) -> "Picture":
        """The same with its texts in this colour, and those in the cells of its maps."""
        given, layout = self._parts["data"], self._parts["layout"]
        traces = [_colored(each, "textfont", color) if _is_map(each) else each for each in given]
        return Picture({"data": traces, "layout": _colored(layout, "font", color)})

    def with_tools_on(self, color: str) -> "Picture":
        """The same with its tools on this colour, whatever lies below them."""
        return self.with_layout(modebar={"bgcolor": color})

    @property
    def leaves_room_for_tools(self) -> bool:
        """Whether there is a line above it, with room beside its title in half a window too."""
        title = self._parts["layout"].get("title") or {}
        return 0 < _width(title.get("text", "")) <= BESIDE_TOOLS

    def below_its_tools(self) -> "Picture":
        """The same, on a phone: a title that fills the line there stands below the tools.

        No finger points without touching, so Plotly always shows them there.
        """
        layout = self._parts["layout"]
        title = layout.get("title") or {}
        if _width(title.get("text", "")) <= BESIDE_TOOLS:
            return self
        height, margin = layout.get("height", HEIGHT), layout.get("margin") or {}
        legend = layout.get("legend") or {}
        if legend.get("yref") == "container" and "y" in legend:
            below = (1 - legend["y"]) * height + TOOLS
            legend = {**legend, "y": 1 - below / (height + TOOLS)}
        return self.with_layout(
            title={**title, "pad": {"t": title.get("pad", {}).get("t", 0) + TOOLS}},
            height=height + TOOLS,
            margin={**margin, "t": margin.get("t", TITLE) + TOOLS},
            legend=legend,
        )

    @functools.cached_property
    def sent(self) -> dict[str, Any]:
        """Plain dictionaries, arrays packed."""
        sent: dict[str, Any] = _packed(_without_nothing(self._parts))
        sent["layout"].setdefault("template", template_named(io.templates.default))
        return sent

    def to_dict(self) -> dict[str, Any]:
        return self.sent


def _colored(holder: dict[str, Any], name: str, color: str) -> dict[str, Any]:
    return {**holder, name: {**(holder.get(name) or {}), "color": color}}


def _width(title: str) -> float:
    """About how many pixels wide a title is."""
    return sum(CHINESE_SIGN if ord(sign) > WIDE else LATIN_SIGN for sign in title)


def _is_map(trace: dict[str, Any]) -> bool:
    return bool(trace.get("type") == "heatmap")


def _without_nothing(parts: dict[str, Any]) -> dict[str, Any]:
    """None is not sent, where a trace or the layout names it."""
    traces = [{k: v for k, v in trace.items() if v is not None} for trace in parts["data"]]
    return {"data": traces, "layout": {k: v for k, v in parts["layout"].items() if v is not None}}


def _packed(value: Any) -> Any:
    """Dictionaries and lists again, arrays packed; Plotly's own search asks many times as much."""
    if isinstance(value, dict):
        return {name: _packed(each) for name, each in value.items()}
    if isinstance(value, list | tuple) and any(
        isinstance(each, dict | list | tuple) for each in value
    ):
        return [_packed(each) for each in value]
    return to_typed_array_spec(value) if isinstance(value, np.ndarray) else value


@functools.lru_cache(maxsize=4)
def template_named(name: str) -> dict[str, Any]:
    """What all pictures of a kind have in common, as Plotly keeps it; not to be changed."""
    return io.templates[name].to_plotly_json()


def figure(
    traces: Sequence[dict[str, Any]],
    *,
    title: str = "",
    margin: tuple[int, int] = (TITLE, EDGE),
    left: int = EDGE,
    right: int = HALF_A_TICK_LABEL,
    **layout: Any,
) -> Picture:
    """A figure in one go, with what all axes and notes have in common.

    `margin`: pixels kept free at the top (where the title stands) and at the bottom; `left`,
    `right`: at the sides. Labels make room for themselves, but for one whose middle is below an
    edge: Plotly forgets it when the window changes its width.
    """
    top, bottom = margin
    base = {
        "title": {"text": title, "x": 0, "y": 1, "yanchor": "top", "pad": {"t": 4}},
        "margin": {"l": left, "r": right, "t": top, "b": bottom},
        "dragmode": False,
        "hovermode": "closest",
        "showlegend": False,
    }
    if layout.get("showlegend"):
        layout["legend"] = below_title(
            layout.get("legend", {}), layout.get("height", HEIGHT), TITLE
        )
    axes = {name: _axis(axis) for name, axis in layout.items() if "axis" in name}
    notes = [{"showarrow": False, **note} for note in layout.pop("annotations", ())]
    return Picture(
        {"data": list(traces), "layout": {**base, **layout, **axes, "annotations": notes}}
    )


def _axis(given: dict[str, Any]) -> dict[str, Any]:
    title = given.get("title")
    return {**AXIS, **given, **({"title": {"text": title}} if isinstance(title, str) else {})}


def legend() -> dict[str, Any]:
    """A legend in lines between title and picture, which makes room for as many as there are."""
    place = {"x": 0, "xref": "container", "yref": "container", "yanchor": "top"}
    return {"showlegend": True, "legend": {"orientation": "h", **place}}


def below_title(legend: dict[str, Any], height: float, title: float) -> dict[str, Any]:
    """A legend of `legend()`, as many pixels below the head of the picture as its title is high."""
    if legend.get("yref") != "container" or legend.get("yanchor") == "bottom":
        return legend
    return {**legend, "y": 1 - title / height}


def faint(color: str, alpha: float) -> str:
    """A role's colour (#rrggbb) let through by `alpha`."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {alpha})"


def plain(text: str) -> str:
    """Text as text: Plotly takes <b>, <s> and entities in labels for markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def token_label(text: str, most: int = 14) -> str:
    """A token as a label: plain, and not longer than a label can be."""
    return plain(text if len(text) <= most else text[: most - 1] + "…")


def line_label(text: str, most: int = 14) -> str:
    """A name as a label: plain and whole, in lines that are not longer than a label can be."""
    return "<br>".join(map(plain, textwrap.wrap(text, most)))


def word_of(token: str) -> str:
    """A token as it is read: without the sign for the space before it."""
    return token.removeprefix(SPACE) or token


def word_label(token: str) -> str:
    return token_label(word_of(token))


def small(values: np.ndarray) -> np.ndarray:
    """As few bytes as the eye can tell apart: Plotly sends arrays as they are."""
    return np.ascontiguousarray(values, dtype=np.float32)
