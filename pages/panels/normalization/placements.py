"""The norm in every place, with the same weights and the same input."""

import pandas as pd
import streamlit as st

from blocks.inspection.placements import Placed, placement_run
from blocks.inspection.source import Source, layer_source
from blocks.model import residual
from blocks.model.kinds import NormKind, NormPlacement
from blocks.model.placements import own_placement, placed, possible_placements
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.theme import Picture
from pages.panels.normalization import placements_picture, shared
from pages.ui import labelled, terms
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, enumeration, literal
from pages.ui.steps import in_steps
from pages.ui.views import head_choice

FAR_APART = 6.0


def are_far_apart(found: list[Placed]) -> bool:
    """Whether one axis of values would show one placement only."""
    stds = [each.moments["std"] for each in found if each.spread is not None]
    return bool(stds) and max(stds) > FAR_APART * min(stds)


MOMENTS = ("mean", "std", "min", "max", "rms")


def placements(run: Run, layer: int, head: int, shown: tuple[str, ...]) -> None:
    """What leaves the layer in each placement, and how far that is from the reader's own."""
    rows = {name: shared.in_placement(run, name, layer, head).moments for name in shown}
    own = rows.get(own_placement(run.config))
    table = pd.DataFrame({_("norm placement"): [terms.option(name) for name in rows]})
    for moment in MOMENTS:
        label = moment_name(moment)
        table[label] = [number(row[moment]) for row in rows.values()]
        if own is not None:
            table["Δ " + label] = [signed(row[moment] - own[moment]) for row in rows.values()]
    st.dataframe(table, hide_index=True, key="placement_table", height="content")


def moment_name(moment: str) -> str:
    """What a moment is called at the head of a column."""
    return {"mean": _("mean"), "std": _("std"), "min": _("min"), "max": _("max")}.get(moment, "RMS")


def number(value: float) -> str:
    """With four digits, or in words where the number format ended."""
    return f"{value:.4g}" if value - value == 0 else _("not finite")


def signed(value: float) -> str:
    """A difference with its sign; none is 0."""
    if value - value != 0:
        return _("not finite")
    return "0" if value == 0 else f"{value:+.4g}"


def placements_sentence(run: Run, layer: int, head: int, shown: tuple[str, ...]) -> str:
    """Which placement leaves the widest and which the narrowest stream, and the reader's own."""
    moments = {name: shared.in_placement(run, name, layer, head).moments for name in shown}
    sizes = {name: row["rms"] for name, row in moments.items() if row["rms"] < float("inf")}
    broken = [terms.option(name) for name in shown if name not in sizes]
    said = []
    if sizes:
        widest, narrowest = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
        text = _(
            "After layer {layer} the stream is largest with {wide} (RMS {most:.3g}), "
            "smallest with {narrow} (RMS {least:.3g})."
        )
        ends = {"wide": terms.option(widest), "narrow": terms.option(narrowest)}
        extent = {"most": sizes[widest], "least": sizes[narrowest]}
        said.append(text.format(layer=layer + 1, **ends, **extent))
    own = own_placement(run.config)
    if own in sizes:
        text = _("Yours is {own}: {rms:.3g} with these random weights.")
        said.append(text.format(own=terms.option(own), rms=sizes[own]))
    if broken:
        said.append(_("Not finite: {names}.").format(names=enumeration(broken)))
    return " ".join(said)


def placements_note(run: Run) -> str:
    """What was run, and what was left out."""
    shared = placement_run(run)
    text = _(
        "The same random weights in all (seed {seed}); norms that only some placements have start "
        "at scale 1 and shift 0."
    )
    said = [text.format(seed=run.seed)]
    if run.weights:
        said.append(
            _("The trained weights fit one norm placement only, so they are not used here.")
        )
    if shared.config.n_layers != run.config.n_layers:
        said.append(_("The whole model is too large for this: only one layer runs, on vectors."))
    if NormPlacement.PARALLEL not in possible_placements(run.config):
        said.append(_("parallel needs a feed-forward layer, and attention_only removes it."))
    if run.config.norm.norm_kind is NormKind.BATCH_NORM and not run.training:
        said.append(_("In evaluation mode BatchNorm changes next to nothing before training."))
    if run.config.norm.norm_kind is NormKind.NONE:
        said.append(_("Your model has no norm; the other norm placements use LayerNorm."))
    return " ".join(said)


