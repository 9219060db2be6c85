"""Phones, which have room for one thing at a time."""

import streamlit as st


def is_phone() -> bool:
    """Whether the browser says so: the server is not told how wide the window is."""
    return "mobi" in st.context.headers.get("User-Agent", "").lower()
