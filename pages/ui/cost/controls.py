"""What the reader sets on the page of costs."""

import streamlit as st

from blocks import ModelConfig
from blocks.cost.fit import OptimizerStates, Setup
from blocks.cost.hardware import HARDWARE
from blocks.cost.passes import pass_kinds
from pages.ui import link
from pages.ui.controls import choose, pick, slide, slider, switch
from pages.ui.cost import amounts, names
from pages.ui.cost.chosen import Plan, pass_kind
from pages.ui.cost.fields import TRAINED_FORMATS, USES, WEIGHT_FORMATS
from pages.ui.language import _, current_language

LENGTHS = tuple(2**i for i in range(4, 18))
BATCHES = tuple(2**i for i in range(11))
TOKENS = tuple(tenths * 10**power for power in range(5, 13) for tenths in (10, 15, 20, 30, 50, 70))
DEVICES = tuple(2**i for i in range(16))


def shape_controls() -> None:
    """How long a text is, and how many go through at once: the same for the whole page."""
    left, right = st.columns(2)
    with left:
        slide("context_len", _("n · tokens per text"), LENGTHS, link.value("context_len"))
    with right:
        slide("n_texts", _("batch · texts at once"), BATCHES, link.value("n_texts"))


def pass_choice(config: ModelConfig) -> None:
    """What goes through the model."""
    kinds = [str(kind) for kind in pass_kinds(config)]
    st.segmented_control(
        _("Kind of computation"),
        kinds,
        format_func=names.pass_kind,
        required=True,
        wrap=True,
        **link.view("counted_pass", str(pass_kind(config)), (tuple(kinds), current_language())),
    )


def memory_controls(setup: Setup, *, is_training: bool) -> None:
    """To train or to use; in which numbers; with what is kept, and what is computed again."""
    left, right = st.columns(2)
    with left:
        choose("memory_use", _("Memory for"), USES, label_of=names.use)
        formats = TRAINED_FORMATS if is_training else WEIGHT_FORMATS
        shown = str(setup.weight_format)
        pick("weight_format", _("Number format of the weights"), formats, label_of=str, shown=shown)
    with right:
        if is_training:
            choose("optimizer_states", _("Optimizer"), OptimizerStates, label_of=names.optimizer)
        with st.container(horizontal=True):
            switch("fused_attention", _("Fused attention"))
            if is_training:
                switch(
                    "checkpointing",
                    _("Activation checkpointing"),
                    help=_(
                        "Keep only the input of each layer and recompute the rest in "
                        "the backward pass."
                    ),
                )
                if setup.itemsize < 4:
                    switch("master_weights", _("float32 master weights"))


def fit_controls(n_devices: int) -> None:
    """Among how many devices it is shared, and how much of each one's memory may be taken."""
    left, right = st.columns(2)
    with left:
        _devices_at_once("fits", n_devices)
    with right:
        label = _("Share of the memory that may be used")
        slider("usable_memory", label, link.value("usable_memory"), step=0.05)


def _devices_at_once(place: str, shown: int) -> None:
    """The same number for what fits and for how long it takes."""
    where = {"place": f"_{place}", "label_of": amounts.whole}
    slide("n_training_devices", _("Number of devices"), DEVICES, shown, **where)


def plan_controls(plan: Plan, optimal: int) -> None:
    """Tokens to learn from; on which devices, on how many, and how well they are used."""
    left, right = st.columns(2)
    with left:
        _tokens(plan.n_tokens, optimal)
        label = _("Utilization · share of the peak that is reached")
        slider("utilisation", label, plan.utilisation, step=0.01)
    with right:
        pick("training_device", _("Device"), HARDWARE, label_of=lambda name: HARDWARE[name].title)
        _devices_at_once("training", plan.n_devices)


def _tokens(shown: int, optimal: int) -> None:
    if shown not in (*TOKENS, optimal):  # stays a choice: with others it would be another widget
        st.session_state["tokens_of_a_link"] = shown
    own = st.session_state.get("tokens_of_a_link", optimal)
    label = _("D · training tokens (20 per parameter: {n})")
    said = label.format(n=amounts.tokens(optimal))
    slide("n_training_tokens", said, (*TOKENS, optimal, own), shown, label_of=amounts.tokens)
