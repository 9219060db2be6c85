"""From one cell of a step to its neighbours, under a thumb, with what stands in it."""

import streamlit as st

from blocks.inspection.head_facts import WITH_FEATURES, HeadFacts
from pages.figures.counting import told_apart
from pages.panels.attention import arithmetic
from pages.stage import link
from pages.stage.press import press
from pages.words.language import _, literal


def walked(facts: HeadFacts) -> None:
    """The chosen cell, what this step gives there, and a button towards each side."""
    column, last = _across(facts)
    name = "feature" if facts.step in WITH_FEATURES else "key"
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", border=True, key="walk"
    ):
        st.markdown(says_cell(facts))
        _way("arrow_upward", "up", _("Query above"), "token", facts.query - 1, len(facts.labels))
        _way(
            "arrow_downward", "down", _("Query below"), "token", facts.query + 1, len(facts.labels)
        )
        if facts.step != "qkv":
            _way("arrow_back", "left", _("Cell to the left"), name, column - 1, last + 1)
            _way("arrow_forward", "right", _("Cell to the right"), name, column + 1, last + 1)


def says_cell(facts: HeadFacts) -> str:
    """Which row and column the cell is in, and its value after this step."""
    labels = told_apart(facts.labels)
    query, result = literal(labels[facts.query]), arithmetic.result(facts)
    if facts.step == "qkv":
        return query
    if facts.step in WITH_FEATURES:
        return f"{query} [{_across(facts)[0]}] = **{result}**"
    return f"{query} → {literal(labels[facts.key])} = **{result}**"


def _across(facts: HeadFacts) -> tuple[int, int]:
    """Which column is chosen, and which is the last."""
    if facts.step in WITH_FEATURES:
        return facts.column(facts.step), facts.last_column(facts.step)
    return facts.key, len(facts.labels) - 1


def _way(icon: str, key: str, label: str, field: str, to: int, n: int) -> None:
    press("", f"walk_{key}", _go, field, to, icon=icon, help=label, disabled=not 0 <= to < n)


def _go(field: str, to: int) -> None:
    link.change(field, to)
    if field == "token":
        link.redraw_everything()