def spreads_alt(run: Run, layer: int, head: int, shown: tuple[str, ...]) -> str:
    """Write the alt text of the overlaid distributions."""
    rows = []
    for name in shown:
        row = shared.in_placement(run, name, layer, head).moments
        rows.append(f"{terms.option(name)} {row['mean']:.2f} ± {row['std']:.2f}")
    text = _("Output values of the layer in each norm placement, mean ± std: {rows}.")
    return text.format(rows="; ".join(row for row in rows if "nan" not in row and "inf" not in row))


def patterns_alt(run: Run, layer: int, head: int, shown: tuple[str, ...], token: int) -> str:
    """Write the alt text of the tiles."""
    text = _("Attention weights of head {head} in layer {layer}, for {names}; pinned: {token}.")
    names = enumeration(terms.option(name) for name in shown)
    token_name = literal(run.input.labels[token])
    return text.format(head=from_one(head), layer=from_one(layer), names=names, token=token_name)


CODE: tuple[Source, ...] = (residual.PreNorm, residual.PostNorm, residual.SandwichNorm, placed)

TILE_COLUMNS = 3


@section
def where_it_stands(run: Run) -> None:
    """What leaves a layer, and how a head reads, in every placement."""
    code = (*CODE, *layer_source(run.config))
    place = explained(("residual",), tuple(dict.fromkeys(code)), key="placements")
    note(placements_note(run))
    layer, head = shared.shown_layer(run), labelled.selected_head(run)
    head_choice(run, head)
    shown = measured_placements(run, layer, head)
    if not shown:
        return
    place.info(placements_sentence(run, layer, head, shown), icon=":material/lightbulb:")
    left, right = columns(2)
    values = run, layer, head, shown
    with left:
        show(draw_spreads, *values, key="placement_spreads", alt=spreads_alt)
    with right:
        token = labelled.pinned_token(run)
        show(draw_patterns, *values, token, key="placement_patterns", alt=patterns_alt)
    placements(*values)


def measured_placements(run: Run, layer: int, head: int) -> tuple[str, ...]:
    """Run one placement after the other; those that are done."""
    names = possible_placements(run.config)
    steps = [lambda name=name: shared.in_placement(run, name, layer, head) for name in names]
    done = in_steps(steps, what=(run, layer, head), key="placement_work")
    return names[: len(done.found)]


def draw_spreads(run: Run, layer: int, head: int, shown: tuple[str, ...]) -> Picture:
    """The values that leave the layer."""
    found = {name: shared.in_placement(run, name, layer, head) for name in shown}
    of_sizes = are_far_apart(list(found.values()))
    tables = {name: each.sizes if of_sizes else each.spread for name, each in found.items()}
    drawn = {name: table for name, table in tables.items() if table is not None}
    names = {name: terms.option(name) for name in drawn}
    own = own_placement(run.config)
    return placements_picture.spreads(drawn, names, own=own, of_sizes=of_sizes, _=_)


def draw_patterns(run: Run, layer: int, head: int, shown: tuple[str, ...], token: int) -> Picture:
    """One head in each placement."""
    codes = [shared.in_placement(run, name, layer, head).codes for name in shown]
    own = own_placement(placement_run(run).config)
    return placements_picture.patterns(
        codes,
        [terms.option(name) for name in shown],
        columns=min(TILE_COLUMNS, len(shown)),
        head=head,
        own=shown.index(own) if own in shown else 0,
        pinned=labelled.row_share(run, token),
        _=_,
    )
