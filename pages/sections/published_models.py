"""Published models, counted to the last parameter, and a reader's own config.json."""

import streamlit as st

from blocks.cost.parameters import count_parameters
from blocks.model.presets import Preset
from blocks.observe.run import Run
from blocks.weights import config_json
from pages.figures import published_models
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.parameters import config_file, controls, counted, frames, tables, words
from pages.ui.said import say


@section
def what_others_have(run: Run) -> None:
    """A dot a model, the table with sources; a click takes the model."""
    code = (count_parameters, Preset)
    with explained(("published_models",), code, key="published_story"):
        say(words.published_sentence, run.config)
    alt = words.published_alt
    show(draw_published, run, key="published", alt=alt, on_click=controls.take)
    controls.published_choice()
    with st.expander(_("Table with sources"), icon=":material/table:"):
        tables.published()
    note(
        _(
            "Counted by formula; where a model's weights are published, tests check the "
            "count against them and against transformers. BERT and BART without a "
            "language-modeling head, BERT with its pooler. Vaswani et al. 2017 state 65 "
            "and 213 million, with about 37,000 tokens."
        )
    )


@section
def your_own_file(run: Run) -> None:
    """A config.json, read, counted, and taken over by a button."""
    code = (config_json.read_config_file, config_json.Keys)
    with explained(("config_json",), code, key="config_file_story"):
        config_file.text_controls()
    file = config_file.found()
    if file is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="config_file_count"):
        st.markdown(config_file.sentence(file), width="stretch")
        st.button(
            _("Use this configuration"),
            icon=":material/edit:",
            type="primary",
            on_click=config_file.take_over,
            args=(file,),
            key="use_config_file",
        )
    note(config_file.note(file))
    tables.of_file(file.config)


def draw_published(run: Run):
    """A dot a model, and a line where the reader's stands."""
    table, names = frames.published(), frames.architectures()
    own = counted.total(run.config)
    return published_models.dots(table, names, own=own, own_label=_("yours"), _=_)
