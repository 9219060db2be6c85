"""Put a picture on the page: described for those who cannot see it, and clickable where it is."""

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import streamlit as st

from pages.ui.language import current_language

WITHOUT_TOOLS = ("mask",)  # so small that tools would cover it
HIDDEN_TOOLS = ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d", "pan2d", "zoom2d"]
INK = {"light": "#1e293b", "dark": "#e2e8f0"}
Draw = Callable[..., Any]
Describe = Callable[..., str]


def show(
    draw: Draw,
    *values: Hashable,
    key: str,
    alt: Describe,
    on_click: Callable[[Any], None] | None = None,
) -> None:
    """Show what `draw(*values)` draws; `alt(*values)` says it in words.

    Both are kept: equal values give the same picture. `on_click` gets the customdata of the mark
    that was clicked.
    """
    st.plotly_chart(
        drawn(draw, *values),
        key=key,
        config=_config(key),
        alt=_described(alt, values, current_language()),
        selection_mode="points",
        on_select=(lambda: _clicked(key, on_click)) if on_click else "ignore",
    )


def show_now(figure: Any, *, key: str, alt: str) -> None:
    """Show a picture of something that goes on, so that no two are alike: none is kept."""
    figure.update_layout(font_color=INK[st.context.theme.type or "light"])
    st.plotly_chart(figure, key=key, config=_config(key), alt=alt)


def drawn(draw: Draw, *values: Hashable) -> Any:
    """The figure that `draw(*values)` draws, in the reader's language and theme."""
    work = Work(draw, draw.__code__)
    return _drawn(work, values, current_language(), st.context.theme.type or "light")


@dataclass(frozen=True)
class Work:
    """A function of a page, as a key: Streamlit makes a new one at every rerun, of equal code."""

    function: Draw = field(compare=False)
    code: CodeType


@functools.lru_cache(maxsize=256)
def _drawn(work: Work, values: tuple[Hashable, ...], language: str, theme: str) -> Any:
    figure = work.function(*values)
    figure.update_layout(font_color=INK[theme])
    figure.update_traces(textfont_color=INK[theme], selector={"type": "heatmap"})
    return figure


@functools.lru_cache(maxsize=256)
def _described(alt: Describe, values: tuple[Hashable, ...], language: str) -> str:
    return alt(*values)


def _config(key: str) -> dict[str, Any]:
    return {
        "displaylogo": False,
        "displayModeBar": None if key not in WITHOUT_TOOLS else False,
        "modeBarButtonsToRemove": HIDDEN_TOOLS,
        "toImageButtonOptions": {
            "format": st.session_state.get("picture_format", "png"),
            "filename": f"blockscope-{key}",
            "scale": 2,
        },
    }


def _clicked(key: str, on_click: Callable[[Any], None]) -> None:
    points = st.session_state[key].selection.points
    if points and "customdata" in points[0]:
        found = points[0]["customdata"]  # of a packed array, by index
        on_click(list(found.values()) if isinstance(found, dict) else found)
