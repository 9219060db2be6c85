"""What a reader has set stands in the link, and a second reader who opens it finds it."""

import pkgutil
from importlib import import_module
from typing import Any

import pytest
import streamlit as st
from sessions import leave

from blocks.lessons.lesson import Step
from blocks.lessons.writing import packed
from blocks.model.devices import available_devices
from blocks.model.masks import causal, painted_text
from blocks.model.presets import PRESETS
from pages.server.readers import Field, OneOf, UnreadableError
from pages.stage import link
from pages.state import link_fields
from pages.state.fields import FIELDS, OF_PAGES, is_of_page

pytestmark = pytest.mark.usefixtures("session")

# Texts of which every field reads one or another; those of choices are the choices.
TEXTS = (
    *("1", "2", "0.5", "0.3", "7", "64", "512", "3e9", "true", "false", *PRESETS),
    *(
        "5.17",
        "pre",
        "head_out.0.0:zero",
        "layers.0.scores:1,1",
        "A=n_heads%3D4",
        painted_text(causal(3)),
        "AB23CD",
        "lesson=scaling",
        packed([Step(title="", page="masks", before="", show="steps")]),
        "menu",
    ),
)
# Where there is one device, there is no other.
SETTABLE = [name for name in FIELDS if name != "device" or len(available_devices()) > 1]


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


def test_every_field_that_is_set_is_found_by_who_opens_the_link():
    for name in SETTABLE:
        leave()
        page = next(page for page in OF_PAGES if is_of_page(name, page))
        link.sync(page)
        value = another_value(name)
        link.change(name, value)
        link.sync(page)
        query = st.query_params.to_dict()
        assert query == link.here() and name in query
        leave()
        st.query_params.from_dict(query)
        assert link.sync(page) == (), name
        assert (link.value(name), type(link.value(name))) == (value, type(value)), name


def test_no_two_pages_mean_different_things_by_one_name():
    """What is merged into one table is silent where a name stands in two of them."""
    rooms = [
        each
        for _finder, name, _is_package in pkgutil.iter_modules(link_fields.__path__)
        for table, each in vars(import_module(f"{link_fields.__name__}.{name}")).items()
        if isinstance(each, dict)
        and all(isinstance(f, Field) for f in each.values())
        and table.isupper()
    ]
    distinct = {id(each): each for each in rooms}.values()
    names = [name for each in distinct for name in each]
    twice = {name for name in names if names.count(name) > 1}
    meant = {name for name in twice if len({id(e[name]) for e in distinct if name in e}) > 1}
    assert meant == set()
