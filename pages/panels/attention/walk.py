"""From step to step, and from cell to cell: by name, by key, under a thumb."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from blocks.inspection.head_facts import WITH_FEATURES, HeadFacts, steps_taken
from pages.figures.counting import from_one, told_apart
from pages.panels.attention import arithmetic
from pages.panels.attention.matrices import STEP_TITLES, number_of
from pages.show.controls import slider
from pages.stage import link, present, progress
from pages.stage.phone import is_phone
from pages.stage.press import press
from pages.words.language import _, current_language, literal

AS_CHIPS: dict[str, Any] = {"required": True, "wrap": True}


def step_choice(facts: HeadFacts) -> None:
    """Back and on, by button or key, and every step by name."""
    steps = steps_taken(facts.run.config)
    with st.container(horizontal=True, vertical_alignment="center", key="steps"):
        if not progress.now():  # whose own way on stands beside it
            step_keys(facts)
        is_list = is_phone()
        one_of: Callable[..., Any] = st.selectbox if is_list else partial(st.pills, **AS_CHIPS)
        one_of(
            _("Step"),
            steps,
            format_func=lambda name: f"{number_of(name, steps)} · {_(STEP_TITLES[name])}",
            label_visibility="collapsed",
            **link.view("attention_step", facts.step, (steps, is_list, current_language())),
        )


def step_keys(facts: HeadFacts) -> None:
    """Back and on, by button or key; by remote control, from the last step to the next panel."""
    is_led = present.is_on()
    back, on = (present.BACK, present.ON) if is_led else ("B", "N")
    go = partial(_step_button, facts, is_led)
    go(-1, _("Back"), "step_back", shortcut=back, type="secondary")
    go(1, _("Continue"), "step_on", shortcut=on, type="primary")


def _step_button(
    facts: HeadFacts, is_led: bool, by: int, label: str, key: str, **look: Any
) -> None:
    steps = steps_taken(facts.run.config)
    to = steps.index(facts.step) + by
    if 0 <= to < len(steps):
        press(label, key, link.change, "attention_step", steps[to], **look)
    else:
        press(label, key, present.go, by, disabled=not (is_led and present.leads(by)), **look)


def cell_choice(facts: HeadFacts) -> None:
    """The key, and in the last steps the feature, that are written out."""
    labels = told_apart(facts.labels)
    left, right = st.columns([2, 3])
    with left, st.container(key="key"):
        st.selectbox(
            _("Key · the cell written out below"),
            range(len(labels)),
            format_func=lambda i: f"{from_one(i)} · {labels[i]}",
            **link.view("key", facts.key, labels),
        )
    last = facts.last_column(facts.step)
    if facts.step in WITH_FEATURES and last > 0:
        with right:
            label = _("Feature · the column written out below")
            slider("feature", label, facts.column(facts.step), most=last)


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
