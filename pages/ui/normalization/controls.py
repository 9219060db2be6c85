"""Widgets of the page of normalization."""

import zlib

import streamlit as st

from blocks import Fault
from blocks.inspection.stack import DEPTHS, WIDTHS
from blocks.model.kinds import Initialization, NormKind
from blocks.model.placements import own_placement, possible_placements
from blocks.observe.run import Run
from pages.ui import link, terms
from pages.ui.controls import pick, slide, slider
from pages.ui.language import _, current_language, enumeration, say_fault
from pages.ui.normalization import measured
from pages.ui.normalization.fields import joined


def norm_input(run: Run, layer: int) -> str:
    """Which stage the norms are given: one that a norm of this layer reads; returned too."""
    options, shown = measured.norm_inputs(run, layer), shown_norm_input(run, layer)
    labels = {name: terms.stage(name, run.config, layer) for name in options}
    with st.container(key="norm_input"):
        st.pills(
            _("Inputs of the norms"),
            options,
            format_func=lambda name: labels.get(name, name),
            required=True,
            wrap=True,
            **link.view("norm_input", shown, (tuple(labels.items()), current_language())),
        )
    return shown


def shown_norm_input(run: Run, layer: int) -> str:
    """The stage that was asked for, where a norm of this layer reads it."""
    options, asked = measured.norm_inputs(run, layer), link.value("norm_input")
    return asked if asked in options else options[0]


def depth_controls(run: Run) -> None:
    """How deep, how wide, how many seeds, and which placements are drawn together."""
    left, middle, right, last = st.columns([4, 3, 3, 3])
    with left:
        slide("depth", _("Number of layers"), DEPTHS, link.value("depth"))
    with middle:
        widest = run.config.d_model
        widths = [*(width for width in WIDTHS if width < widest), widest]
        slide(
            "depth_width",
            _("Largest width, d_model"),
            widths,
            min(link.value("depth_width"), widest),
        )
    with right:
        label = _("Seeds · median and range")
        slider("n_depth_seeds", label, link.value("n_depth_seeds"))
    with last:
        pick("depth_initialization", _("Weight initialization"), Initialization)
    mine = own_placement(run.config)
    others = tuple(name for name in possible_placements(run.config) if name != mine)
    several("depth_placements", _("Also draw"), others)


def several(name: str, label: str, options: tuple[str, ...]) -> None:
    """Some of several words; the state holds them as one, with commas."""
    chosen = [word for word in link.value(name).split(",") if word in options]
    key = f"{name}__{zlib.crc32(repr((options, current_language())).encode()):x}"
    st.session_state[key] = chosen
    with st.container(key=name):
        st.pills(
            label,
            options,
            selection_mode="multi",
            format_func=terms.option,
            wrap=True,
            key=key,
            on_change=_several_chosen,
            args=(name, key, options),
        )


def _several_chosen(name: str, key: str, options: tuple[str, ...]) -> None:
    found = st.session_state[key]
    link.change(name, joined([word for word in options if word in found]))


def chosen_placements(run: Run) -> tuple[str, ...]:
    """The reader's own placement first, then those that are drawn beside it."""
    own, beside = own_placement(run.config), link.value("depth_placements").split(",")
    possible = possible_placements(run.config)
    return (own, *(name for name in possible if name in beside and name != own))


def experiments(run: Run) -> None:
    """What makes deep stacks fail, one click away; the curves of before stay as a ghost."""
    has_norm = run.config.norm.norm_kind is not NormKind.NONE
    residual = (
        (_("Residual connection off"), "residual", False)
        if run.config.norm.residual
        else (_("Residual connection on"), "residual", True)
    )
    norm = (
        (_("Leave the norm out"), "norm_kind", str(NormKind.NONE))
        if has_norm
        else (_("Add LayerNorm"), "norm_kind", str(NormKind.LAYER_NORM))
    )
    with st.container(horizontal=True, key="experiments"):
        for label, name, value in (residual, norm):
            st.button(label, on_click=_change, args=(name, value), key=f"try_{name}")


def _change(name: str, value: object) -> None:
    link.change(name, value)
    link.redraw_everything()


def refused(fault: Fault) -> None:
    """What cannot be measured here, and a button with the nearest that can."""
    st.error(say_fault(fault), icon=":material/block:")
    if fault.mend:
        mend = enumeration(f"{name} = {value}" for name, value in fault.mend.items())
        label = _("Use {mend}").format(mend=mend)
        st.button(label, on_click=_apply, args=(fault,), key="mend_depth", type="primary")


def _apply(fault: Fault) -> None:
    for name, value in fault.mend.items():
        link.change(name, value)


def curves_before(current: tuple[measured.Depth, ...]) -> tuple[measured.Depth, ...] | None:
    """The reader's own curves that this session showed before these."""
    newest, before = st.session_state.get("depths", (None, None))
    if current != newest:
        newest, before = current, newest
        st.session_state["depths"] = (newest, before)
    return before
