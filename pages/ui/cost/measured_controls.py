"""What is measured: the phase, and the buttons that start it."""

import streamlit as st

from blocks.cost.operations import Phase, Tokens, phases
from blocks.observe.run import Run
from pages.ui import link
from pages.ui.controls import choose
from pages.ui.cost import measured_words
from pages.ui.cost.device_speed import Place
from pages.ui.cost.measured import Case
from pages.ui.language import _


def phase_control(run: Run) -> None:
    """Prefill and decode apart; an encoder reads and never writes."""
    names = [str(each) for each in phases(run.config)]
    if len(names) > 1:
        choose("phase", _("What the model does"), names, label_of=measured_words.phase)
    else:
        st.caption(
            _("An encoder reads all tokens at once and generates none: there is no decode phase.")
        )


def case(run: Run) -> Case:
    """The case that the reader has set."""
    chosen = Phase(link.value("phase"))
    known = chosen if chosen in phases(run.config) else Phase.PREFILL
    tokens = Tokens(known, link.value("context_len"), link.value("n_texts"))
    return Case(run.config, tokens, place(run, "measure_device"), run.seed)


def place(run: Run, name: str) -> Place:
    """Where, and for the how-many-th time."""
    return Place(run.device, run.dtype, link.value(name))


def measure_button(name: str, first: str, *, again: str) -> bool:
    """The button that measures, or measures anew; whether it was ever pressed."""
    attempt = link.value(name)
    st.button(
        again if attempt else first,
        icon=":material/timer:",
        key=f"{name}_button",
        type="secondary" if attempt else "primary",
        on_click=link.change,
        args=(name, attempt + 1),
    )
    return attempt > 0
