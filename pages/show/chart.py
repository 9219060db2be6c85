"""Put a picture on the page: described for those who cannot see it, and clickable where it is."""

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NamedTuple

import streamlit as st

from blocks import ConfigError
from pages.figures import drawn_chart
from pages.figures.beside import are_same, on_one_scale
from pages.figures.chart import Chart
from pages.figures.described import described
from pages.figures.large import enlarged
from pages.session.slot import Slot, shown_by
from pages.show import beside
from pages.stage import present, progress
from pages.stage.phone import is_phone
from pages.words.file_names import file_stem
from pages.words.language import _, closed_up, current_language, translation

PICTURE_FORMAT = Slot("kept_picture_format", "png")
WITHOUT_TOOLS = ("mask", "strip")  # so small that tools would cover them
HIDDEN_TOOLS = ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d", "pan2d", "zoom2d"]
INK = {"light": "#1e293b", "dark": "#e2e8f0"}
PAPER = {"light": "#ffffff", "dark": "#10151c"}
# Of two models that differ in size, a picture of one layer or head may be of one alone.
CANNOT_BE_DRAWN = (IndexError, KeyError, ValueError, ConfigError)
Draw = Callable[..., Any]
Describe = Callable[..., str]
Facts = Callable[..., Any]
OnClick = Callable[[list[Any]], None] | None
Values = tuple[Hashable, ...]


@dataclass(frozen=True)
class Work:
    """A function of a page, as a key: Streamlit makes a new one at every rerun, of equal code."""

    function: Draw = field(compare=False)
    code: CodeType
    facts: Facts | None

    def of(self, values: Values) -> Any:
        made = self.made(values)
        return drawn_chart.drawn(made) if isinstance(made, Chart) else made

    def made(self, values: Values) -> Any:
        """A chart in its own words, or a picture; None where there is nothing to show."""
        if self.facts is None:
            return self.function(*values)
        words = {"_": translation()} if self.code.co_kwonlyargcount else {}
        return self.function(self.facts(*values), **words)


def show(
    draw: Draw,
    *values: Hashable,
    facts: Facts | None = None,
    key: str,
    alt: Describe | None = None,
    on_click: OnClick = None,
    room: int = 0,
) -> None:
    """Show what `draw(facts(*values), _=_)` draws, or without `facts` what `draw(*values)` does.

    The picture says itself what it shows, unless `alt(*values)` does. Both are kept: equal values
    give the same picture. `on_click` gets the customdata of the mark that was clicked. Where a
    configuration is kept as A, its picture stands beside on the same scales, if the values name the
    run of the page. `room`: pixels that it has where it is presented and does not stand alone.
    """
    found = twins(draw, *values, facts=facts, alt=alt, room=room)
    if found.b and found.a:
        left, right = st.columns(2)
        with left:
            st.caption(_("A · {name}, as saved").format(name=beside.name_of_a()))
            _show_one(*found.a, key=f"{key}_a")
        with right:
            clicked = _("B · current settings: click this picture to choose")
            st.caption(clicked if on_click else _("B · current settings"))
            _show_one(*found.b, key=key, on_click=on_click)
        return
    if found.b:
        _show_one(*found.b, key=key, on_click=on_click)
    if found.note:
        st.caption(found.note)


def columns(spec: Any, **more: Any) -> Sequence[Any]:
    """Columns of pictures; one below the other where there is no width for two.

    So it is where A stands beside B, and where a lesson's card and the settings stand beside.
    Beside the card alone there is none for three: the third stands below the first.
    """
    lesson = progress.now()
    if beside.found() is None and not (lesson and lesson.asks_for_settings):
        if lesson and spec == 3:
            left, right = st.columns(2, **more)
            return left, right, left
        return st.columns(spec, **more)
    return [st.container() for _each in (range(spec) if isinstance(spec, int) else spec)]


def _show_one(figure: Any, alt: str, *, key: str, on_click: OnClick = None) -> None:
    st.plotly_chart(
        figure,
        key=key,
        config=_config(key, figure),
        alt=alt,
        selection_mode="points",
        on_select=(lambda: _clicked(key, on_click)) if on_click else "ignore",
    )


def show_now(
    figure: Any, *, key: str, alt: str = "", on_click: OnClick = None, is_large: bool = False
) -> None:
    """Show a picture of something that goes on, so that no two are alike: none is kept.

    `is_large`: it is for the back row, though nothing is presented.
    """
    text, look = alt or closed_up(described(figure, _=_)), _look()
    look = look._replace(is_large=look.is_large or is_large)
    _show_one(look.given_to(figure), text, key=key, on_click=on_click)


