"""Which kind of positional encoding is looked at, over how many positions, and ways to run it."""

from functools import lru_cache
from typing import TYPE_CHECKING

import streamlit as st

from blocks import Fault
from blocks.inspection.other_positions import learned_table
from blocks.inspection.position_facts import kind_fault
from blocks.model.faults import N_
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.server import cached
from pages.show.ways import use_mend, way
from pages.stage import link
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, say_fault

if TYPE_CHECKING:
    from torch import Tensor

KINDS = tuple(PositionKind)
CLAIMS = N_("Do common claims hold?")


@lru_cache(maxsize=8)
def learned(run: Run) -> "Tensor":
    return learned_table(cached.model(run), run.config, run.seed).float().cpu()


def kind(run: Run, state: State) -> PositionKind:
    """The kind that is looked at: the reader's, or else the model's own."""
    return PositionKind(state.shown_position or run.config.position.position_kind)


def fault(run: Run, state: State) -> Fault | None:
    return kind_fault(run.config, kind(run, state))


def order(kind: PositionKind) -> tuple[PositionKind, ...]:
    """All kinds in the order in which they are measured: the one looked at, then none, and all."""
    return tuple(dict.fromkeys((kind, PositionKind.NONE, *PositionKind)))


def n_rows(run: Run, kind: PositionKind, n: int) -> int:
    """How many positions there are to show: a learned table ends."""
    return min(n, run.config.max_seq_len) if kind is PositionKind.LEARNED else n


def n_positions(run: Run, state: State) -> int:
    """How many positions are shown; a learned table may end before."""
    return n_rows(run, kind(run, state), state.n_positions)


def says_how_far(n_kinds: int) -> str:
    """Before the last kind is measured, how many are; empty after it."""
    if n_kinds >= len(KINDS):
        return ""
    return _("Encodings measured so far: {done} of {all}.").format(done=n_kinds, all=len(KINDS))


def kind_choice(run: Run, state: State) -> None:
    """Which way to tell positions is looked at; the model's own is marked."""
    own = run.config.position.position_kind

    def marked(name: str) -> str:
        label = terms.option(name)
        return _("{kind} · this model").format(kind=label) if name == own else label

    with st.container(key="shown_position"):
        st.segmented_control(
            _("Encoding shown"),
            [str(kind) for kind in KINDS],
            format_func=marked,
            required=True,
            wrap=True,
            **link.view("shown_position", str(kind(run, state)), own),
        )


def run_with_it(run: Run, state: State) -> None:
    """Where another kind than the model's is looked at: say so, with a way to run it."""
    shown, own = kind(run, state), run.config.position.position_kind
    if shown is own:
        return
    text = _("Positional encoding of this model: {own}. Shown below instead: {kind}.")
    said = text.format(own=terms.option(own), kind=terms.option(shown))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(said, width="content")
        if kind_fault(run.config, shown) is None:
            label = _("Run the model with “{kind}”").format(kind=terms.option(shown))
            to = {"position_kind": str(shown), "shown_position": None}
            way(label, "use_position", icon=":material/play_arrow:", **to)


def misfit(run: Run, state: State) -> str | None:
    """Why the kind does not fit this model; None where it does."""
    found = fault(run, state)
    return say_fault(found) if found else None


def mend(run: Run, state: State) -> None:
    if found := fault(run, state):
        use_mend(found, "mend_position", type="secondary")
