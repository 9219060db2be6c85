"""What goes into the model: its text, who may see whom, and the token that is pinned."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels import inputs_picture
from pages.server import cached
from pages.show import mixers, words
from pages.show.chart import show
from pages.show.fold import fold
from pages.show.inputs import (
    hide_control,
    input_controls,
    mask_controls,
    text_field,
    token_choice,
    vector_controls,
)
from pages.stage import present, progress
from pages.words.language import _

CELLS = 128


def draw_mask(run: Run) -> Picture:
    """Who may see whom; of a long text every so many-th token."""
    codes = cached.mask_codes(run)
    step = -(-len(codes) // CELLS)
    return inputs_picture.mask_picture(codes[::step, ::step], _=_)


def what_goes_in(run: Run, input_of: Callable[[Run], None] | None = None) -> None:
    """Input, mask and pinned token on one line that opens to change them.

    A whole model reads text unless the page says otherwise. Where a lesson asks for a sentence of
    the learner's own, its box stands open, and nothing that counts tokens beside it.
    """
    if (lesson := progress.now()) and lesson.step.own_text:
        with present.aside():
            text_field(run)
    elif (opened := input_fold(run)).open:
        with opened:
            _change_it(run, input_of)


def input_fold(run: Run, pinned: int | None = None) -> Any:
    """One line that says what goes in; what is in it is drawn where it is open.

    In a lesson it is the text alone: of mask and pinned token nobody has told yet.
    """
    line = words.what_is_read(run) if progress.now() else words.input_line(run, pinned)
    with present.aside():
        return fold(line, key="input", icon=":material/edit:")


def _change_it(run: Run, input_of: Callable[[Run], None] | None) -> None:
    reads_tokens = run.config.architecture.reads_tokens
    controls = input_of or (input_controls if reads_tokens else vector_controls)
    left, middle, right = st.columns([5, 4, 2])
    with left:
        controls(run)
    with middle:
        mask_controls()
        if said := mixers.says_mask(run.config):
            st.caption(said)
        token_choice(run)
        hide_control(run)
    with right:
        show(draw_mask, run, key="mask", alt=words.mask_alt)
