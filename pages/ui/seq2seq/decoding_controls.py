"""How the target is written, how far, and what the reader puts into it."""

from dataclasses import replace

import streamlit as st

from blocks.text.beam import Fate
from pages.ui import link
from pages.ui.controls import slider
from pages.ui.language import _
from pages.ui.seq2seq import decoding
from pages.ui.seq2seq.decoding import Search, Standing
from pages.ui.seq2seq.fields import written_ids


def search_controls(search: Search) -> None:
    """Greedy or a beam, and when it ends."""
    label = _("beam_width · hypotheses kept (1: greedy)")
    slider("beam_width", label, search.how.beam_width)
    label = _("max_new_tokens · longest target")
    slider("max_new_tokens", label, search.how.max_new_tokens, most=64)
    if search.how.beam_width > 1:
        label = _("length_penalty · above 0 favors longer targets")
        slider("length_penalty", label, search.how.length_penalty, step=0.1)


def step_controls(here: Standing) -> None:
    """Back, on, to both ends; and what was forced can be taken back."""
    n = here.n
    with st.container(horizontal=True, vertical_alignment="bottom", key="decoding_steps"):
        _go("target_start", _("To the start"), ":material/first_page:", 0, here.step > 0)
        _go("target_back", _("Back"), ":material/undo:", here.step - 1, here.step > 0)
        _go("target_on", _("One step"), ":material/skip_next:", here.step + 1, here.step < n)
        _go("target_end", _("To the end"), ":material/last_page:", None, here.step < n)
        st.button(
            _("Let the model choose again"),
            icon=":material/restart_alt:",
            key="unforce",
            disabled=not here.search.forced,
            on_click=link.change,
            args=("forced_ids", ""),
        )
    if n > 1:
        slider("target_step", _("Tokens generated"), here.step, most=n)


def _go(key: str, label: str, icon: str, step: int | None, is_possible: bool) -> None:
    st.button(
        label,
        icon=icon,
        key=key,
        type="primary" if key == "target_on" else "secondary",
        disabled=not is_possible,
        on_click=link.change,
        args=("target_step", step),
    )


def go_on_from(here: Standing) -> None:
    """Where a hypothesis was opened that is not on the path to the result: make it one."""
    if here.place is None or here.place in decoding.path(decoding.result(here)):
        return
    st.button(
        _("Continue from the outlined one"),
        icon=":material/play_arrow:",
        key="go_on_from",
        on_click=_force_all,
        args=(decoding.token_ids(here),),
    )


def _force_all(written: tuple[int, ...]) -> None:
    link.change("forced_ids", written_ids(written))
    link.change("target_step", None)


def open_hypothesis(here: Standing, customdata: list) -> None:
    """A mark in the tree was clicked: the page shows what stands there.

    What was not taken is written there, and the search goes on from it.
    """
    place = int(customdata[0])
    row = decoding.nodes(here).loc[place]
    there = replace(here, step=int(row["step"]), place=place)
    if row["fate"] == Fate.DROPPED:
        _force_all(decoding.token_ids(there))
        link.change("target_step", there.step)
    else:
        link.change("beam_node", place)
        link.change("target_token", None)


def force(here: Standing, customdata: list) -> None:
    """A candidate was clicked: it is written after what stands, and the search goes on."""
    written = tuple(each for each in decoding.token_ids(here) if each != here.search.how.stop_id)
    link.change("forced_ids", written_ids((*written, int(customdata[0]))))
    link.change("target_step", len(written) + 1)
