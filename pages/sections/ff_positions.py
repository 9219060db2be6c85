"""Each position alone: tokens shuffled, and one token changed, measured beside attention."""

import streamlit as st

from blocks.inspection import permuted
from blocks.observe.run import Run
from pages.figures import reach
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.feed_forward import measured, tables, words
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say


@section
def each_position_alone(run: Run, layer: int, token: int) -> None:
    """Shuffle the tokens; change one of them; see what moves."""
    code = (permuted.shuffle_difference, permuted.reach_of)
    place = explained(("feed_forward", "attention"), code, key="positions")
    if run.input.shape[1] == 1:
        place.info(
            _("A single token has no other order: type a longer text."), icon=":material/lightbulb:"
        )
        return
    with place:
        say(words.shuffle_sentence, run, layer)
    left, right = columns(2)
    with left:
        show(draw_reach, run, layer, token, key="reach", alt=words.reach_alt)
    with right:
        tables.shuffled(run, layer)
        st.markdown(words.reach_sentence(run, layer, token))
    note(
        _(
            "Each part was rerun on its own inputs of this run, in evaluation mode and with "
            "the mask in place."
        )
    )


def draw_reach(run: Run, layer: int, token: int):
    """Which outputs move."""
    changed = measured.changed_token(run, token)
    moved = measured.moved(run, layer, changed)
    return reach.reach(moved, run.input.labels, changed=changed, pinned=token, _=_)
