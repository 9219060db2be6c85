"""A trained model shown where the reader's own has nothing to show."""

from typing import Any

import streamlit as st

from blocks.observe.run import Run
from pages.ui import starts
from pages.ui.compare import beside
from pages.ui.language import _
from pages.ui.link_fields.compare import Kept
from pages.ui.ways import way

Way = tuple[str, str, dict[str, Any]]  # label, key, what it sets


def shown_instead(preset: str) -> Run:
    """A run of a trained model on the reader's text, and a line that says so."""
    st.caption(_("Shown here instead: {model}.").format(model=_(starts.start(preset).title)))
    return beside.run_as_it_is(Kept("", (("preset", preset),)))


def led_on(place: st.delta_generator.DeltaGenerator, why: str, preset: str, *ways: Way) -> Run:
    """Say why there is nothing to see, lead to where there is, and run a trained model."""
    place.info(why, icon=":material/info:")
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, key, changes in ways:
            way(label, key, **changes)
        return shown_instead(preset)
