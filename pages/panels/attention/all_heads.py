"""All heads of all layers: one picture, one table, one order."""

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
from pages.panels.heads import draw_all_heads, open_tile, tiles_note
from pages.ui import labelled, layers, link, present, probed, sinks, terms
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, current_language, enumeration, sentences
from pages.ui.link_fields.attention import SORTS
from pages.ui.phone import is_phone
from pages.ui.said import say
from pages.ui.tables import show_table

MOST_HEADS = 32
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


def all_heads_facts(
    run: Run, layer: int, head: int, is_apart: bool, sort_by: str = "layer"
) -> AllHeads:
    """The measures of all heads; `is_apart`: sinks are."""
    found = sinks.with_shares(layers.named_heads(run), run, is_apart)
    return AllHeads(found, sort_by, (layer, head), probed.names_by_probe(run))


def says_heads(facts: AllHeads) -> str:
    """The sharpest and the widest head, and those with a name."""
    sharp, wide = facts.ends
    text = _(
        "The sharpest of the {n} heads is {sharp} ({sharp_bits:.2f} bits); the most spread "
        "out is {wide} ({wide_bits:.2f} bits). {named}"
    )
    if facts.n_resting:
        text = _(
            "Apart from the {n_resting} heads that rest on sinks, the sharpest of the {n} heads "
            "is {sharp} ({sharp_bits:.2f} bits); the most spread out is {wide} "
            "({wide_bits:.2f} bits). {named}"
        )
    if len(facts.heads) == 1:
        text = _("The only head has an entropy of {sharp_bits:.2f} bits. {named}")
    said = text.format(
        n=len(facts.heads),
        n_resting=facts.n_resting,
        sharp=shared.head_called(sharp["layer"], sharp["head"]),
        sharp_bits=sharp["entropy_bits"],
        wide=shared.head_called(wide["layer"], wide["head"]),
        wide_bits=wide["entropy_bits"],
        named=_named(facts),
    )
    return sentences(said, _looks_back(facts))


def _looks_back(facts: AllHeads) -> str:
    """Which head comes nearest to reading the previous token, where none is named for it."""
    if PREVIOUS in facts.n_named:
        return ""
    nearest = facts.nearest(PREVIOUS)
    text = _(
        "The head closest to a previous-token head is {head} ({share:.0%} of its weight "
        "on the previous token)."
    )
    head = shared.head_called(nearest["layer"], nearest["head"])
    return text.format(head=head, share=nearest[PREVIOUS])


def _named(facts: AllHeads) -> str:
    if not facts.n_named:
        return _(
            "No head puts more than half of its weight on one kind of position, so none is named."
        )
    listed = enumeration(f"{terms.head_name(name)} {n}" for name, n in facts.n_named.items())
    if facts.is_probed:
        text = _(
            "On random tokens read twice (the head probe), these numbers of heads put over "
            "half of their weight on one kind of position: {listed}."
        )
        return text.format(listed=listed)
    text = _("Number of heads with over half of their weight on one kind of position: {listed}.")
    return text.format(listed=listed)


def says_colors(facts: AllHeads) -> str:
    """How to read the heat table."""
    said = _(
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
    found, first = layers.named_heads(run), sink_facts(run, 0, 0).heads
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
    )


@section
def all_heads(run: Run) -> None:
    """Tiles, colours, numbers."""
    at = labelled.selection(run)
    is_apart = sinks.is_wanted()
    values = run, at.layer, at.head, is_apart
    with explained(("heads", "head_names", "induction"), (head_measures.frame,), key="all_heads"):
        say(says_heads, *values, facts=all_heads_facts)
    sinks.sinks_switch(run, "all_heads")
    is_deep = run.config.n_layers > labelled.FEW_LAYERS
    above = st.container() if is_deep else None
    left, right = columns(2)
    with left if above is None else above:
        drawn = run, *at, is_apart, is_deep and not is_phone()
        show(draw_all_heads, *drawn, key="all_head_tiles", on_click=open_tile)
        note(tiles_note(run, len(layers.heads(run)), is_apart))
    with left if is_deep else right:
        sort_by = link.value("sort_heads_by")
        with present.aside():
            sort_choice(sort_by)
        show(draw_colors, *values, sort_by, key="head_measures", on_click=shared.open_head)
        note(says_colors(all_heads_facts(*values)))
    if present.is_on():
        return
    with right if is_deep else st.container():
        height = head_table.height(MOST_HEADS) if is_deep else 318
        show_table(table(run).round(3), key="all_heads_table", n_names=3, height=height)


def sort_choice(shown: str) -> None:
    """The measure by which the heads are ordered."""
    with st.container(key="sort_heads_by"):
        st.selectbox(
            _("Sort heads by"),
            SORTS,
            format_func=lambda name: _(LABELS[name]),
            **link.view("sort_heads_by", shown, current_language()),
        )


def _called(row: Row) -> str:
    """Layer and head, and the name where it has one: its score may be that of another text."""
    return f"{from_one(row.layer)}·{from_one(row.head)}  {terms.head_name(row.badge)}".strip()


def draw_colors(run: Run, layer: int, head: int, is_apart: bool, sort_by: str) -> Picture:
    """A row per head, a column per measure."""
    facts = all_heads_facts(run, layer, head, is_apart, sort_by)
    shown = facts.first(MOST_HEADS)
    places = [(int(row.layer), int(row.head)) for row in each_row(shown)]
    names = [_called(row) for row in each_row(shown)]
    return head_table.measures(
        shown[MEASURES].to_numpy(float),
        facts.shares(shown, MEASURES),
        heads=names,
        columns=[_(COLUMNS[name]) for name in MEASURES],
        returns=places,
        selected=places.index(facts.selected) if facts.selected in places else None,
        _=_,
    )
