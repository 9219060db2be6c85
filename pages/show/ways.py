"""Ways out of a setting: a button that leads to another, or to the nearest that can be."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from blocks.model.faults import Fault
from pages.stage import link
from pages.words.language import _, enumeration, say_fault

Change = Callable[[str, Any], None]


def way(label: str, key: str, *, icon: str = ":material/arrow_forward:", **changes: object) -> None:
    """A button that leads to other settings; the whole page follows."""
    st.button(label, icon=icon, key=key, on_click=take, args=(changes,))


def take(changes: Mapping[str, object], change: Change = link.change) -> None:
    """Set all of these, each by `change`."""
    for name, value in changes.items():
        change(name, value)
    link.redraw_everything()


def click_sets(*names: str) -> Callable[[list[Any]], None]:
    """Make of a mark's customdata, a number for each of these fields, their values."""

    def set_them(customdata: list[Any]) -> None:
        take({name: int(number) for name, number in zip(names, customdata, strict=False)})

    return set_them


def mend_text(mend: Mapping[str, Any]) -> str:
    return enumeration(f"{name} = {value}" for name, value in mend.items())


def use_mend(
    fault: Fault, key: str, *, change: Change = link.change, type: Any = "primary"
) -> None:
    """A button that sets what mends a fault, where that is known."""
    if fault.mend:
        label = _("Use {mend}").format(mend=mend_text(fault.mend))
        st.button(label, key=key, on_click=take, args=(dict(fault.mend), change), type=type)


def refused(fault: Fault, key: str, *, change: Change = link.change) -> None:
    """What cannot be, and the way to the nearest that can."""
    st.error(say_fault(fault), icon=":material/block:")
    use_mend(fault, key, change=change)
