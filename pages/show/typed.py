"""A number that is typed, with units: 1e19, 300B, 40%; the link has it as a plain number."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import streamlit as st

from blocks.cost.quantity import quantity, written
from blocks.model.faults import N_, ConfigError, Fault
from pages.server.readers import Between, UnreadableError, as_text
from pages.session.slot import Slot, shown_by
from pages.show.controls import slide, slider
from pages.stage import link
from pages.state.fields import FIELDS
from pages.words.language import _, say_fault

BOX = 118  # pixels of a box beside a slider
FAULTS = Slot[Mapping[str, Fault]]("typed_faults", {})  # by field and place


def typed(name: str, label: str, shown: float | None = None, *, place: str = "") -> None:
    """Type a number; what is none, or out of bounds, changes nothing and is said below.

    `shown` is the field's value unless told otherwise, here and below.
    """
    _box(name, label, shown, place)
    _say_fault(name, place)


def slide_or_type(
    name: str,
    label: str,
    options: Iterable[Any],
    shown: Any = None,
    *,
    place: str = "",
    label_of: Callable[[Any], Any] = str,
) -> None:
    """A slider over round values, and a box at its side for any other."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        slide(name, label, options, shown, place=place, label_of=label_of)
        _box(name, label, shown, place, look="collapsed")
    _say_fault(name, place)


def slider_or_type(
    name: str, label: str, shown: float | None = None, *, step: float, place: str = ""
) -> None:
    """A slider over a share, and a box at its side."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        slider(name, label, shown, step=step, place=place)
        _box(name, label, shown, place, look="collapsed")
    _say_fault(name, place)


def _box(
    name: str,
    label: str,
    shown: float | None,
    place: str,
    look: Literal["visible", "collapsed"] = "visible",
) -> None:
    shown = link.value(name) if shown is None else shown
    view = link.view(name, written(shown), ("typed", place))
    view |= {"on_change": _typed, "args": (name, view["key"], shown, place)}
    width: Literal["stretch"] | int = "stretch" if look == "visible" else BOX
    st.text_input(
        label,
        label_visibility=look,
        width=width,
        help=_("Units may be typed, such as 1e19, 300B, 1.5T, 80 GiB or 40%.")
        if look == "visible"
        else None,
        **view,
    )


def _typed(name: str, key: str, shown: float, place: str) -> None:
    faults = FAULTS.get()
    try:
        found = read(name, shown_by(key))
    except ConfigError as error:
        FAULTS.keep({**faults, name + place: error.faults[0]})
        link.TOUCHED.keep(True)
        return
    FAULTS.keep({each: fault for each, fault in faults.items() if each != name + place})
    link.take(name, key, found, shown)


def read(name: str, text: str) -> Any:
    """The value of a field that is meant. Raises `ConfigError` with the sentence to show."""
    value, field = quantity(text), FIELDS[name]
    try:
        return field.read(as_text(int(value) if value.is_integer() else value))
    except UnreadableError as error:
        if error.nearest is None or not isinstance(field.read, Between):
            raise ConfigError(
                [Fault(N_("{text} is not a whole number: leave out the fraction"), {"text": text})]
            ) from None
        values = {
            "text": text,
            "least": written(field.read.least),
            "most": written(field.read.most),
        }
        said = N_("{text} is out of bounds: use a number from {least} to {most}")
        raise ConfigError([Fault(said, values)]) from None


def _say_fault(name: str, place: str) -> None:
    if fault := FAULTS.get().get(name + place):
        st.warning(say_fault(fault), icon=":material/edit_off:")
