"""What the reader chooses on the page of positions."""

import streamlit as st

from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.ui import link, terms
from pages.ui.controls import slide, slider
from pages.ui.language import _, say_fault
from pages.ui.positions import chosen, measured
from pages.ui.positions.fields import LENGTHS, TRAINED_LENGTHS

KINDS = tuple(PositionKind)
MOST_SHIFT = 64
TRAINED = "stories-en-zh"


def kind_choice(run: Run) -> None:
    """Which way to tell positions is looked at, and the way to run the model with it."""
    with st.container(key="shown_position"):
        st.segmented_control(
            _("Look at"),
            [str(kind) for kind in KINDS],
            format_func=lambda name: _marked(name, run),
            required=True,
            wrap=True,
            **link.view("shown_position", str(chosen.kind(run)), run.config.position.position_kind),
        )


def _marked(name: str, run: Run) -> str:
    """The model's own kind is marked."""
    label = terms.option(name)
    is_own = name == run.config.position.position_kind
    return _("{kind} · this model").format(kind=label) if is_own else label


def length_choice() -> None:
    """How many positions are shown."""
    slide("n_positions", _("Positions shown"), LENGTHS, link.value("n_positions"))


def pair_choice(run: Run) -> None:
    """The same choice as a click on a column, by keyboard."""
    most = chosen.n_pairs(run) - 1
    if most > 0:
        is_alibi = chosen.kind(run) is PositionKind.ALIBI
        label = _("Head") if is_alibi else _("Pair of features")
        slider("position_pair", label, chosen.pair(run), most=most)


def shift_choice(run: Run) -> None:
    """By how many positions PE is moved on."""
    most = min(MOST_SHIFT, chosen.n_positions(run) - 1)
    if most > 1:
        label = _("k · positions to shift by")
        slider("position_shift", label, chosen.shift(run), most=most)


def trained_length_choice(run: Run) -> None:
    """The length that counts as trained."""
    label = _("L · trained length, in tokens")
    slide("trained_len", label, TRAINED_LENGTHS, chosen.trained_len(run))


def run_with_it(run: Run) -> None:
    """Where another kind than the model's is looked at: say so, with a way to run it."""
    kind = chosen.kind(run)
    if chosen.is_own(run):
        return
    own = terms.option(run.config.position.position_kind)
    text = _("This model uses {own}; below is what {kind} would be in its place.")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(text.format(own=own, kind=terms.option(kind)), width="content")
        if measured.fault_of(run, kind) is None:
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


def open_trained_model() -> None:
    """The way from random weights to a model whose loss means something."""
    st.button(
        _("Open the trained story model"),
        icon=":material/model_training:",
        on_click=_open_trained,
        key="open_trained",
    )


def _open_trained() -> None:
    link.change("preset", TRAINED)
    link.redraw_everything()


def refusal(run: Run) -> bool:
    """Where the kind does not fit this model: the sentence and the mend. Whether it was so."""
    fault = measured.fault_of(run, chosen.kind(run))
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


def pin_and_choose(customdata: list) -> None:
    """A cell of the table was clicked: its position is pinned, its pair chosen."""
    link.change("token", int(customdata[0]))
    column = int(customdata[1])
    is_added = PositionKind(link.value("shown_position") or _own()).is_added
    link.change("position_pair", column // 2 if is_added else column)
    link.redraw_everything()


def _own() -> str:
    return str(link.config().position.position_kind)


def choose_pair(customdata: list) -> None:
    """A mark of the wavelengths was clicked."""
    link.change("position_pair", int(customdata[0]))


def choose_kind(customdata: list) -> None:
    """A cell of the claims was clicked."""
    link.change("shown_position", str(KINDS[int(customdata[0])]))
    link.redraw_everything()
