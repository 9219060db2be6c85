"""A model pruned as the reader wants it: masks, heads, units and layers, all at once."""

import streamlit as st

from blocks import ConfigError, ModelConfig
from blocks.efficiency.compression import Compression, compressed_config
from blocks.efficiency.names import name_of
from blocks.efficiency.pruning import Criterion, MaskPattern, Scope
from blocks.efficiency.structured import depth_of
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.panels.efficiency import shared
from pages.panels.efficiency.recipe_words import in_words
from pages.show.controls import choose, pick, slider
from pages.show.explain import note
from pages.show.fold import fold
from pages.state.link_fields.efficiency import MaskedAmong
from pages.state.values import State
from pages.words.language import _, say_fault

AMONG_NAMES = {
    MaskedAmong.LAYER: N_("within each matrix"),
    MaskedAmong.GLOBAL: N_("across all matrices"),
    MaskedAmong.TWO_FOUR: N_("2 of every 4"),
}
CRITERION_NAMES = {
    Criterion.MAGNITUDE: N_("smallest first (magnitude)"),
    Criterion.WANDA: N_("smallest contribution first (Wanda)"),
    Criterion.RANDOM: N_("at random (control)"),
}


def prune_your_own(run: Run, state: State) -> None:
    """What is taken out and masked, what that is called, and the way to it."""
    with (own := fold(_("Prune the model your own way"), key="own_pruning")):
        if own.open:
            _controls(config := shared.whole(run, state).file.config, state)
            _way(config, state)


def _controls(config: ModelConfig, state: State) -> None:
    left, right = st.columns(2)
    with left:
        slider("prune_masked", _("% of weights masked"))
        slider("prune_units", _("% of hidden units removed"))
        if config.n_kv_heads > 1:
            n_heads = min(state.prune_heads, config.n_kv_heads - 1)
            label = _("key/value heads removed per layer")
            slider("prune_heads", label, n_heads, most=config.n_kv_heads - 1)
    with right:
        labels = {str(each): _(name) for each, name in CRITERION_NAMES.items()}
        pick("prune_by", _("Order of removal"), Criterion, label_of=labels.__getitem__)
        among = {str(each): _(name) for each, name in AMONG_NAMES.items()}
        choose("prune_among", _("Weights compared"), MaskedAmong, label_of=among.__getitem__)
        if depth_of(config) > 1:
            n_layer = min(state.prune_layer, depth_of(config))
            slider("prune_layer", _("layer to remove (0: none)"), n_layer, most=depth_of(config))


def chosen(config: ModelConfig, state: State) -> Compression:
    """The recipe that the reader has set, as far as this model has what it takes out."""
    among = MaskedAmong(state.prune_among)
    layer = min(state.prune_layer, depth_of(config) if depth_of(config) > 1 else 0)
    is_masked = state.prune_masked > 0
    is_by_fours = is_masked and among is MaskedAmong.TWO_FOUR
    return Compression(
        removed_layers=(layer - 1,) if layer else (),
        removed_heads=min(state.prune_heads, config.n_kv_heads - 1),
        removed_units=state.prune_units / 100,
        sparsity=0.5 if is_by_fours else state.prune_masked / 100,
        criterion=Criterion(state.prune_by),
        pattern=MaskPattern.TWO_FOUR if is_by_fours else MaskPattern.ANY,
        scope=Scope.GLOBAL if is_masked and among is MaskedAmong.GLOBAL else Scope.LAYER,
    )


def _way(config: ModelConfig, state: State) -> None:
    how = chosen(config, state)
    try:
        compressed_config(config, how)
    except ConfigError as error:
        st.error(say_fault(error.faults[0]), icon=":material/block:")
        return
    if not name_of(how):
        note(_("Nothing has been removed yet."))
        return
    note(f"`{name_of(how)}` · {in_words(how)}")
    shared.way_to(how, _("Show this model on all pages"), "use_pruned")