def drawn(draw: Draw, *values: Hashable, facts: Facts | None = None) -> Any:
    """The figure that `show` would show, in the reader's language and theme."""
    return _drawn(_work(draw, facts), values, current_language(), _look())


class Twins(NamedTuple):
    """A picture of what is set now, and that of A where it stands beside; each with its alt."""

    b: tuple[Any, str] | None
    a: tuple[Any, str] | None = None
    note: str = ""  # why A has no picture of its own


def twins(
    draw: Draw,
    *values: Hashable,
    facts: Facts | None = None,
    alt: Describe | None = None,
    room: int = 0,
) -> Twins:
    """Draw what `show` shows: of what is set now, and of A as it was kept, on the same scales."""
    work, other = _work(draw, facts), beside.with_a(values)
    language, look = current_language(), _look()

    def told(figure: Any, of: Values) -> tuple[Any, str] | None:
        return None if figure is None else (figure, _described(work, alt, of, language, look))

    note = ""
    if other is not None:
        name = beside.name_of_a()
        try:
            b, a = _two_drawn(work, values, other, language, look, room)
            if not are_same(a, b):
                return Twins(told(b, values), told(a, other))
            note = _("A · {name}: same picture as for B.").format(name=name)
        except CANNOT_BE_DRAWN:
            text = _(
                "A · {name}: no picture, because A lacks this layer, head or token, or is too "
                "large to build here."
            )
            note = text.format(name=name)
    return Twins(told(_drawn(work, values, language, look, room), values), note=note)


class Look(NamedTuple):
    """What the same picture looks like here: light or dark, large for the back row, on a phone."""

    theme: str
    is_large: bool
    is_narrow: bool

    def given_to(self, figure: Any, room: int = 0) -> Any:
        """The figure with its ink, large where it is to be, and with room for its tools.

        `room`: the pixels that it then has, where it does not stand alone.
        """
        written = figure.written_in(INK[self.theme]).with_tools_on(PAPER[self.theme])
        shown = enlarged(written, room) if self.is_large else written
        return shown.below_its_tools() if self.is_narrow else shown


def _look() -> Look:
    return Look(st.context.theme.type or "light", present.is_on(), is_phone())


def _work(draw: Draw, facts: Facts | None) -> Work:
    return Work(draw, draw.__code__, facts)


@functools.lru_cache(maxsize=64)
def _two_drawn(
    work: Work, values: Values, other: Values, language: str, look: Look, room: int = 0
) -> tuple[Any, Any]:
    """Of both runs, on the same scales."""
    b, a = (_drawn(work, each, language, look, room) for each in (values, other))
    if a is None or b is None:
        raise ValueError("nothing to compare")
    return on_one_scale(b, a)


@functools.lru_cache(maxsize=256)
def _drawn(work: Work, values: Values, language: str, look: Look, room: int = 0) -> Any:
    figure = work.of(values)
    return None if figure is None else look.given_to(figure, room)


@functools.lru_cache(maxsize=256)
def _described(work: Work, alt: Describe | None, values: Values, language: str, look: Look) -> str:
    said = described(_drawn(work, values, language, look), _=_) if alt is None else alt(*values)
    return closed_up(said)


def picture_format() -> str:
    """What the camera above a picture saves: "png", or "svg" once the reader has chosen that."""
    return PICTURE_FORMAT.get()


def _config(key: str, figure: Any) -> dict[str, Any]:
    """The tools in the corner: always seen, but where they would cover a title or a projector."""
    is_narrow = present.is_on() or progress.now() or not figure.leaves_room_for_tools
    tools = "hover" if is_narrow else True
    return {
        "displaylogo": False,
        "displayModeBar": False if key in WITHOUT_TOOLS else tools,
        "modeBarButtonsToRemove": HIDDEN_TOOLS,
        "toImageButtonOptions": {
            "format": picture_format(),
            "filename": file_stem(figure.parts["layout"]["title"]["text"] or key),
            "scale": 4 if is_phone() else 2,
        },
    }


def _clicked(key: str, on_click: Callable[[Any], None]) -> None:
    points = shown_by(key).selection.points
    if points and "customdata" in points[0]:
        found = points[0]["customdata"]  # of a packed array, by index
        on_click(list(found.values()) if isinstance(found, dict) else found)
