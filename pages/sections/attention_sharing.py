"""MHA, GQA and MQA side by side: what sharing saves, and what becomes of the maps."""

from blocks.inspection.sharing import likeness, pooled
from blocks.model.attention import share_among_queries
from blocks.observe.run import Run
from pages.figures import heads
from pages.ui import labelled
from pages.ui.attention_kinds import measured, tables, words
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say


@section
def who_shares(run: Run, layer: int) -> None:
    """The same width and as many query heads, with fewer and fewer keys and values."""
    code = (share_among_queries, pooled, likeness)
    place = explained(("sharing", "kv_cache"), code, key="sharing")
    if len(measured.shared(run)) == 1:
        place.caption(
            _("Only one key and value head: all heads share it already. Set n_kv_heads higher.")
        )
        return
    with place:
        say(words.sharing_sentence, run, layer)
    token = labelled.pinned_token(run)
    show(draw_shared, run, layer, token, key="shared_maps", alt=words.sharing_alt)
    note(words.pooled_note(run))
    tables.sharing(run, layer)


def draw_shared(run: Run, layer: int, token: int):
    """The first heads of each, a row each."""
    return heads.overview(
        measured.shared_tiles(run, layer),
        words.shared_tiles(run),
        columns=measured.n_shown(run),
        selected=None,
        pinned=labelled.row_share(run, token),
        title=_("From multi-head (MHA) to grouped-query (GQA) to multi-query attention (MQA)"),
        _=_,
    )
