"""All heads of all layers: one picture, one table, one order."""

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from blocks.inspection.head_facts import AllHeads
from blocks.model.faults import N_
from blocks.observe import heads as head_measures
from blocks.observe.run import Run
from pages.figures import head_table
from pages.figures.counting import from_one
from pages.figures.table_rows import Row, each_row
from pages.figures.theme import Picture
from pages.panels.attention import shared
from pages.panels.attention.contribution import sink_facts
from pages.panels.heads import (
    draw_all_heads,
    draw_layer,
    layer_heads,
    open_head,
    open_tile,
    says_sharpest,
    tiles_note,
)
from pages.server import probed
from pages.show import layers
from pages.show.controls import pick
from pages.show.parts import Beside, Controls, File, Item, Matrix, Note, Say, Table, the_values
from pages.stage import link
from pages.stage.phone import is_phone
from pages.stage.press import press
from pages.state import labelled, sinks
from pages.state.link_fields.attention import SORTS
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, enumeration, fill, sentences

MOST_HEADS = 32
LAYER_ROOM = 465  # pixels of one layer before a class
PREVIOUS = "previous_token"
LABELS = {
    "layer": N_("layer"),
    "entropy_bits": N_("entropy (bits)"),
    "distance_tokens": N_("distance (tokens)"),
    "first_token": N_("first token"),
    "same_token": N_("itself"),
    "previous_token": N_("previous token"),
    "induction": N_("token after an earlier copy of the current one (induction)"),
}
COLUMNS = {**LABELS, "induction": N_("induction")}
MEASURES = [name for name in SORTS if name != "layer"]


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    """The head and token, whether sinks are apart, whether layers stand side by side, the order."""
    is_wide = labelled.is_deep(run) and not is_phone()
    return (*shared.at(run, state), state.sinks_apart, is_wide, state.sort_heads_by)


def all_heads_facts(
    run: Run, layer: int, head: int, _token: int, is_apart: bool, _is_wide: bool, sort_by: str
) -> AllHeads:
    """The measures of all heads; `is_apart`: sinks are."""
    found = sinks.with_shares(layers.named_heads(run), run, is_apart)
    return AllHeads(found, sort_by, (layer, head), probed.names_by_probe(run))


def says_heads(facts: AllHeads) -> str:
    """The sharpest and the widest head, and those with a name."""
    sharp, wide = facts.ends
    text = _(
        "The sharpest of the {n} heads is {sharp_head} ({sharp[entropy_bits]:.2f} bits on "
        "average); the most spread out is {wide_head} ({wide[entropy_bits]:.2f} bits). {named}"
    )
    if facts.n_resting:
        text = _(
            "Apart from the heads that rest on sinks ({n_resting} of {n}; the columns of sinks "
            "are left blank), the sharpest is {sharp_head} ({sharp[entropy_bits]:.2f} bits on "
            "average) and the most spread out is {wide_head} ({wide[entropy_bits]:.2f} bits). "
            "{named}"
        )
    if len(facts.heads) == 1:
        text = _(
            "The only head has an entropy of {sharp[entropy_bits]:.2f} bits on average. {named}"
        )
    ends = {"sharp_head": _called_head(sharp), "wide_head": _called_head(wide)}
    n, named = len(facts.heads), _named(facts)
    said = fill(text, facts, n=n, sharp=sharp, wide=wide, named=named, **ends)
    return sentences(said, _looks_back(facts))


def _called_head(row: pd.Series) -> str:
    return shared.head_called(row["layer"], row["head"])


def _looks_back(facts: AllHeads) -> str:
    """Which head comes nearest to reading the previous token, where none is named for it."""
    if PREVIOUS in facts.n_named:
        return ""
    nearest = facts.nearest(PREVIOUS)
    return _(
        "The head closest to a previous-token head is {head} ({share:.0%} of its weight "
        "on the previous token)."
    ).format(head=_called_head(nearest), share=nearest[PREVIOUS])


def _named(facts: AllHeads) -> str:
    if not facts.n_named:
        return _(
            "No head puts more than half of its weight on one kind of position, so none is named."
        )
    listed = enumeration(f"{terms.head_name(name)} {n}" for name, n in facts.n_named.items())
    if facts.is_probed:
        return _(
            "When random tokens are read twice (the head probe), some heads put over half of "
            "their weight on one kind of position. Number of heads of each kind: {listed}."
        ).format(listed=listed)
    text = _("Number of heads with over half of their weight on one kind of position: {listed}.")
    return text.format(listed=listed)


def says_layer(run: Run, layer: int, _head: int, _token: int, is_apart: bool) -> str:
    """For a class: the sharpest of one layer, and which columns are left out."""
    blank = _("The columns of sinks are left blank.") if sinks.set_apart(run, is_apart) else ""
    return sentences(says_sharpest(layer_heads(run, layer, is_apart)), blank)


