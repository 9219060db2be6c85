"""The widgets of fields: each is a view of what the link says, and writes there."""

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import streamlit as st

from pages.server.readers import Between
from pages.session.slot import Slot, shown_by
from pages.stage import link
from pages.state.fields import FIELDS
from pages.words import terms
from pages.words.language import _, current_language

LabelOf = Callable[[str], str]


def choose(
    name: str,
    label: str,
    options: Iterable[str],
    *,
    label_of: LabelOf = terms.option,
    shown: str = "",
) -> None:
    """A few choices side by side; `shown` is the field's value unless told otherwise."""
    st.segmented_control(
        label,
        [str(option) for option in options],
        format_func=label_of,
        required=True,
        wrap=True,
        **link.view(name, shown or link.value(name)),
    )


def pick(
    name: str,
    label: str,
    options: Iterable[str],
    *,
    label_of: LabelOf = terms.option,
    shown: str = "",
    place: str = "",
) -> None:
    """Many choices in a list; `shown` is the field's value unless told otherwise.

    `place`: which of several lists for one field it is.
    """
    words = tuple(str(option) for option in options)
    with st.container(key=name + place):
        st.selectbox(
            label,
            words,
            format_func=label_of,
            **link.view(name, str(shown or link.value(name)), (place, words, current_language())),
        )


def several(
    name: str,
    label: str,
    options: tuple[str, ...],
    shown: Sequence[str],
    *,
    write: Callable[[Sequence[str]], str],
    label_of: LabelOf = terms.option,
    place: str = "",
    is_list: bool = False,
) -> None:
    """Some of several choices, side by side or in a list; `write` makes one text of them.

    `place`: which of several such widgets for one field it is.
    """
    key = f"{name}__{zlib.crc32(repr((place, options, current_language())).encode()):x}"
    Slot(key, [*shown]).keep([*shown])
    look: dict[str, Any] = {"selection_mode": "multi", "wrap": True}
    if is_list:
        look = {"placeholder": _("Choose")}
    with st.container(key=name + place):
        (st.multiselect if is_list else st.pills)(
            label,
            options,
            format_func=label_of,
            key=key,
            on_change=_several_chosen,
            args=(name, key, options, write),
            **look,
        )


def _several_chosen(
    name: str, key: str, options: tuple[str, ...], write: Callable[[Sequence[str]], str]
) -> None:
    found = shown_by(key)
    link.change(name, write([word for word in options if word in found]))


def slide(
    name: str,
    label: str,
    options: Iterable[Any],
    shown: Any = None,
    *,
    place: str = "",
    label_of: Callable[[Any], Any] = str,
) -> None:
    """A slider over legal values; one that came from a link or preset is among them.

    `shown` as in `choose`. `place`: which of several sliders for one field it is.
    """
    shown = link.value(name) if shown is None else shown
    choices = tuple(sorted({*options, shown}))
    with st.container(key=name + place):
        if len(choices) == 1:
            text = _("{label}: {value}, the only valid value")
            st.caption(text.format(label=label, value=label_of(shown)))
        else:
            view = link.view(name, shown, (place, choices))
            st.select_slider(label, choices, format_func=label_of, **view)


def slider(
    name: str,
    label: str,
    shown: float | None = None,
    *,
    least: float | None = None,
    most: float | None = None,
    first: int = 0,
    place: str = "",
    **more: Any,
) -> None:
    """A slider over a range; `first`: what it shows for 0. `shown` and `place` as in `slide`."""
    shown = link.value(name) if shown is None else shown
    low, high = limits = _limits(name, shown, least, most)
    with st.container(key=name + place):
        view = link.view(name, shown, (place, limits), first=first)
        st.slider(label, low + first, high + first, **more, **view)


def enter(
    name: str,
    label: str,
    shown: int | None = None,
    *,
    least: int | None = None,
    most: int | None = None,
    first: int = 0,
    step: int = 1,
    **more: Any,
) -> None:
    """A whole number to type; `first`: what it shows for 0. `shown` as in `slide`."""
    shown = link.value(name) if shown is None else shown
    low, high = limits = _limits(name, shown, least, most)
    view = link.view(name, shown, limits, first=first)
    st.number_input(label, low + first, high + first, step=step, **more, **view)


def _limits(
    name: str, shown: float, least: float | None, most: float | None
) -> tuple[float, float]:
    """Those of the field, or what is of use here and what came from a link or preset."""
    read = cast(Between, FIELDS[name].read)  # as every field with such a control
    return (
        read.least if least is None else min(least, shown),
        read.most if most is None else max(most, shown),
    )


def switch(name: str, label: str, *, shown: bool | None = None, **more: Any) -> None:
    """On or off; `shown` is the field's value unless told otherwise."""
    st.toggle(label, **more, **link.view(name, link.value(name) if shown is None else shown))
