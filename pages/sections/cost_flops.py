"""Operations of a step by formula, and where attention overtakes the rest."""

import streamlit as st

from blocks import ModelConfig
from blocks.cost import crossover
from blocks.cost.fit import Setup
from blocks.cost.passes import PassKind, operations
from pages.figures import crossover as crossover_pictures
from pages.figures import flop_bars
from pages.ui.chart import columns, show
from pages.ui.cost import chosen, controls, counted, flop_words, frames, names, tables
from pages.ui.cost.chosen import Shape
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say


@section
def how_much_is_computed(config: ModelConfig) -> None:
    """FLOPs by operation: forward and back, of a prompt, of one more token."""
    place = explained(("flops", "backward_flops"), (operations,), key="operations")
    controls.pass_choice(config)
    shown = config, chosen.pass_kind(config), chosen.shape(), chosen.setup(is_training=True)
    with place:
        say(flop_words.flops_sentence, *shown)
    left, right = columns([6, 5])
    with left:
        show(draw_operations, *shown, key="operation_bars", alt=flop_words.flops_alt)
    with right:
        tables.passes(config, shown[2])
        if said := flop_words.writing_sentence(config, *shown[2:]):
            note(said)
    with st.expander(_("Every matrix product with its formula"), icon=":material/functions:"):
        tables.operations(*shown)
    note(flop_words.flops_note(config))


def draw_operations(config: ModelConfig, kind: PassKind, shape: Shape, setup: Setup):
    """FLOPs by operation."""
    table = frames.operation_rows(config, kind, shape, setup)
    title = _("FLOPs by operation, all layers: {what}").format(what=names.pass_kind(kind))
    return flop_bars.operation_bars(table, title=title, _=_)


@section
def where_attention_overtakes(config: ModelConfig) -> None:
    """O(n²·d) against O(n·d²)."""
    code = (crossover.crossover, crossover.layer_flops)
    shown = config, chosen.shape().n
    with explained(("crossover",), code, key="crossover"):
        say(flop_words.crossover_sentence, *shown)
    show(draw_crossing, *shown, key="crossover_lines", alt=flop_words.crossover_alt)
    st.code(flop_words.crossover_formula(config), language=None, wrap_lines=True)


def draw_crossing(config: ModelConfig, n: int):
    """FLOPs of one layer against the length."""
    table = counted.layer_growth(config, n)
    return crossover_pictures.crossing(table, crossover.crossover(config), n, _=_)
