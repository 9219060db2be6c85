"""What is said where something else stands in the place of attention."""

import streamlit as st

from blocks import ModelConfig
from blocks.inspection import source
from blocks.model.kinds import TokenMixer
from pages.show import beside
from pages.show.explain import explained
from pages.show.ways import way
from pages.words import terms
from pages.words.language import _


def attend(config: ModelConfig) -> bool:
    """Whether the model of the page attends, and the one that stands beside it."""
    pair = beside.found()
    return config.attends and (pair is None or pair.a.config.attends)


def attend_somewhere(config: ModelConfig) -> bool:
    pair = beside.found()
    return config.has_attention and (pair is None or pair.a.config.has_attention)


def no_attention(config: ModelConfig, place: str) -> None:
    """Why a panel about attention is empty, and the way to a model that has some."""
    pair = beside.found()
    if config.attends and pair:
        only_a(pair, place)
        return
    if config.is_hybrid:
        only_some(config, place)
        return
    text = _(
        "There is no attention pattern here: tokens are mixed by a {mixer} layer. It keeps a "
        "fixed-size state and never compares two tokens, so no query attends to any key. "
        "Choose attention to see this panel."
    )
    code = source.part_source(config, "attention")
    said = explained(("token_mixers",), code, key=f"no_attention_{place}")
    said.info(text.format(mixer=terms.option(config.token_mixer)), icon=":material/visibility_off:")
    to_attention(place)


def only_some(config: ModelConfig, place: str) -> None:
    """A panel that follows attention through the whole stack, of which only some layers attend."""
    text = _(
        "Attention is used in only {attending} of the {n} layers. The others keep a state "
        "({mixer}), through which attention cannot be traced. This panel needs attention in "
        "every layer."
    )
    code = source.part_source(config, "attention")
    said = explained(("token_mixers",), code, key=f"some_{place}")
    said.info(
        text.format(
            n=config.n_layers,
            attending=config.n_attention_layers,
            mixer=terms.option(config.token_mixer),
        ),
        icon=":material/visibility_off:",
    )
    to_attention(place)


def only_a(pair: beside.Beside, place: str) -> None:
    """A is kept as it is: B can be seen without it."""
    text = _(
        "A has no attention pattern: its tokens are mixed by a {mixer} layer. Show B alone "
        "to see this panel."
    )
    mixer = terms.option(pair.a.config.token_mixer)
    st.info(text.format(mixer=mixer), icon=":material/visibility_off:")
    way(_("Show B alone"), f"b_alone_{place}", beside=False)


def no_pairs(config: ModelConfig) -> None:
    """Why nothing grows with n² where no token meets another."""
    pair = beside.found()
    found = pair.a.config if config.has_attention and pair else config
    text = _(
        "There is no n² term here: a {mixer} layer costs the same for every token, however "
        "many came before. Choose attention to see where the cost of token pairs overtakes "
        "that of the weights."
    )
    st.info(text.format(mixer=terms.option(found.token_mixer)), icon=":material/trending_flat:")
    if config.has_attention:
        way(_("Show B alone"), "b_alone_crossover", beside=False)
    else:
        to_attention("crossover")


def to_attention(place: str) -> None:
    way(_("Use attention"), f"use_attention_{place}", token_mixer=str(TokenMixer.ATTENTION))


def says_mask(config: ModelConfig) -> str:
    """That a mask has no say in a state; empty where tokens attend."""
    if config.attends:
        return ""
    text = _(
        "A {mixer} layer reads everything from left to right, padding included, so the mask "
        "has no effect on it."
    )
    if config.is_hybrid:
        text = _(
            "Layers with a state ({mixer}) read everything from left to right, padding "
            "included, so the mask has no effect on them."
        )
    return text.format(mixer=terms.option(config.token_mixer))


def says_shown(config: ModelConfig, chosen: TokenMixer) -> str:
    """That a page shows attention where another token mixer was chosen; empty elsewhere."""
    if chosen is config.token_mixer:
        return ""
    return _(
        "This page shows another architecture ({kind} with attention): a {mixer} layer works "
        "only in a model that reads one text from left to right."
    ).format(kind=terms.option(config.architecture), mixer=terms.option(chosen))
