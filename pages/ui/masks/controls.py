"""What the reader chooses on the page of masks, and the ways to a setting in which it matters."""

import math

import streamlit as st

from blocks.inspection.leaks import AttentionPath
from blocks.inspection.mask_faults import MaskFault
from blocks.model.kinds import Architecture
from blocks.model.masks import MaskKind
from blocks.observe.run import PaddingSide, Run
from pages.ui import link, terms
from pages.ui.controls import choose, slide, slider
from pages.ui.language import _
from pages.ui.masks import measured, words
from pages.ui.masks.fields import MOST_SCALE
from pages.ui.masks.measured import Leaks

SCALES = (1, 10, 100, 1_000, 10_000, 100_000)
A_BIT_MORE = 1.2


def choose_kind(customdata: list) -> None:
    """A small mask was clicked."""
    link.change("mask_kind", str(list(MaskKind)[int(customdata[0])]))
    link.redraw_everything()


def fault_controls(run: Run) -> None:
    """Which fault is planted, how attention is computed, and how much is tested."""
    choose("planted_fault", _("Plant a fault"), MaskFault, label_of=words.fault)
    if link.value("planted_fault") == MaskFault.ADDITIVE:
        slide("score_scale", _("Multiply QKᵀ by"), SCALES, link.value("score_scale"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if link.value("planted_fault") == MaskFault.NONE and measured.runs_fused(run):
            choose("attention_path", _("Attention implementation"), AttentionPath)
        st.button(
            _("Other replacements"),
            icon=":material/casino:",
            on_click=link.change,
            args=("leak_seed", link.value("leak_seed") + 1),
            key="other_replacements",
        )
    n = len(run.input.labels)
    if n > link.value("n_changed") or n > 24:
        shown = min(link.value("n_changed"), n)
        slider("n_changed", _("Tokens to change, evenly spaced"), shown, most=n)


def score_scale() -> int:
    """Only where −10,000 is planted do larger scores matter."""
    is_asked = link.value("planted_fault") == MaskFault.ADDITIVE
    return link.value("score_scale") if is_asked else 1


def where_it_matters(run: Run, fault: MaskFault) -> None:
    """Buttons to a setting in which a planted fault leaks."""
    with st.container(horizontal=True):
        if fault is MaskFault.ADDITIVE:
            _larger_scores(run)
        if fault in (MaskFault.ADDITIVE, MaskFault.PADDING_ATTENDED):
            _button("use_padding", _("Pad on the left"), **_left_padding(run))
        else:
            causal_button()


def causal_button() -> None:
    """A way to a mask that forbids something."""
    _button("use_causal", _("Use the causal mask"), mask_kind=str(MaskKind.CAUSAL))


def _larger_scores(run: Run) -> None:
    scale = math.ceil(measured.lead(run).scale * A_BIT_MORE)
    if 1 < scale <= MOST_SCALE:
        label = _("Make scores {scale:,} times as large").format(scale=scale)
        _button("use_scale", label, score_scale=scale)


def _left_padding(run: Run) -> dict:
    """Padding before the text, which causal queries would read; an encoder reads both ways."""
    is_encoder = run.config.architecture is Architecture.ENCODER
    kind = MaskKind.PADDING if is_encoder else MaskKind.CAUSAL_PADDING
    return {"mask_kind": str(kind), "padding_side": str(PaddingSide.LEFT), "n_padding": 3}


def _button(key: str, label: str, **settings: object) -> None:
    st.button(label, on_click=_set, args=(settings,), key=key, icon=":material/tune:")


def _set(settings: dict) -> None:
    for name, value in settings.items():
        link.change(name, value)
    link.redraw_everything()


def padding_button(run: Run) -> None:
    """A way to see what padding masks do, where there is no padding token."""
    if not run.input.n_padding:
        _button("use_some_padding", _("Add 3 padding tokens"), n_padding=3)


def cross_controls() -> None:
    """The other sequence."""
    left, right = st.columns(2)
    with left:
        slider("cross_len", _("Tokens of the other sequence"), shown("cross_len"))
    with right:
        slider("cross_padding", _("Its padding tokens"), shown("cross_padding"))


def shown(name: str) -> int:
    """The value of a field."""
    return link.value(name)


def kind_labels() -> list[str]:
    """What the masks are called, in the order of their tiles."""
    return [terms.option(kind) for kind in MaskKind]


def found_so_far(run: Run) -> Leaks | None:
    """What the test on screen has found, if anything: the page does not work for it again."""
    fault = link.value("planted_fault")
    plan = planned(run, fault)
    known, n_done = st.session_state.get(f"{steps_key(fault)}_done", (None, 0))
    return measured.as_far_as(plan, n_done) if known == plan and n_done else None


def planned(run: Run, fault: str) -> Leaks:
    """The whole test that the reader has set."""
    settings = link.value("attention_path"), fault, score_scale(), link.value("leak_seed")
    tokens = measured.tokens_to_change(run, link.value("n_changed"))
    return measured.planned(measured.leak_test(run, *settings), tokens)


def steps_key(fault: str) -> str:
    """Under which name its steps are counted."""
    return "leak" if fault == MaskFault.NONE else "fault_leak"