def says_colors(facts: AllHeads) -> str:
    """How to read the heat table."""
    said = _(
        "All values are averages over the queries that can attend to more than one key. "
        "Colors show shares from 0 to 1, and entropy and distance relative to their largest "
        "values. Only heads with a share above 0.5 are named."
    )
    if facts.is_probed:
        text = _(
            "The names come from the head probe; the values in the cells are measured on this text."
        )
        said = sentences(said, text)
    if len(facts.heads) <= MOST_HEADS:
        return said
    text = _("The first {n} of {all} heads in this order are shown; the table lists all of them.")
    return sentences(text.format(n=MOST_HEADS, all=len(facts.heads)), said)


def table(run: Run) -> pd.DataFrame:
    """Every head of every layer."""
    n_layers = len(run.config.attention_layers)
    found, first = layers.named_heads(run), sink_facts(run, 0, 0, n_layers).heads
    is_probed = probed.names_by_probe(run)
    in_text = _("{measure}, in this text") if is_probed else "{measure}"
    return pd.DataFrame(
        {
            _("layer"): found["layer"].map(from_one),
            _("head"): found["head"].map(from_one),
            _("from the head probe") if is_probed else _("name"): [
                probed.said(row.badge, row.badge_score) for row in each_row(found)
            ],
            **{in_text.format(measure=_(COLUMNS[name])): found[name] for name in MEASURES},
            _("first token's ‖v·W_O‖ / mean of the others"): first["value_ratio"],
            _("attention sink"): first["is_sink"],
        }
    ).round(3)


def says_tiles(run: Run, _layer: int, _head: int, _token: int, is_apart: bool) -> str:
    return tiles_note(run, len(layers.heads(run)), is_apart)


def sort_choice() -> None:
    pick("sort_heads_by", _("Sort heads by"), SORTS, label_of=lambda name: _(LABELS[name]))


def _called(row: Row) -> str:
    """Layer and head, and the name where it has one: its score may be that of another text."""
    return f"{from_one(row.layer)}·{from_one(row.head)}  {terms.head_name(row.badge)}".strip()


def colors(facts: AllHeads) -> Picture:
    """A row per head, a column per measure."""
    shown = facts.first(MOST_HEADS)
    places = [(int(row.layer), int(row.head)) for row in each_row(shown)]
    return head_table.measures(
        shown[MEASURES].to_numpy(float),
        facts.shares(shown, MEASURES),
        heads=[_called(row) for row in each_row(shown)],
        columns=[_(COLUMNS[name]) for name in MEASURES],
        returns=places,
        selected=places.index(facts.selected) if facts.selected in places else None,
        _=_,
    )


def layer_steps(run: Run, layer: int) -> None:
    """To the layer before and the layer after."""
    layers, place = run.config.attention_layers, run.config.attention_layers.index(layer)
    with st.container(horizontal=True, key="layer_steps"):
        for by, icon in ((-1, "arrow_back"), (1, "arrow_forward")):
            there = place + by
            is_there = 0 <= there < len(layers)
            to = layers[there] if is_there else layer
            label = _("Layer {n}").format(n=from_one(to))
            go: dict[str, Any] = {"icon": icon, "disabled": not is_there}
            press(label, f"layer_by_{by}", link.change, "layer", to, **go)


def shown(run: Run, state: State) -> Sequence[Item]:
    """Tiles, colors, numbers: of many layers the tiles above the others, and those of one large.

    A class sees that one alone.
    """
    of_layer = Matrix(draw_layer, "layer_tiles", click=open_head, facts=the_values, room=LAYER_ROOM)
    if labelled.is_deep(run) and state.present:
        steps = Controls(layer_steps, is_aside=False)
        return (Say(says_layer, the_values), shared.sinks_switch("all_heads"), steps, of_layer)
    tiles = (
        Matrix(draw_all_heads, "all_head_tiles", click=open_tile, facts=the_values),
        Note(says_tiles, the_values),
    )
    measures = (
        Controls(sort_choice),
        Matrix(colors, "head_measures", click=shared.open_head),
        Note(says_colors),
    )
    height = head_table.height(MOST_HEADS) if labelled.is_deep(run) else 318
    numbers = Table(table, "all_heads_table", n_names=3, height=height, facts=the_values)
    place = (
        (*tiles, of_layer, Beside(measures, numbers))
        if labelled.is_deep(run)
        else (Beside(tiles, measures), numbers)
    )
    file = File(layers.heads, "all_heads", counted=("layer", "head"), facts=the_values)
    return (Say(says_heads), shared.sinks_switch("all_heads"), *place, file)


PANEL = shared.of_a_head(
    "heads",
    N_("All heads"),
    instruments=("attention",),
    fields=("n_layers", "n_heads", "n_kv_heads", "position_kind"),
    concepts=("heads", "head_names", "induction"),
    code=(head_measures.frame,),
    at=at,
    facts=all_heads_facts,
    shows=shown,
)
