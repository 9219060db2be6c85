"""Tokens as chips in running text: they wrap on any width."""

import re
from collections.abc import Iterable
from typing import NamedTuple

import streamlit as st

from pages.ui.language import _

PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
FIRST_STRONG, POP = "\u2068", "\u2069"  # right-to-left text stays within its chip


class Chip(NamedTuple):
    """A token, what stands small beside it, and the role that gives its colour."""

    label: str
    note: str
    role: str = "read"


COLORS = {"read": "gray", "written": "violet", "pinned": "orange"}


def as_markdown(chips: Iterable[Chip]) -> str:
    """One line of chips."""
    return " ".join(_chip(chip) for chip in chips)


def legend(roles: Iterable[str]) -> str:
    """What the colours mean."""
    names = {"read": _("read"), "written": _("written by the model"), "pinned": _("chosen")}
    return " ".join(f":{COLORS[role]}-badge[{names[role]}]" for role in roles)


def show(chips: Iterable[Chip], *, key: str) -> None:
    """Draw them."""
    with st.container(key=key):
        st.markdown(as_markdown(chips))


def _chip(chip: Chip) -> str:
    note = f" :small[{literally(chip.note)}]" if chip.note else ""
    return f":{COLORS[chip.role]}-badge[{literally(chip.label)}{note}]"


def literally(text: str) -> str:
    """Text as text within markdown that has directives around it."""
    escaped = PUNCTUATION.sub(r"\\\1", text)
    return f"{FIRST_STRONG}{escaped}{POP}"
