"""What changes the number of parameters, one change at a time, and where it goes with size."""

from functools import lru_cache, partial
from typing import Any

import pandas as pd
import streamlit as st

from blocks.cost import growth, variations
from blocks.cost.growth import GrowthFacts
from blocks.cost.variations import ChangesFacts, Variation
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.theme import Picture, Translate
from pages.panels.parameters import changes_picture, shared
from pages.ui import link
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.fold import details
from pages.ui.frame import section
from pages.ui.language import _, current_language, sentences
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.tables import show_table

LONGEST = len("+999,999,999")  # of a number that has room with every digit
changes_facts = lru_cache(maxsize=64)(variations.changes_facts)
growth_facts = lru_cache(maxsize=32)(growth.growth_facts)
CHANGES = {
    "twice_the_heads": N_("twice the heads, half as wide"),
    "half_the_heads": N_("half the heads, twice as wide"),
    "one_kv_head": N_("MQA: one key/value head"),
    "kv_as_many": N_("multi-head attention (MHA): keys and values per head"),
    "tied": N_("weight tying: one table for input and output"),
    "untied": N_("a separate output matrix (untied)"),
    "rope": N_("RoPE instead of a learned position table"),
    "learned_positions": N_("a learned position table"),
    "no_biases": N_("no biases"),
    "biases": N_("biases everywhere"),
    "layernorm": N_("LayerNorm instead of RMSNorm"),
    "rmsnorm": N_("RMSNorm, without a shift"),
    "no_norms": N_("no norms"),
    "norms": N_("norms (LayerNorm)"),
    "plain": N_("feed-forward without a gate"),
    "gated": N_("a gate in the feed-forward layer"),
    "gated_narrower": N_("a gate, with two thirds of d_ff"),
    "twice_d_ff": N_("twice d_ff"),
    "experts": N_("8 experts, 2 active"),
    "dense": N_("one feed-forward layer, no experts"),
    "one_more_layer": N_("one more layer"),
    "twice_as_wide": N_("twice d_model and d_ff"),
}

WHY = {
    "twice_the_heads": N_(
        "n_heads · d_head stays the same: the same matrices are split into more pieces."
    ),
    "half_the_heads": N_(
        "n_heads · d_head stays the same: the same matrices are split into fewer pieces."
    ),
    "one_kv_head": N_(
        "k_proj and v_proj shrink to the width of one head, and so does the KV cache."
    ),
    "kv_as_many": N_(
        "k_proj and v_proj become as large as q_proj, and the KV cache grows with them."
    ),
    "tied": N_(
        "The output matrix, vocab_size · d_model parameters, is gone: the embedding "
        "table takes its place."
    ),
    "untied": N_("vocab_size · d_model more parameters."),
    "rope": N_(
        "The table of max_seq_len · d_model parameters is gone: rotations are "
        "computed, not learned."
    ),
    "learned_positions": N_("d_model more parameters for each of the max_seq_len positions."),
    "no_biases": N_("One fewer parameter per output of each projection: negligible."),
    "biases": N_("One more parameter per output of each projection: negligible."),
    "layernorm": N_("There is a shift as well as a scale, with d_model more parameters per norm."),
    "rmsnorm": N_("There is only a scale and no shift, so each norm has d_model fewer parameters."),
    "no_norms": N_(
        "All scales and shifts are gone; they are few in number but important for training."
    ),
    "norms": N_("A scale and a shift per norm, d_model parameters each: negligible."),
    "plain": N_("gate_proj is gone: a third of the feed-forward layer's matrix parameters."),
    "gated": N_("gate_proj is added: the layer's matrices grow by half."),
    "gated_narrower": N_(
        "Three matrices of two thirds the size: as many parameters as before (Shazeer 2020)."
    ),
    "twice_d_ff": N_("The feed-forward layer doubles in size; everything else stays the same."),
    "experts": N_("Eight feed-forward layers and a router; each token passes through two of them."),
    "dense": N_("All experts but one are gone, and so is the router."),
    "one_more_layer": N_(
        "Adds the parameters of one more layer of the same kind (in an encoder–decoder, one "
        "per stack)."
    ),
    "twice_as_wide": N_("The matrices of each layer grow fourfold, the embedding twofold."),
}


def says_changes(facts: ChangesFacts) -> str:
    """What heads change, and what changes most."""
    said = []
    if facts.heads_are_free:
        said.append(
            _(
                "The number of heads does not change the parameter count: heads split the same "
                "matrices."
            )
        )
    if facts.small_share is not None:
        text = _("All norms together make up {share} of the model.")
        if facts.has_biases:
            text = _("Biases and norms together make up {share} of the model.")
        said.append(text.format(share=percent(facts.small_share)))
    if facts.tied_saves is not None:
        text = _("Weight tying saves {n:,} parameters: vocab_size · d_model.")
        said.append(text.format(n=facts.tied_saves))
    return sentences(*said)


