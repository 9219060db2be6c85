"""The norm in every place, with the same weights and the same input."""

from collections.abc import Hashable
from functools import lru_cache, partial

import pandas as pd

from blocks.inspection import placements
from blocks.inspection.placements import MOMENTS, Placed, PlacementFacts, placement_run
from blocks.inspection.source import Source, layer_source
from blocks.model import residual
from blocks.model.faults import N_
from blocks.model.kinds import NormKind, NormPlacement
from blocks.model.placements import own_placement, placed, possible_placements
from blocks.observe.run import Run
from pages.figures.chart import Axis, Chart, line
from pages.figures.series import placement_look
from pages.figures.theme import Picture
from pages.page.declared import Panel
from pages.panels.normalization import shared
from pages.panels.normalization.placements_picture import patterns
from pages.show.explain import Code
from pages.show.parts import (
    Beside,
    Controls,
    File,
    Matrix,
    Note,
    Say,
    Shown,
    Steps,
    Table,
    the_values,
)
from pages.show.views import head_choice
from pages.state import labelled
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, enumeration, fill, sentences

CODE: tuple[Source, ...] = (residual.PreNorm, residual.PostNorm, residual.SandwichNorm, placed)


@lru_cache(maxsize=64)
def in_placement(run: Run, placement: str, layer: int, head: int) -> Placed:
    """What a layer leaves and how a head reads with the norm there, weights from the seed."""
    measure = placements.measure_placed
    return shared.in_turn(run.device, measure, placement_run(run), placement, layer, head)


def works(run: Run, layer: int, head: int) -> list[partial[Placed]]:
    """The work, a placement after the other."""
    return [
        partial(in_placement, run, each, layer, head) for each in possible_placements(run.config)
    ]


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
        (wide, most), *_between, (narrow, least) = (*sizes.items(), list(sizes.items())[-1])
        text = _(
            "After layer {layer:from_one} the stream is largest with norm placement {wide} (RMS "
            "{most:.3g}) and smallest with {narrow} (RMS {least:.3g})."
        )
        ends = {"wide": terms.option(wide), "narrow": terms.option(narrow)}
        said.append(fill(text, facts, most=most, least=least, **ends))
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
        "Every placement uses the same random weights (seed {seed}); norms present only in "
        "some placements start with scale 1 and shift 0."
    )
    said = [text.format(seed=run.seed)]
    if run.weights:
        said.append(
            _("The trained weights fit one norm placement only, so they are not used here.")
        )
    if placement_run(run).config.n_layers != run.config.n_layers:
        said.append(
            _(
                "The whole model is too large to run here, so only one layer runs, on random "
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


def placement_table(facts: PlacementFacts) -> pd.DataFrame:
    """What leaves the layer in each placement, and how far that is from the reader's own."""
    heads = {"mean": _("mean"), "std": _("std"), "min": _("min"), "max": _("max"), "rms": "RMS"}
    table = pd.DataFrame({_("norm placement"): map(terms.option, facts.names)})
    for moment in MOMENTS:
        table[heads[moment]] = facts.moments[moment].map(_number).to_list()
        if facts.differences is not None:
            table["Δ " + heads[moment]] = facts.differences[moment].map(_signed).to_list()
    return table


def _number(value: float, sign: str = "") -> str:
    is_finite = abs(value) < float("inf")
    return f"{value:{sign}.4g}" if is_finite else _("not finite")


def _signed(value: float) -> str:
    """A difference with its sign; none is 0."""
    return "0" if value == 0 else _number(value, "+")


def spreads(facts: PlacementFacts) -> Chart:
    """How the values are spread in each placement; their sizes, where scales lie far apart."""
    is_far, found, names = facts.is_far_apart, facts.spreads, shared.names(facts.names)
    tables = {
        name: table.assign(value=10 ** table["value"]) if is_far else table
        for name, table in found.items()
    }
    axis = Axis(_("value"), of="value")
    per = _("share of values per unit")
    if is_far:
        every = pd.concat(tables.values())["value"]
        ends, per = (every.min(), every.max()), _("share of values per decade")
        axis = Axis(_("magnitude of the value"), ends, of="value", is_log=True)
    return Chart(
        _("The layer's output values"),
        {},
        axis,
        Axis(per, from_0=True),
        [
            line(
                "density",
                placement_look(name, names[name], width=4 if name == facts.own else 2),
                rows=table,
            )
            for name, table in tables.items()
        ],
        hover="{name}<br>{x:.3g}: {y:.3g}",
        tall=280,
    )


def draw_patterns(run: Run, layer: int, head: int, token: int, n_placements: int) -> Picture:
    """One head in each placement."""
    facts = placement_facts(run, layer, head, n_placements)
    pinned = labelled.row_share(run, token)
    return patterns(facts, shared.names(facts.names), pinned=pinned, _=_)


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    """The layer, in the model in which placements are compared, the head and the token."""
    layer = min(labelled.selected_layer(run, state), placement_run(run).config.n_layers - 1)
    return run, layer, labelled.selected_head(run, state), labelled.pinned_token(run, state)


def code(run: Run) -> Code:
    return tuple(dict.fromkeys((*CODE, *layer_source(run.config))))


PANEL = Panel(
    "placements",
    N_("Which placement?"),
    fields=("norm_placement", "norm_kind", "residual"),
    of_attention=True,
    concepts=("residual",),
    code=code,
    at=at,
    facts=placement_facts,
    shows=(
        Note(says_setting, the_values),
        Controls(lambda run, _layer, head: head_choice(run, head)),
        Steps(
            works,
            Say(says_sizes),
            Beside(
                Shown(spreads, "placement_spreads"),
                Matrix(draw_patterns, "placement_patterns", facts=the_values),
            ),
            Table(placement_table, "placement_table"),
            File(lambda facts: facts.moments.reset_index(), "placements"),
            key="placement_work",
        ),
    ),
)
