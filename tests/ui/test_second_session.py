"""What a reader has set stands in the link, and a second reader who opens it finds it."""

from collections.abc import Iterator
from typing import Any

import pytest
import streamlit as st

from blocks.model.devices import available_devices
from blocks.model.masks import causal, painted_text
from blocks.model.presets import PRESETS
from pages.ui import link
from pages.ui.fields import FIELDS
from pages.ui.readers import OneOf, UnreadableError

# Texts of which every field reads one or another; those of choices are the choices.
TEXTS = (
    *("1", "2", "0.5", "0.3", "7", "64", "512", "true", "false", *PRESETS),
    *("5.17", "pre", "head_out.0.0:zero", "A=n_heads%3D4", painted_text(causal(3)), "AB23CD"),
)
# Where there is one device, there is no other.
SETTABLE = [name for name in FIELDS if name != "device" or len(available_devices()) > 1]


@pytest.fixture(autouse=True)
def session() -> Iterator[None]:
    """A session of its own."""
    _leave()
    yield
    _leave()


def _leave() -> None:
    st.query_params.clear()
    st.session_state.clear()


def another_value(name: str) -> Any:
    """A value that is not the default, and that the first model can have."""
    read = FIELDS[name].read
    for text in (*(read.options if isinstance(read, OneOf) else ()), *TEXTS):
        try:
            found = {name: read(text)}
        except UnreadableError:
            continue
        if found[name] != link.value_in({}, name) and link.mend(found) == (found, ()):
            return found[name]
    raise AssertionError(f"no text here is another value of {name}")


@pytest.mark.parametrize("name", SETTABLE)
def test_every_field_that_is_set_is_found_by_who_opens_the_link(name: str):
    link.sync("page")
    value = another_value(name)
    link.change(name, value)
    link.sync("page")
    assert name in link.as_query()
    query = st.query_params.to_dict()
    assert query == link.as_query()
    _leave()
    st.query_params.from_dict(query)
    assert link.sync("page") == ()
    assert (link.value(name), type(link.value(name))) == (value, type(value))
