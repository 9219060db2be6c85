"""What changes the number of parameters, one change at a time, and where it goes with size."""

from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost import growth, variations
from blocks.cost.growth import GrowthFacts
from blocks.cost.variations import ChangesFacts, Variation
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.theme import Picture, Translate
from pages.page.declared import Panel
from pages.panels.parameters import changes_picture, shared
from pages.show.parts import Beside, Controls, Details, Matrix, Note, Say, Table
from pages.stage import link
from pages.stage.press import press
from pages.words.language import _, current_language, fill, sentences

LONGEST = len("+999,999,999")  # of a number that has room with every digit
changes_facts = lru_cache(maxsize=64)(variations.changes_facts)
growth_facts = lru_cache(maxsize=32)(growth.growth_facts)
CHANGES = {
    "twice_the_heads": N_("twice the heads, half as wide"),
    "half_the_heads": N_("half the heads, twice as wide"),
    "one_kv_head": N_("MQA: one key/value head"),
    "kv_as_many": N_("multi-head attention (MHA): keys and values for each head"),
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
    "untied": N_("This adds vocab_size · d_model parameters."),
    "rope": N_(
        "The table of max_seq_len · d_model parameters is gone: rotations are "
        "computed, not learned."
    ),
    "learned_positions": N_("This adds d_model parameters for each of the max_seq_len positions."),
    "no_biases": N_("Each output of each projection has one parameter fewer, which is negligible."),
    "biases": N_("Each output of each projection has one parameter more, which is negligible."),
    "layernorm": N_("There is a shift as well as a scale, with d_model more parameters per norm."),
    "rmsnorm": N_("There is only a scale and no shift, so each norm has d_model fewer parameters."),
    "no_norms": N_(
        "All scales and shifts are gone; they are few in number but important for training."
    ),
    "norms": N_(
        "Each norm has d_model scale parameters and d_model shift parameters, a negligible number."
    ),
    "plain": N_(
        "gate_proj is gone, and with it a third of the feed-forward layer's matrix parameters."
    ),
    "gated": N_("gate_proj is added, so the feed-forward layer's matrices grow by half."),
    "gated_narrower": N_(
        "Three matrices, each two thirds the size, have as many parameters as before (Shazeer"
        " 2020)."
    ),
    "twice_d_ff": N_("The feed-forward layer doubles in size; everything else stays the same."),
    "experts": N_(
        "There are eight feed-forward layers and a router; each token passes through two of "
        "the layers."
    ),
    "dense": N_("All experts but one are gone, and so is the router."),
    "one_more_layer": N_(
        "This adds the parameters of one more layer of the same kind (in an encoder–decoder, "
        "one per stack)."
    ),
    "twice_as_wide": N_("The matrices of each layer grow fourfold, the embedding twofold."),
}


def says_changes(facts: ChangesFacts) -> str:
    """What heads change, and what changes most."""
    heads = _(
        "The number of heads does not change the parameter count: heads split the same matrices."
    )
    small = _("All norms together make up {small_share:percent} of the model.")
    if facts.has_biases:
        small = _("Biases and norms together make up {small_share:percent} of the model.")
    tied = _("Weight tying saves {tied_saves:,} parameters: vocab_size · d_model.")
    return sentences(
        heads if facts.heads_are_free else "",
        "" if facts.small_share is None else fill(small, facts),
        "" if facts.tied_saves is None else fill(tied, facts),
    )


def says_growth(facts: GrowthFacts) -> str:
    """How the share of embeddings falls, over width and over depth."""
    text = _(
        "Here embeddings hold {embeddings:percent} of the parameters, attention "
        "{attention:percent} and feed-forward layers {feed_forward:percent}."
    )
    if facts.shares["mixer"]:
        text = _(
            "Here embeddings hold {embeddings:percent} of the parameters, the token mixer "
            "{mixer:percent} and feed-forward layers {feed_forward:percent}."
        )
    said = fill(text, facts.shares)
    if not facts.shares["embeddings"]:
        return said
    text = _(
        "Embeddings grow with d_model, but layers grow with its square: embeddings hold "
        "{wide[1]:percent} at d_model {wide[0]:,}, and {deep[1]:percent} with {deep[0]} "
        "layers at the current width."
    )
    wide, deep = (facts.at_the_end(size) for size in facts.over)
    return sentences(said, fill(text, wide=wide, deep=deep))


def draw_changes(facts: ChangesFacts, *, _: Translate) -> Picture:
    """A bar a change."""
    names = {name: _(text) for name, text in CHANGES.items()}
    said = {name: _in_short(delta) for name, delta in facts.deltas.items()}
    return changes_picture.differences(facts.deltas, names, said, _=_)


def _in_short(delta: int) -> str:
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


def says_totals(facts: ChangesFacts, change: Variation) -> str:
    """How many parameters there are now, and with this change."""
    text = _("The total goes from {now:,} to {then:,} parameters.")
    return text.format(now=facts.total, then=change.total)


def changes(config: ModelConfig) -> dict[str, Variation]:
    return {change.name: change for change in changes_facts(config).changes}


def change_choice(config: ModelConfig) -> None:
    """Choose a change, see what it does, take it over."""
    facts, found = changes_facts(config), changes(config)
    with st.container(horizontal=True, vertical_alignment="bottom", key="change_choice"):
        chosen = st.selectbox(
            _("Change your configuration"),
            [*found],
            format_func=lambda name: _(CHANGES[name]),
            key=f"chosen_change_{current_language()}_{'_'.join(found)[:200]}",
        )
        press(_("Apply"), "apply_change", _apply, found[chosen], icon="edit")
    st.caption(sentences(_(WHY[chosen]), says_totals(facts, found[chosen])))


def apply_clicked(customdata: list[Any]) -> None:
    if change := changes(link.config()).get(customdata[0]):
        _apply(change)


def _apply(change: Variation) -> None:
    """Set what changes; what follows from other sizes (None) goes on following."""
    for name, value in change.changes.items():
        if value is not None:
            link.change(name, str(value) if isinstance(value, str) else value)
    link.redraw_everything()


def of_config(run: Run) -> tuple[ModelConfig]:
    return (run.config,)


SIZES = ("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "tie_embeddings")
PANEL = Panel(
    "changes",
    N_("What changes the count?"),
    fields=SIZES,
    concepts=("parameter_changes",),
    code=(variations.variations,),
    at=of_config,
    facts=changes_facts,
    shows=(
        Say(says_changes),
        Matrix(draw_changes, "differences", click=apply_clicked),
        Controls(change_choice),
        Details(N_("All changes, down to the last parameter"), Table(change_rows, "changes")),
    ),
)
GROWTH = Panel(
    "growth",
    N_("What grows fastest?"),
    fields=("n_layers", "d_model", "n_kv_heads", "d_ff", "tie_embeddings"),
    concepts=("parameter_growth",),
    code=(growth.over_width, growth.over_depth),
    at=of_config,
    facts=growth_facts,
    shows=(
        Say(says_growth),
        Beside(*(Matrix(draw, draw.__name__) for draw in changes_picture.OVER)),
        Note(
            N_(
                "d_ff and separately set head widths grow with d_model; the vocabulary stays the "
                "same."
            )
        ),
    ),
)
