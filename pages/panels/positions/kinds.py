"""Which kind of positional encoding is looked at, and the way to run the model with it."""

import streamlit as st

from blocks.inspection.position_facts import kind_fault
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.panels.positions import shared
from pages.ui import link, terms
from pages.ui.language import _, say_fault


def kind_choice(run: Run) -> None:
    """Which way to tell positions is looked at; the model's own is marked."""
    own = run.config.position.position_kind

    def marked(name: str) -> str:
        label = terms.option(name)
        return _("{kind} · this model").format(kind=label) if name == own else label

    with st.container(key="shown_position"):
        st.segmented_control(
            _("Look at"),
            [str(kind) for kind in shared.KINDS],
            format_func=marked,
            required=True,
            wrap=True,
            **link.view("shown_position", str(shared.kind(run)), own),
        )


def run_with_it(run: Run) -> None:
    """Where another kind than the model's is looked at: say so, with a way to run it."""
    kind, own = shared.kind(run), run.config.position.position_kind
    if kind is own:
        return
    text = _("This model uses {own}; below is what {kind} would be in its place.")
    said = text.format(own=terms.option(own), kind=terms.option(kind))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(said, width="content")
        if kind_fault(run.config, kind) is None:
            st.button(
                _("Run the model with {kind}").format(kind=terms.option(kind)),
                icon=":material/play_arrow:",
                on_click=_use,
                args=(kind,),
                key="use_position",
            )


def _use(kind: PositionKind) -> None:
    link.change("position_kind", str(kind))
    link.restore("shown_position")
    link.redraw_everything()


def refusal(run: Run) -> bool:
    """Where the kind does not fit this model: the sentence and the mend. Whether it was so."""
    fault = shared.fault(run)
    if fault is None:
        return False
    st.warning(say_fault(fault), icon=":material/block:")
    if "n_heads" in fault.mend:
        st.button(
            _("Use {mend}").format(mend=f"n_heads = {fault.mend['n_heads']}"),
            on_click=_mend,
            args=(fault.mend["n_heads"],),
            key="mend_position",
        )
    return True


def _mend(n_heads: int) -> None:
    link.change("n_heads", n_heads)
    link.redraw_everything()
