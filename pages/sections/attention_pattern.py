"""Who reads whom: one head as lines and as a map, and all heads of all layers."""

from blocks.inspection import source
from blocks.observe import heads as head_measures
from blocks.observe.run import Run
from pages.figures import bipartite, head_table, heads
from pages.sections.heads import one_head
from pages.ui import encoder_words, labelled, layers, words
from pages.ui.attention import controls, frames, measured, pattern_words, tables
from pages.ui.attention.words import head_called
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say
from pages.ui.views import pin_token


@section
def lines_and_map(run: Run, layer: int, head: int, token: int) -> None:
    """One head, twice."""
    explained(("attention", "masks"), source.heads_source(), key="who_reads_whom").info(
        pattern_words.edges_sentence(run, layer, head, token), icon=":material/lightbulb:"
    )
    left, right = columns(2)
    with left:
        n_edges = controls.edges_choice(run)
        shown = run, layer, head, token, n_edges
        show(draw_lines, *shown, key="bipartite", alt=pattern_words.edges_alt, on_click=pin_token)
        note(pattern_words.edges_note(run, layer, head, token, n_edges, bipartite.LEAST))
    with right:
        one_head(run, layer, head, token)


@section
def all_heads(run: Run, layer: int, head: int, token: int) -> None:
    """All heads of all layers: one picture, one table, one order."""
    code = (head_measures.frame,)
    with explained(("heads", "head_names", "induction"), code, key="all_heads"):
        say(pattern_words.table_sentence, run)
    left, right = columns(2)
    with left:
        show(
            draw_tiles,
            run,
            layer,
            head,
            token,
            key="all_head_tiles",
            alt=encoder_words.all_heads_alt,
            on_click=controls.open_tile,
        )
        note(words.overview_note(run))
    with right:
        controls.sort_choice()
        show(
            draw_table,
            run,
            layer,
            head,
            tables.sort_by(),
            key="head_measures",
            alt=pattern_words.table_alt,
            on_click=controls.open_head,
        )
        note(tables.head_rows_note(run))
    tables.all_heads(run)


def draw_lines(run: Run, layer: int, head: int, token: int, n_edges: int):
    """Tokens left and right; of a long text the part around the pinned token."""
    shown = frames.window(run, token, frames.MOST_LINES)
    rows = slice(*shown)
    return bipartite.lines(
        measured.head(run, layer, head).pattern[rows, rows],
        run.input.labels[rows],
        most=n_edges,
        pinned=shown.inside(token),
        first=shown.first,
        title=_("Lines of {head}").format(head=head_called(layer, head)),
        _=_,
    )


def draw_tiles(run: Run, layer: int, head: int, token: int):
    """A row of tiles for every layer."""
    return heads.overview(
        layers.head_tiles(run),
        layers.labelled_tiles(run),
        columns=run.config.n_heads,
        selected=layers.tile(run, layer, head),
        pinned=labelled.row_share(run, token),
        _=_,
    )


def draw_table(run: Run, layer: int, head: int, sort_by: str):
    """A row a head."""
    rows = tables.head_rows(run, sort_by)
    here = (layer, head)
    selected = rows.returns.index(here) if here in rows.returns else None
    return head_table.measures(**rows._asdict(), selected=selected, _=_)
