"""The link is the state: what is read, left out, mended and said."""

from collections.abc import Mapping
from typing import Any

import pytest
import streamlit as session
from hypothesis import given
from hypothesis import strategies as st

from blocks.model.config import ModelConfig
from blocks.model.masks import MaskKind
from blocks.model.presets import PRESET_TABLE, PRESETS
from pages.server import starts
from pages.server.settings import MAX_CHARACTERS
from pages.stage import link
from pages.state.fields import CONFIG, FIELDS, RUN, SAMPLES

VALUES = st.one_of(
    st.text(max_size=20),
    st.integers(-5, 5000).map(str),
    st.floats().map(str),
    st.sampled_from(["true", "false", "rope", "none", "post", "zh", *MaskKind, *PRESETS]),
)
QUERIES = st.dictionaries(st.sampled_from(list(FIELDS)) | st.text(max_size=8), VALUES)


def config_of(values: Mapping[str, Any]) -> ModelConfig:
    changes = {name: found for name, found in values.items() if name in CONFIG}
    return starts.start(link.value_in(values, "preset")).config.replace(**changes)


@given(QUERIES)
def test_any_link_leads_to_a_state_that_can_be_built(query: dict[str, str]):
    read = link.read(query)
    mended = link.mend(read.values)
    assert all(str(fault) for fault in (*read.faults, *mended.faults))
    assert config_of(mended.values).flat()
    assert link.mend(mended.values) == (mended.values, ())


@given(QUERIES)
def test_a_state_survives_its_own_link(query: dict[str, str]):
    values, _ = link.mend(link.read(query).values)
    link.become(values)
    again, faults = link.read(link.as_query())
    session.session_state.clear()
    assert faults == ()
    assert link.mend(again) == (again, ())
    assert all(link.value_in(again, name) == link.value_in(values, name) for name in FIELDS)


@given(QUERIES)
def test_what_is_read_differs_from_its_default(query: dict[str, str]):
    values, _ = link.read(query)
    for name, found in values.items():
        rest = {other: kept for other, kept in values.items() if other != name}
        assert found != link.value_in(rest, name)


def test_an_unknown_parameter_is_reported_and_left_out():
    values, (fault,) = link.read({"nonsense": "1", "d_model": "512"})
    assert values == {"d_model": 512}
    assert "nonsense" in str(fault)


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"d_model": "256", "norm_placement": "pre"},
        {"preset": "gpt2-small", "d_model": "768", "activation": "gelu_tanh"},
        {"mask_kind": "causal_padding", "n_padding": "3"},
        {"lang": "zh", "text": SAMPLES["zh"]},
    ],
)
def test_a_value_equal_to_its_default_is_left_out(query: dict[str, str]):
    values, faults = link.read(query)
    assert values.keys() <= {"preset", "mask_kind", "lang"}
    assert faults == ()


@pytest.mark.parametrize("preset", PRESET_TABLE)
def test_a_preset_in_the_link_is_the_whole_configuration(preset: str):
    values, faults = link.mend(link.read({"preset": preset}).values)
    assert (config_of(values), faults) == (PRESETS[preset], ())
    assert link.value_in(values, "mask_kind") == PRESET_TABLE[preset].mask_kind


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"n_heads": "6"}, {"n_heads": 4}),
        ({"n_heads": "300"}, {"n_heads": 256}),
        ({"n_kv_heads": "3"}, {"n_kv_heads": 2}),
        ({"d_model": "-1"}, {"d_model": 1, "n_heads": 1}),
        ({"d_model": "257", "position_kind": "rope"}, {"position_kind": "sinusoidal"}),
        ({"position_kind": "rope", "n_heads": "256"}, {"n_heads": 128}),
        ({"dropout": "1"}, {"dropout": 0.99}),
        ({"preset": "smollm2-135m", "n_heads": "4"}, {"n_heads": 4, "n_kv_heads": 2}),
    ],
)
def test_what_cannot_be_built_is_mended_and_said(query: dict[str, str], expected: dict[str, Any]):
    values, faults = link.mend(link.read(query).values)
    assert {name: link.value_in(values, name) for name in expected} == expected
    assert faults
    assert all("use" in str(fault) for fault in faults)


@pytest.mark.parametrize("query", [{"norm_eps": "0"}, {"rope_base": "0.5"}])
def test_a_mend_that_is_the_default_is_left_out(query: dict[str, str]):
    assert link.mend(link.read(query).values).values == {}


def test_the_order_of_a_link_does_not_matter():
    ways = [
        {"n_padding": "x", "mask_kind": "padding", "lang": "zh"},
        {"lang": "zh", "mask_kind": "padding", "n_padding": "x"},
    ]
    assert link.read(ways[0]).values == link.read(ways[1]).values


def test_every_field_has_one_home():
    assert not CONFIG.keys() & RUN.keys()
    assert CONFIG.keys() == ModelConfig().flat().keys() - {"architecture"}  # the page's


def test_a_link_of_a_moment_ago_is_no_link_that_was_opened(monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr(link.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(link.st, "session_state", {})
    link.become({"preset": "course", "d_model": 64})
    link.write()
    link.change("d_model", 96)
    link.write()
    old = {"preset": "course", "d_model": "64"}
    assert link._is_just_left(old)
    assert not link._is_just_left({"preset": "course", "d_model": "32"})
    now[0] += 1
    assert not link._is_just_left(old)


@pytest.mark.usefixtures("session")
def test_two_answers_are_tokens_of_one_vocabulary():
    link.become({"preset": "stories-en-zh", "answer_a": 5, "answer_b": 7})
    link.change("preset", "story")
    assert not {"answer_a", "answer_b"} & link.state().keys()


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("name", link.TEXTS)
def test_a_link_carries_the_beginning_of_a_long_text_and_finds_the_last_few_whole(name: str):
    for i in range(2 * link.N_LONG_TEXTS):
        text = f"{i} " + "x" * MAX_CHARACTERS
        link.become({name: text})
        query = link.as_query()
        assert query[name] == text[:MAX_CHARACTERS] and link.read(query).values[name] == text
    assert len(session.session_state[link.LONG_TEXTS.name]) == link.N_LONG_TEXTS


@pytest.mark.usefixtures("session")
def test_what_one_panel_trains_is_not_asked_of_another():
    link.sync("phases")
    link.change("train_phase", True)
    assert link.is_set_here("train_phase")
    link.change("panel", "branch")
    assert not link.is_set_here("train_phase") and not link.value("train_phase")
