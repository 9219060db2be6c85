"""Widgets of the page of attention."""

import streamlit as st

from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.ui import link
from pages.ui.attention import frames
from pages.ui.attention.fields import COUNTED, SORTS
from pages.ui.attention.pattern_words import sharpest_for, sharpest_label
from pages.ui.controls import slider, switch
from pages.ui.language import _, current_language
from pages.ui.views import head_choice, layer_choice

SORT_LABELS = {
    "layer": N_("layer"),
    "entropy_bits": N_("entropy (bits)"),
    "distance_tokens": N_("distance (tokens)"),
    "first_token": N_("first token"),
    "same_token": N_("itself"),
    "previous_token": N_("previous token"),
    "induction": N_("token after an earlier copy (induction)"),
}
COUNTED_LABELS = {"one_head": N_("this head"), "all_heads": N_("all heads of the layer")}


def which_head(run: Run, layer: int, head: int, query: int) -> None:
    """The layer and head that the whole page looks at, and a way to a telling one."""
    left, middle, right = st.columns([3, 3, 5], vertical_alignment="bottom")
    with left:
        layer_choice(run)
    with middle, st.container(gap="xxsmall"):
        if run.config.n_heads > 1:
            st.caption(_("Head"))
        head_choice(run, head)
    with right:
        there = sharpest_for(run, query)[:2]
        st.button(
            sharpest_label(run, query),
            icon=":material/my_location:",
            on_click=_go_to,
            args=there,
            key="sharpest",
            disabled=there == (layer, head),
            help=_("The head in which the pinned token puts the largest weight on another token."),
        )


def _go_to(layer: int, head: int) -> None:
    link.change("layer", layer)
    link.change("head", head)


def step_choice(run: Run, step: str) -> None:
    """Back and on, by button or key, and every step by name."""
    steps = frames.steps(run)
    with st.container(horizontal=True, vertical_alignment="center", key="steps"):
        step_keys(run, step)
        st.pills(
            _("Step"),
            steps,
            format_func=lambda name: f"{steps.index(name) + 1} · {_(frames.STEP_TITLES[name])}",
            required=True,
            wrap=True,
            label_visibility="collapsed",
            **link.view("attention_step", step, (steps, current_language())),
        )


def step_keys(run: Run, step: str) -> None:
    """Back and on, by button or key."""
    steps = frames.steps(run)
    i, last = steps.index(step), len(steps) - 1
    _step_button(_("Back"), "step_back", steps[max(0, i - 1)], i == 0, "B")
    _step_button(_("Continue"), "step_on", steps[min(i + 1, last)], i == last, "N")


def _step_button(label: str, key: str, to: str, is_end: bool, shortcut: str) -> None:
    st.button(
        label,
        key=key,
        on_click=link.change,
        args=("attention_step", to),
        disabled=is_end,
        shortcut=shortcut,
        type="primary" if key == "step_on" else "secondary",
    )


def open_step(customdata: list) -> None:
    """A frame of the strip was clicked."""
    link.change("attention_step", customdata[0])


def open_cell(customdata: list) -> None:
    """A cell was clicked: its query is pinned, its key or feature written out."""
    query, column, is_key = (int(number) for number in customdata[:3])
    if query != link.value("token"):
        link.change("token", query)
        link.redraw_everything()
    link.change("key" if is_key else "feature", column)


def cell_choice(run: Run, key: int, step: str, feature: int) -> None:
    """The key, and in the last steps the feature, that are written out."""
    labels = run.input.labels
    left, right = st.columns([2, 3])
    with left, st.container(key="key"):
        st.selectbox(
            _("Key · the cell written out below"),
            range(len(labels)),
            format_func=lambda i: f"{i + 1} · {labels[i]}",
            **link.view("key", key, labels),
        )
    width = {"mix": run.config.d_head, "write": run.config.d_model}.get(step, 1)
    if width > 1:
        with right:
            label = _("Feature · the column written out below")
            slider("feature", label, feature, most=width - 1)


def scaling_switch() -> None:
    """Whether scores are divided by √d_head in what is drawn here."""
    switch(
        "is_scaled",
        _("Divide the scores by √d_head"),
        help=_(
            "Off: the same queries and keys, scores not divided. The run itself is not changed."
        ),
    )


def counted_choice() -> None:
    """One head, or all of the layer together."""
    st.segmented_control(
        _("Heads counted"),
        COUNTED,
        format_func=lambda name: _(COUNTED_LABELS[name]),
        required=True,
        **link.view("counted", link.value("counted"), current_language()),
    )


def counted_head(head: int) -> int | None:
    """The head whose contributions are shown; None: all together."""
    return head if link.value("counted") == "one_head" else None


def edges_choice(run: Run) -> int:
    """How many lines leave each token."""
    most = min(16, len(run.input.labels))
    n_edges = min(link.value("edges"), most)
    if most > 1:
        slider("edges", _("Lines from each token"), n_edges, most=most)
    return n_edges


def sort_choice() -> None:
    """The measure by which the heads are ordered."""
    with st.container(key="sort_heads_by"):
        st.selectbox(
            _("Sort heads by"),
            SORTS,
            format_func=lambda name: _(SORT_LABELS[name]),
            **link.view("sort_heads_by", link.value("sort_heads_by"), current_language()),
        )


def open_head(customdata: list) -> None:
    """A head was clicked, in the table or among the sinks: [layer, head]."""
    _go_to(int(customdata[0]), int(customdata[1]))
    link.redraw_everything()


def open_tile(customdata: list) -> None:
    """A tile of the overview was clicked: heads are counted through all layers."""
    _go_to(*divmod(int(customdata[0]), link.config().n_heads))
    link.redraw_everything()
