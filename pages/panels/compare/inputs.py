"""What both models read."""

from collections.abc import Sequence

import streamlit as st

from pages.panels.compare import shared
from pages.panels.compare.shared import Pair
from pages.panels.cost.shared import LENGTHS, format_name, formats
from pages.panels.inputs import input_fold
from pages.show.choices import chooses
from pages.show.controls import pick, slide
from pages.show.inputs import input_controls, mask_controls, vector_controls
from pages.stage import link
from pages.state.values import State
from pages.words.language import _


@chooses("text", "mask_kind", "token")
def what_both_read(pair: Pair, state: State) -> None:
    """The text, B's mask and the pinned token, on one line that opens to change them."""
    if (opened := input_fold(pair.b, shared.pinned(pair, state))).open:
        with opened:
            _read_controls(pair, state)
    if pair.a.mask != pair.b.mask:
        st.caption(_("This is the mask of B; A keeps its own."))


def _read_controls(pair: Pair, state: State) -> None:
    reads_tokens = any(run.config.architecture.reads_tokens for run in pair.both)
    left, right = st.columns([5, 4])
    with left:
        (input_controls if reads_tokens else vector_controls)(pair.b)
    with right:
        mask_controls()
        _token_choice(pair, state)


def counting_controls(weights: Sequence[str] = (), *, state: State) -> None:
    """How long a text is, and in what numbers: the same as on the page of costs."""
    left, right = st.columns([5, 4])
    with left:
        label = _("n · text length for FLOPs and memory")
        slide("context_len", label, LENGTHS)
    with right:
        label = _("Number format of the weights")
        wanted = dict.fromkeys((*formats(weights), state.weight_format))
        pick("weight_format", label, wanted, label_of=format_name)


def _token_choice(pair: Pair, state: State) -> None:
    """The token that is outlined in both."""
    labels = min((run.input.labels for run in pair.both), key=len)
    with st.container(key="token"):
        st.selectbox(
            _("Pinned token · the same in every picture"),
            range(len(labels)),
            format_func=lambda i: f"{i + 1} · {labels[i]}",
            **link.view("token", shared.pinned(pair, state), labels),
        )
