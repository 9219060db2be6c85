"""Published models, counted to the last parameter, and where the reader's stands among them."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost import published
from blocks.cost.parameters import count_parameters
from blocks.cost.published import PublishedFacts
from blocks.cost.setup import WeightFormat
from blocks.cost.units import bytes_text
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.model.presets import Preset
from pages.figures.theme import Picture, Translate
from pages.page.declared import Panel
from pages.panels.parameters import published_models_picture
from pages.server import starts
from pages.show.parts import Controls, Details, Matrix, Note, Say, Table
from pages.stage import link, present
from pages.stage.press import press
from pages.words import terms
from pages.words.language import _, current_language, fill

MOST_IN_CLASS = 14
published_facts = lru_cache(maxsize=64)(published.published_facts)


def says_published(facts: PublishedFacts) -> str:
    """Between which published models this one stands."""
    text = _(
        "Your model, with {own:,} parameters, is {ratio:.2g} times as large as {title}, the "
        "smallest here."
    )
    if facts.same:
        text = _("The model set here has {own:,} parameters, exactly as many as {same}.")
    elif facts.below and facts.above:
        text = _("Your model, with {own:,} parameters, lies between {below} and {above}.")
    elif facts.below:
        text = _(
            "Your model, with {own:,} parameters, is {ratio:.2g} times as large as {title}, the "
            "largest here."
        )
    ends = {"same": facts.same, "below": facts.below, "above": facts.above}
    titles = {name: _(each.title) for name, each in ends.items() if each}
    return fill(text, facts, title=_(facts.nearest.title), **titles)


def draw_published(facts: PublishedFacts, *, _: Translate) -> Picture:
    names = {kind: terms.option(kind) for kind in Architecture}
    return published_models_picture.dots(facts, names, _=_)


def drawn_facts(config: ModelConfig, is_in_class: bool) -> PublishedFacts:
    """What has room in a class: every third of them, the largest and the reader's among these."""
    facts = published_facts(config)
    step = -(-len(facts.models) // MOST_IN_CLASS) if is_in_class else 1
    return replace(facts, models=facts.models[::-step][::-1])


def published_rows(facts: PublishedFacts) -> pd.DataFrame:
    """Published models, the smallest first."""
    found = facts.models
    return pd.DataFrame(
        {
            _("model"): [_(each.title) for each in found],
            _("parameters"): [each.total for each in found],
            _("active per token"): [each.active for each in found],
            "bfloat16": [bytes_text(WeightFormat.BFLOAT16.bytes_of(each.total)) for each in found],
            _("architecture"): [terms.option(each.config.architecture) for each in found],
            "d_model": [each.config.d_model for each in found],
            _("number of layers"): [each.n_layers for each in found],
            _("reference"): [_(each.source) for each in found],
        }
    )


def published_choice(config: ModelConfig) -> None:
    """Take a published model as the one that all pages show."""
    titles = {each.name: _(each.title) for each in published_facts(config).models}
    with st.container(horizontal=True, vertical_alignment="bottom", key="published_choice"):
        chosen = st.selectbox(
            _("Use a published model"),
            [*titles],
            format_func=titles.__getitem__,
            key=f"chosen_published_{current_language()}",
        )
        press(_("Use this model"), "take_published", take, [chosen], icon="download_done")


def take(customdata: list[Any]) -> None:
    """A published model was chosen, or its dot clicked."""
    if starts.is_known(str(customdata[0])):
        link.change("preset", str(customdata[0]))
        link.redraw_everything()


PANEL = Panel(
    "published",
    N_("How large are other models?"),
    fields=("n_layers", "d_model", "n_kv_heads", "d_ff"),
    concepts=("published_models",),
    code=(count_parameters, Preset),
    at=lambda run: (run.config, present.is_on()),
    facts=published_facts,
    shows=(
        Say(says_published),
        Matrix(draw_published, "published", click=take, room=490, facts=drawn_facts),
        Controls(published_choice),
        Details(N_("Table with sources"), Table(published_rows, "published_models", counts=(1, 2))),
        Note(
            N_(
                "Parameters are counted by formula; where a model's weights are published, "
                "tests check the count against those weights and against transformers. BERT "
                "and BART are counted without a language-modeling head, BERT with its pooler."
                " Fixed position tables (sinusoidal, as in Marian) are not learned and not "
                "counted. Vaswani et al. 2017 state 65 and 213 million parameters, with a "
                "vocabulary of about 37,000 tokens."
            )
        ),
    ),
)
