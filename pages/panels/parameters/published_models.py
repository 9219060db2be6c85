"""Published models, counted to the last parameter, and where the reader's stands among them."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st

from blocks.cost import published
from blocks.cost.parameters import count_parameters
from blocks.cost.published import PublishedFacts
from blocks.cost.setup import WeightFormat
from blocks.cost.units import bytes_text
from blocks.model.kinds import Architecture
from blocks.model.presets import Preset
from blocks.observe.run import Run
from pages.figures.theme import Picture, Translate
from pages.panels.parameters import published_models_picture
from pages.ui import link, present, starts, terms
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.fold import details
from pages.ui.frame import section
from pages.ui.language import _, current_language
from pages.ui.said import say
from pages.ui.tables import show_table

MOST_IN_CLASS = 14
published_facts = lru_cache(maxsize=64)(published.published_facts)


def says_published(facts: PublishedFacts) -> str:
    """Between which published models this one stands."""
    if facts.same:
        text = _("Your model has exactly as many parameters as {title}.")
        return text.format(title=_(facts.same.title))
    if facts.below and facts.above:
        text = _("Your model, with {own:,} parameters, lies between {below} and {above}.")
        ends = {"below": _(facts.below.title), "above": _(facts.above.title)}
        return text.format(own=facts.own, **ends)
    text = _(
        "Your model, with {own:,} parameters, is {times} times as large as {title}, the "
        "smallest here."
    )
    if facts.below:
        text = _(
            "Your model, with {own:,} parameters, is {times} times as large as {title}, the "
            "largest here."
        )
    return text.format(own=facts.own, times=f"{facts.ratio:.2g}", title=_(facts.nearest.title))


def draw_published(facts: PublishedFacts, *, _: Translate) -> Picture:
    """A dot per model, and a line where the reader's stands."""
    names = {kind: terms.option(kind) for kind in Architecture}
    return published_models_picture.dots(facts, names, _=_)


def draw_some(facts: PublishedFacts, *, _: Translate) -> Picture:
    """Every third of them, the largest and the reader's among these: what has room in a class."""
    step = -(-len(facts.models) // MOST_IN_CLASS)
    return draw_published(replace(facts, models=facts.models[::-step][::-1]), _=_)


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


def published_choice(facts: PublishedFacts) -> None:
    """Take a published model as the one that all pages show."""
    titles = {each.name: _(each.title) for each in facts.models}
    with st.container(horizontal=True, vertical_alignment="bottom", key="published_choice"):
        chosen = st.selectbox(
            _("Use a published model"),
            [*titles],
            format_func=titles.__getitem__,
            key=f"chosen_published_{current_language()}",
        )
        st.button(
            _("Use this model"),
            icon=":material/download_done:",
            on_click=take,
            args=([chosen],),
            key="take_published",
        )


def take(customdata: list[Any]) -> None:
    """A published model was chosen, or its dot clicked."""
    if starts.is_known(str(customdata[0])):
        link.change("preset", str(customdata[0]))
        link.redraw_everything()


@section
def what_others_have(run: Run) -> None:
    """A dot per model, the table with sources; a click takes the model."""
    with explained(("published_models",), (count_parameters, Preset), key="published_story"):
        say(says_published, run.config, facts=published_facts)
    show(
        draw_some if present.is_on() else draw_published,
        run.config,
        facts=published_facts,
        key="published",
        on_click=take,
        room=490,
    )
    facts = published_facts(run.config)
    with present.aside():
        published_choice(facts)
    with details(_("Table with sources"), icon=":material/table:"):
        counts = [_("parameters"), _("active per token")]
        show_table(published_rows(facts), key="published_table", counts=counts)
    note(
        _(
            "Counted by formula; where a model's weights are published, tests check the "
            "count against those weights and against transformers. BERT and BART are counted "
            "without a language-modeling head, BERT with its pooler. Fixed position tables "
            "(sinusoidal, as in Marian) are not learned and not counted. Vaswani et al. 2017 "
            "state 65 and 213 million parameters, with a vocabulary of about 37,000 tokens."
        )
    )
