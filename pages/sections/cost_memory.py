"""Memory to train or to use a model, and the devices that it fits into."""

import streamlit as st

from blocks import ModelConfig
from blocks.cost import activations, fit
from blocks.cost.fit import Setup
from pages.figures import memory_bars, memory_growth
from pages.ui import link
from pages.ui.chart import show
from pages.ui.cost import chosen, controls, counted, frames, memory_words, tables
from pages.ui.cost.chosen import Shape
from pages.ui.explain import explained, heading, note
from pages.ui.frame import section
from pages.ui.language import _


@section
def where_memory_goes(config: ModelConfig) -> None:
    """Weights, gradients, states, activations, cache; what each choice changes; what it fits."""
    code = (activations.training_activations, fit.training_need, fit.inference_need)
    is_training, shape = chosen.is_training(), chosen.shape()
    setup = chosen.setup(is_training=is_training)
    with explained(("training_memory", "kv_cache"), code, key="memory"):
        controls.memory_controls(setup, is_training=is_training)
    sentence = memory_words.memory_sentence(config, setup, shape, is_training=is_training)
    st.info(sentence, icon=":material/lightbulb:")
    here, usable = link.value("device"), link.value("usable_memory")
    shown = config, setup, shape, is_training, here, usable
    show(draw_memory, *shown, key="memory_bars", alt=memory_words.memory_alt)
    note(memory_words.bars_note())
    if is_training:
        with st.expander(_("Activation memory, term by term"), icon=":material/functions:"):
            tables.kept(config, setup, shape)
        note(memory_words.kept_note(config, setup))
    else:
        note(memory_words.use_note())
    what_fits(shown)


def what_fits(shown: tuple) -> None:
    """Every device: enough or not, and how far it goes."""
    config, setup, shape, is_training, here, usable = shown
    code = (fit.largest,)
    heading(_("Does it fit?"), ("devices",), code, key="fits")
    controls.fit_controls(setup.n_devices)
    found = counted.fits(config, setup, shape, here, usable, is_training=is_training)
    st.info(memory_words.fits_sentence(found, setup.n_devices), icon=":material/lightbulb:")
    tables.fits(found)
    note(memory_words.fits_note(config, shape, setup.n_devices, is_training=is_training))
    show(draw_growth, *shown, key="memory_growth", alt=memory_words.growth_alt)
    note(memory_words.growth_sentence(config, setup, shape, is_training=is_training))
    with st.expander(_("Vendor specifications"), icon=":material/memory:"):
        tables.hardware()


def draw_memory(
    config: ModelConfig, setup: Setup, shape: Shape, is_training: bool, here: str, usable: float
):
    """What was chosen, and one thing at a time done otherwise."""
    table = frames.memory_rows(config, setup, shape, is_training=is_training)
    title = memory_words.memory_title(setup.n_devices, is_training=is_training)
    return memory_bars.memory_bars(
        table,
        frames.need_names(is_training=is_training),
        frames.device_lines(here, usable, setup.n_devices),
        title=title,
        _=_,
    )


def draw_growth(
    config: ModelConfig, setup: Setup, shape: Shape, is_training: bool, here: str, usable: float
):
    """Memory against the length."""
    table = frames.growth_rows(config, setup, shape, is_training=is_training)
    return memory_growth.growth(
        table,
        frames.growth_names(config, is_training=is_training),
        frames.device_lines(here, usable, setup.n_devices),
        shape.n,
        title=memory_words.growth_title(setup.n_devices),
        _=_,
    )
