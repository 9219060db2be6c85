"""Phones, which have room for one thing at a time."""

import streamlit as st

from pages.session.slot import Slot

NARROW = Slot("narrow_and_touched", False)  # as the browser measured it


def is_phone() -> bool:
    """Whether the browser says that it is one, or that it is as narrow and touched as one.

    The name that it sends comes first; what it measured, with the first page that it has drawn.
    """
    named = "mobi" in st.context.headers.get("User-Agent", "").lower()
    return named or NARROW.get()
