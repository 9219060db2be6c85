"""The norm in every place, with the same weights and the same input."""

from blocks.inspection import placements as measures
from blocks.inspection.placements import placement_run
from blocks.inspection.source import layer_source
from blocks.model import residual
from blocks.model.placements import own_placement, possible_placements
from blocks.observe.run import Run
from pages.figures import placements
from pages.ui import labelled, terms
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.normalization import measured, tables, words
from pages.ui.steps import in_steps
from pages.ui.views import head_choice

CODE = (residual.PreNorm, residual.PostNorm, residual.SandwichNorm, measures.placed)
TILE_COLUMNS = 3


@section
def where_it_stands(run: Run) -> None:
    """What leaves a layer, and how a head reads, in every placement."""
    code = (*CODE, *layer_source(run.config))
    place = explained(("residual",), tuple(dict.fromkeys(code)), key="placements")
    note(words.placements_note(run))
    layer, head = words.shown_layer(run), labelled.selected_head(run)
    head_choice(run, head)
    shown = measured_placements(run, layer, head)
    if not shown:
        return
    place.info(words.placements_sentence(run, layer, head, shown), icon=":material/lightbulb:")
    left, right = columns(2)
    values = run, layer, head, shown
    with left:
        show(draw_spreads, *values, key="placement_spreads", alt=words.spreads_alt)
    with right:
        token = labelled.pinned_token(run)
        show(draw_patterns, *values, token, key="placement_patterns", alt=words.patterns_alt)
    tables.placements(*values)


def measured_placements(run: Run, layer: int, head: int) -> tuple[str, ...]:
    """Run one placement after the other; those that are done."""
    names = possible_placements(run.config)
    steps = [lambda name=name: measured.in_placement(run, name, layer, head) for name in names]
    done = in_steps(steps, what=(run, layer, head), key="placement_work")
    return names[: len(done.found)]


def draw_spreads(run: Run, layer: int, head: int, shown: tuple[str, ...]):
    """The values that leave the layer."""
    found = {name: measured.in_placement(run, name, layer, head) for name in shown}
    of_sizes = measured.are_far_apart(list(found.values()))
    tables = {name: each.sizes if of_sizes else each.spread for name, each in found.items()}
    drawn = {name: table for name, table in tables.items() if table is not None}
    names = {name: terms.option(name) for name in drawn}
    own = own_placement(run.config)
    return placements.spreads(drawn, names, own=own, of_sizes=of_sizes, _=_)


def draw_patterns(run: Run, layer: int, head: int, shown: tuple[str, ...], token: int):
    """One head in each placement."""
    codes = [measured.in_placement(run, name, layer, head).codes for name in shown]
    own = own_placement(placement_run(run).config)
    return placements.patterns(
        codes,
        [terms.option(name) for name in shown],
        columns=min(TILE_COLUMNS, len(shown)),
        head=head,
        own=shown.index(own) if own in shown else 0,
        pinned=labelled.row_share(run, token),
        _=_,
    )
