"""What doubles, and what it starts from."""

import streamlit as st

from blocks.cost.operations import Phase, Tokens
from blocks.cost.sweep import Swept
from blocks.model.devices import available_dtypes
from blocks.observe.run import Run
from pages.ui import link
from pages.ui.controls import choose, slide
from pages.ui.cost import measured_controls, sweep_words, sweeps
from pages.ui.cost.measured_fields import DIRECTIONS, SWEEP_LENGTHS, SWEPT
from pages.ui.cost.sweeps import Sweep
from pages.ui.language import _


def sweep_controls(run: Run) -> None:
    """What doubles, in which direction, and how long a text is where that stays."""
    left, middle, right = st.columns(3)
    with left:
        choose("swept", _("What to double"), SWEPT, label_of=sweep_words.swept)
    with middle:
        choose("sweep_direction", _("Kind of pass"), DIRECTIONS, label_of=sweep_words.direction)
    with right:
        if link.value("swept") != Swept.TOKENS:
            slide("sweep_len", _("n · tokens"), SWEEP_LENGTHS, link.value("sweep_len"))


def chosen_sweep(run: Run) -> Sweep:
    """The line that the reader has set."""
    return Sweep(
        config=run.config,
        tokens=Tokens(Phase.PREFILL, link.value("sweep_len")),
        what=Swept(link.value("swept")),
        is_backward=link.value("sweep_direction") != DIRECTIONS[0],
        place=measured_controls.place(run, "measure_sweep"),
        seed=run.seed,
    )


def dtype_sweeps(run: Run) -> tuple[Sweep, ...]:
    """A line for each number format that the device has."""
    place = measured_controls.place(run, "measure_dtypes")
    here = available_dtypes(run.device)
    return tuple(
        Sweep(
            config=run.config,
            tokens=Tokens(Phase.PREFILL, link.value("sweep_len")),
            what=Swept.TOKENS,
            is_backward=False,
            place=place._replace(dtype=dtype),
            seed=run.seed,
        )
        for dtype in sweeps.DTYPES
        if dtype in here
    )
