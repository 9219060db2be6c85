"""MHA, GQA and MQA side by side: what sharing saves, and what becomes of the maps."""

import streamlit as st

from blocks.attention import share_among_queries
from blocks.inspection.sharing import likeness
from blocks.run import Run
from pages.figures import heads
from pages.ui import labelled
from pages.ui.attention_kinds import measured, tables, words
from pages.ui.chart import show
from pages.ui.explain import heading
from pages.ui.frame import section
from pages.ui.language import _


@section
def who_shares(run: Run, layer: int) -> None:
    """The same width and as many query heads, with fewer and fewer keys and values."""
    code = (share_among_queries, likeness)
    heading(_("Sharing keys and values"), ("sharing", "kv_cache"), code, key="sharing")
    runs = measured.shared(run)
    if len(runs) == 1:
        st.caption(_("With one head there is nothing to share: set n_heads higher."))
        return
    st.info(words.sharing_sentence(runs, layer), icon=":material/lightbulb:")
    token = labelled.pinned_token(run)
    show(draw_shared, runs, layer, token, key="shared_maps", alt=words.sharing_alt)
    st.caption(words.random_note(run))
    tables.sharing(runs, layer)


def draw_shared(runs: tuple[Run, ...], layer: int, token: int):
    """The first heads of each, a row each."""
    return heads.overview(
        measured.shared_tiles(runs, layer),
        words.shared_tiles(runs),
        columns=measured.n_shown(runs[0]),
        selected=None,
        pinned=labelled.row_share(runs[0], token),
        title=_("MHA, GQA, MQA: the same heads, fewer keys and values"),
        _=_,
    )
