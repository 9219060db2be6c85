"""A button that does something before the page is drawn anew."""

from collections.abc import Callable
from typing import Any

import streamlit as st


def press(
    label: str, key: str, do: Callable[..., Any], *args: Any, icon: str = "", **look: Any
) -> None:
    """Call `do(*args)` when it is pressed; `icon` is the name of a Material symbol."""
    shown = f":material/{icon}:" if icon else None
    st.button(label, key=key, on_click=do, args=args, icon=shown, **look)
