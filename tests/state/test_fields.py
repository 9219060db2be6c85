"""Every value that a link can carry, read from any text at all."""

from collections.abc import Callable
from enum import StrEnum
from itertools import product
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks import Fault
from blocks.model.config import FIELDS as CONFIG_TYPES
from blocks.model.config import ModelConfig
from pages.server import readers
from pages.server.readers import UnreadableError
from pages.server.settings import TYPED_CHARACTERS
from pages.stage import link
from pages.state.fields import FIELDS

NASTY = (
    *("", " ", "\x00", "<script>", "🤖👩‍👩‍👧", "{0}{name}"),
    *("NaN", "-1", "0", "1.5", "1e400", "9" * 500, "٣", "1_0"),
    *("None", "True"),
)
# Where a link is silent, the page decides.
WHOLE = (
    *(
        "answer_a",
        "answer_b",
        "layer",
        "head",
        "token",
        "at_step",
        "key",
        "position_pair",
        "trained_len",
        "lecture_at",
        "change_layer",
        "change_head",
    ),
    *("target_step", "beam_node", "target_token", "n_training_tokens", "tensor_parallel"),
)
OPEN = {"lang": str, "shown_position": str, **dict.fromkeys(WHOLE, int)}


def type_of(name: str) -> type:
    """What a field holds: an enum is carried as its word."""
    kind = CONFIG_TYPES.get(name, type(link.value_in({}, name)))
    kind = OPEN.get(name, next(iter(get_args(kind)), kind))
    return str if issubclass(kind, StrEnum) else kind


TYPES = {name: type_of(name) for name in FIELDS}


def says_it(fault: Fault) -> str:
    """The sentence of a fault; every brace that the template has was filled."""
    said = str(fault)
    plain_values = {name: "x" for name in fault.values}
    assert said and not set("{}") & set(fault.text.format(**plain_values))
    return said


def test_anything_is_read_as_its_type_or_reported():
    for name, text in product(FIELDS, NASTY):
        values, faults = link.read({name: text})
        assert values.keys() <= {name}, (name, text)
        assert all(type(found) is TYPES[name] for found in values.values()), (name, text)
        assert all(name in says_it(fault) for fault in faults), (name, text)
        assert len(faults) <= 1, (name, text)


def test_anything_leads_to_a_model_that_can_be_built():
    for name, text in product(FIELDS, NASTY):
        values, faults = link.mend(link.read({name: text}).values)
        config = ModelConfig.from_flat({k: v for k, v in values.items() if k in CONFIG_TYPES})
        assert type(config.d_head) is int, (name, text)
        assert all(map(says_it, faults)), (name, text)


def test_every_default_is_read_back_as_itself():
    for name, field in FIELDS.items():
        default = link.value_in({"lang": "en"}, name)
        text = str(default).lower() if isinstance(default, bool) else str(default)
        assert default is None or field.read(text) == default, name


@pytest.mark.parametrize(
    ("read", "good", "value"),
    [
        (readers.whole(1, 8), "8", 8),
        (readers.number, "1e-5", 1e-5),
        (readers.choice(("pre", "post")), "post", "post"),
        (readers.flag, "false", False),
        (readers.sentence, "a b", "a b"),
    ],
)
def test_a_good_value_is_read(read: Callable[[str], Any], good: str, value: Any):
    found = read(good)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("read", "bad", "nearest"),
    [
        (readers.whole(1, 8), "9", 8),
        (readers.whole(1, 8), "-3", 1),
        (readers.whole(1, 8), "9" * 5000, 8),
        (readers.whole(1, 8), "8.0", None),
        (readers.number, "inf", None),
        (readers.choice(("pre", "post")), "Post", None),
        (readers.flag, "True", None),
        (readers.flag, "1", None),
        (readers.sentence, "x" * (TYPED_CHARACTERS + 1), "x" * TYPED_CHARACTERS),
    ],
)
def test_a_bad_value_is_refused_with_the_nearest(
    read: Callable[[str], Any], bad: str, nearest: Any
):
    with pytest.raises(UnreadableError) as error:
        read(bad)
    assert error.value.nearest == nearest


@given(st.text())
def test_no_text_breaks_a_reader(text: str):
    for name, field in FIELDS.items():
        try:
            found = field.read(text)
        except UnreadableError as error:
            found = error.nearest
        assert found is None or type(found) is TYPES[name], name
