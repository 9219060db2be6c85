"""The norm in every place, with the same weights and the same input."""

from functools import lru_cache

import pandas as pd

from blocks.inspection import placements
from blocks.inspection.placements import MOMENTS, Placed, PlacementFacts, placement_run
from blocks.inspection.source import Source, layer_source
from blocks.model import residual
from blocks.model.kinds import NormKind, NormPlacement
from blocks.model.placements import own_placement, placed, possible_placements
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.theme import Picture, Translate
from pages.panels.normalization import placements_picture, shared
from pages.ui import labelled, terms
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, enumeration, sentences
from pages.ui.said import say
from pages.ui.steps import in_steps
from pages.ui.tables import show_table
from pages.ui.views import head_choice

CODE: tuple[Source, ...] = (residual.PreNorm, residual.PostNorm, residual.SandwichNorm, placed)


@lru_cache(maxsize=64)
def in_placement(run: Run, placement: str, layer: int, head: int) -> Placed:
    """What a layer leaves and how a head reads with the norm there, weights from the seed."""
    measure = placements.measure_placed
    return shared.in_turn(run.device, measure, placement_run(run), placement, layer, head)


@lru_cache(maxsize=16)
def placement_facts(run: Run, layer: int, head: int, n_placements: int) -> PlacementFacts:
    """The first of the possible placements."""
    names = possible_placements(run.config)[:n_placements]
    found = {name: in_placement(run, name, layer, head) for name in names}
    return PlacementFacts(layer, head, own_placement(run.config), found)


def says_sizes(facts: PlacementFacts) -> str:
    """Which placement leaves the widest and which the narrowest stream, and the reader's own."""
    said, sizes = [], facts.sizes
    if sizes:
        in_order = list(sizes.items())
        widest, narrowest = in_order[0], in_order[-1]
        text = _(
            "After layer {layer} the stream is largest with norm placement {wide} (RMS "
            "{most:.3g}) and smallest with {narrow} (RMS {least:.3g})."
        )
        ends = {"wide": terms.option(widest[0]), "narrow": terms.option(narrowest[0])}
        extent = {"most": widest[1], "least": narrowest[1]}
        said.append(text.format(layer=from_one(facts.layer), **ends, **extent))
    if facts.own in sizes:
        text = _("Your norm placement, {own}, gives an RMS of {rms:.3g} with these random weights.")
        said.append(text.format(own=terms.option(facts.own), rms=sizes[facts.own]))
    if facts.overflowing:
        names = enumeration(map(terms.option, facts.overflowing))
        text = _("Norm placements with which the stream is no longer finite: {names}.")
        said.append(text.format(names=names))
    return sentences(*said)


def says_setting(run: Run) -> str:
    """What was run, and what was left out."""
    text = _(
        "Every placement uses the same random weights (seed {seed}); norms present only in some "
        "placements are initialized to scale 1, shift 0."
    )
    said = [text.format(seed=run.seed)]
    if run.weights:
        said.append(
            _("The trained weights fit one norm placement only, so they are not used here.")
        )
    if placement_run(run).config.n_layers != run.config.n_layers:
        said.append(
            _(
                "The whole model is too large for this, so only one layer runs, on random "
                "vectors instead of tokens."
            )
        )
    if NormPlacement.PARALLEL not in possible_placements(run.config):
        said.append(
            _("The parallel placement needs a feed-forward layer, which attention_only removes.")
        )
    if run.config.norm.norm_kind is NormKind.BATCH_NORM and not run.training:
        said.append(_("Before training, BatchNorm in evaluation mode changes almost nothing."))
    if run.config.norm.norm_kind is NormKind.NONE:
        said.append(_("Your model has no norm; the other norm placements use LayerNorm."))
    return sentences(*said)


def placement_table(facts: PlacementFacts) -> None:
    """What leaves the layer in each placement, and how far that is from the reader's own."""
    heads = {"mean": _("mean"), "std": _("std"), "min": _("min"), "max": _("max"), "rms": "RMS"}
    table = pd.DataFrame({_("norm placement"): map(terms.option, facts.names)})
    for moment in MOMENTS:
        table[heads[moment]] = facts.moments[moment].map(_number).to_list()
        if facts.differences is not None:
            table["Δ " + heads[moment]] = facts.differences[moment].map(_signed).to_list()
    show_table(table, key="placement_table")


def _number(value: float, sign: str = "") -> str:
    """With four digits, or in words where the number format ended."""
    is_finite = abs(value) < float("inf")
    return f"{value:{sign}.4g}" if is_finite else _("not finite")


def _signed(value: float) -> str:
    """A difference with its sign; none is 0."""
    return "0" if value == 0 else _number(value, "+")


def draw_spreads(facts: PlacementFacts, *, _: Translate) -> Picture:
    """The values that leave the layer."""
    return placements_picture.spreads(facts, shared.names(facts.names), _=_)


def draw_patterns(run: Run, layer: int, head: int, n_placements: int, token: int) -> Picture:
    """One head in each placement."""
    facts = placement_facts(run, layer, head, n_placements)
    pinned = labelled.row_share(run, token)
    return placements_picture.patterns(facts, shared.names(facts.names), pinned=pinned, _=_)


@section
def where_it_stands(run: Run) -> None:
    """What leaves a layer, and how a head reads, in every placement."""
    code = (*CODE, *layer_source(run.config))
    place = explained(("residual",), tuple(dict.fromkeys(code)), key="placements")
    note(says_setting(run))
    layer, head = shown_layer(run), labelled.selected_head(run)
    head_choice(run, head)
    names = possible_placements(run.config)
    steps = [lambda name=name: in_placement(run, name, layer, head) for name in names]
    done = in_steps(steps, what=(run, layer, head), key="placement_work")
    if not done.found:
        return
    shown = run, layer, head, len(done.found)
    with place:
        say(says_sizes, *shown, facts=placement_facts)
    left, right = columns(2)
    with left:
        show(draw_spreads, *shown, facts=placement_facts, key="placement_spreads")
    with right:
        show(draw_patterns, *shown, labelled.pinned_token(run), key="placement_patterns")
    placement_table(placement_facts(*shown))


def shown_layer(run: Run) -> int:
    """The layer that is looked at, in the model in which placements are compared."""
    return min(labelled.selected_layer(run), placement_run(run).config.n_layers - 1)