def says_growth(facts: GrowthFacts) -> str:
    """How the share of embeddings falls, over width and over depth."""
    shares = {name: percent(share) for name, share in facts.shares.items()}
    text = _(
        "Here embeddings hold {embeddings} of the parameters, attention {attention}, "
        "feed-forward layers {feed_forward}."
    )
    if facts.shares["mixer"]:
        text = _(
            "Here embeddings hold {embeddings} of the parameters, the token mixer {mixer}, "
            "feed-forward layers {feed_forward}."
        )
    said = text.format(**shares)
    if not facts.shares["embeddings"]:
        return said
    text = _(
        "Embeddings grow with d_model, layers with its square: at d_model {d_model:,}, "
        "embeddings hold {wide}; with {n_layers} layers at the current width, {deep}."
    )
    (d_model, wide), (n_layers, deep) = (facts.at_the_end(size) for size in facts.over)
    more = text.format(d_model=d_model, wide=percent(wide), n_layers=n_layers, deep=percent(deep))
    return sentences(said, more)


def draw_changes(facts: ChangesFacts, *, _: Translate) -> Picture:
    """A bar a change."""
    names = {name: _(text) for name, text in CHANGES.items()}
    said = {name: _in_short(delta) for name, delta in facts.deltas.items()}
    return changes_picture.differences(facts.deltas, names, said, _=_)


def _in_short(delta: int) -> str:
    """Every digit where there is room, else three with a unit."""
    exact = shared.signed(delta)
    short = ("+" if delta > 0 else "−") + shared.short(abs(delta))
    return exact if len(exact) <= LONGEST else short


def change_rows(facts: ChangesFacts) -> pd.DataFrame:
    """What each change does."""
    found = facts.changes
    rows = {
        _("variant"): [_(CHANGES[change.name]) for change in found],
        "Δ": [shared.signed(delta) for delta in facts.deltas.values()],
        _("new total"): [f"{change.total:,}" for change in found],
    }
    if any(change.active < change.total for change in found):
        rows[_("active per token")] = [f"{change.active:,}" for change in found]
    return pd.DataFrame({**rows, _("why"): [_(WHY[change.name]) for change in found]})


def change_choice(found: dict[str, Variation]) -> None:
    """Choose a change, see what it does, take it over."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="change_choice"):
        chosen = st.selectbox(
            _("Change your configuration"),
            [*found],
            format_func=lambda name: _(CHANGES[name]),
            key=f"chosen_change_{current_language()}_{'_'.join(found)[:200]}",
        )
        st.button(
            _("Apply"),
            icon=":material/edit:",
            on_click=_apply,
            args=(found[chosen],),
            key="apply_change",
        )
    st.caption(_(WHY[chosen]))


def apply_clicked(found: dict[str, Variation], customdata: list[Any]) -> None:
    """The bar of a change was clicked."""
    if customdata[0] in found:
        _apply(found[customdata[0]])


def _apply(change: Variation) -> None:
    """Set what changes; what follows from other sizes (None) goes on following."""
    for name, value in change.changes.items():
        if value is not None:
            link.change(name, str(value) if isinstance(value, str) else value)
    link.redraw_everything()


@section
def what_changes_it(run: Run) -> None:
    """Each change counted against the reader's own configuration; a click takes it over."""
    config = run.config
    facts = changes_facts(config)
    found = {change.name: change for change in facts.changes}
    with explained(("parameter_changes",), (variations.variations,), key="changes_story"):
        say(says_changes, config, facts=changes_facts)
    click = partial(apply_clicked, found)
    show(draw_changes, config, facts=changes_facts, key="differences", on_click=click)
    change_choice(found)
    with details(_("All changes, down to the last parameter"), icon=":material/table:"):
        show_table(change_rows(facts), key="change_table")


@section
def where_it_goes(run: Run) -> None:
    """Shares of embeddings, attention and feed-forward over width and depth."""
    code = (growth.over_width, growth.over_depth)
    with explained(("parameter_growth",), code, key="growth_story"):
        say(says_growth, run.config, facts=growth_facts)
    for column, draw in zip(columns(2), changes_picture.OVER, strict=True):
        with column:
            show(draw, run.config, facts=growth_facts, key=draw.__name__)
    note(_("d_ff and separately set head widths grow with d_model; the vocabulary stays the same."))
