"""A configuration is checked at birth, and every fault knows its mend."""

import dataclasses
import math
import string
import typing
from enum import StrEnum
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from steps import steps
from toy import D_MODEL, toy

from blocks import ConfigError, Fault, ModelConfig
from blocks.model.config import DEFAULTS, FIELDS, OPTIONS
from blocks.model.kinds import AttentionGate, NormKind
from blocks.model.legal import divisors, neighbours
from blocks.model.options import LARGEST_SIZE, Option
from blocks.model.parts import AttentionConfig, NormConfig

SIZES = st.integers(1, 4096) | st.sampled_from([1, 2, 8, 64, 256, LARGEST_SIZE])
# Mixtures of more experts than any model has would hardly ever have groups that fit.
FEW = {"n_experts": 64, "n_active_experts": 64, "n_expert_groups": 8, "n_active_groups": 8}


def right(option: Option) -> st.SearchStrategy:
    """Values that an option may have by itself: of its type, within its bounds."""
    kinds = typing.get_args(option.kind) or (option.kind,)
    if kinds[0] is bool:
        found = st.booleans()
    elif issubclass(kinds[0], StrEnum):
        found = st.sampled_from(kinds[0]) | st.sampled_from([*map(str, kinds[0])])
    elif kinds[0] is str:
        found = st.sampled_from(["", "1", "1,2"])
    elif kinds[0] is float:
        least, most = option.check.least, option.check.most
        whole = st.integers(math.ceil(least), min(int(most), 100))
        found = st.floats(least, most, exclude_min=option.check.is_open)
        found = found | whole.filter(lambda n: not (option.check.is_open and n == least))
    elif option.check.most < LARGEST_SIZE or option.name in FEW:
        found = st.integers(option.check.least, min(option.check.most, FEW.get(option.name, 64)))
    else:
        found = SIZES if option.check.least else st.just(0) | SIZES
    return st.none() | found if type(None) in kinds else found


RIGHT = {name: right(option) for name, option in OPTIONS.items()}
WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.floats(),
    st.text(),
    st.lists(st.integers(), max_size=2),
    st.sampled_from(
        [math.nan, math.inf, 0, -1, -0.0, "pre", "swiglu", b"pre", np.int64(8), {}, {1}]
    ),
)
FLAT_VALUES = st.fixed_dictionaries({}, optional={name: RIGHT[name] | WRONG for name in FIELDS})
RIGHT_VALUES = st.fixed_dictionaries({}, optional=RIGHT)

many = settings(max_examples=75)


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def assert_well_worded(fault: Fault) -> None:
    assert placeholders(fault.text) <= fault.values.keys()
    assert str(fault).strip()


@many
@given(FLAT_VALUES)
def test_any_values_make_a_configuration_or_a_config_error(values: dict[str, Any]):
    try:
        config = ModelConfig.from_flat(values)
    except ConfigError as error:
        assert error.faults
        for fault in error.faults:
            assert_well_worded(fault)
            assert fault.mend
            assert str(fault) in str(error)
    else:
        assert {name: config.flat()[name] for name in values} == values
        assert hash(config) == hash(ModelConfig.from_flat(config.flat()))


@many
@given(FLAT_VALUES | RIGHT_VALUES)
def test_nearest_is_always_a_configuration(values: dict[str, Any]):
    config, mended = ModelConfig().nearest(**values)
    assert ModelConfig.from_flat(config.flat()) == config
    for fault in mended:
        assert_well_worded(fault)
    kept = values.keys() - {name for fault in mended for name in fault.mend}
    assert {name: config.flat()[name] for name in kept} == {name: values[name] for name in kept}


@many
@given(RIGHT_VALUES)
def test_nearest_changes_nothing_where_nothing_is_wrong(values: dict[str, Any]):
    config, mended = ModelConfig().nearest(**values)
    if not mended:
        assert config == ModelConfig.from_flat(values)
    else:
        with pytest.raises(ConfigError):
            ModelConfig.from_flat(values)


def test_every_field_is_mended_alone():
    anything = (math.nan, math.inf, -math.inf, None, "x", "", [], {}, True, -1)
    for name, value in product(FIELDS, anything):
        config, _ = ModelConfig().nearest(**{name: value})
        assert ModelConfig.from_flat(config.flat()) == config, (name, value)


@pytest.mark.parametrize(
    ("changes", "message", "mend"),
    [
        (
            {"n_heads": 6, "d_model": 256},
            "n_heads (6) does not divide d_model (256): use 4 / 8",
            {"n_heads": 4},
        ),
        (
            {"n_heads": 8, "n_kv_heads": 3},
            "n_kv_heads (3) does not divide n_heads (8): use 2 / 4",
            {"n_kv_heads": 2},
        ),
        (
            {"n_heads": 512},
            "n_heads (512) does not divide d_model (256): use 256",
            {"n_heads": 256},
        ),
        (
            {"d_model": 0, "n_heads": 1},
            "d_model (0) must be from 1 to 1000000: use 1",
            {"d_model": 1},
        ),
        ({"d_model": "many"}, "d_model cannot be 'many': use 256", {"d_model": 256}),
        ({"d_model": math.nan}, "d_model cannot be nan: use 256", {"d_model": 256}),
        (
            {"norm_kind": "l2"},
            "norm_kind cannot be 'l2': use layernorm",
            {"norm_kind": "layernorm"},
        ),
        ({"dropout": 1.0}, "dropout (1.0) must be a probability", {"dropout": 0.99}),
        ({"dropout": -0.5}, "dropout (-0.5) must be a probability", {"dropout": 0.0}),
        ({"norm_eps": 0.0}, "norm_eps (0.0) must be above 0", {"norm_eps": 1e-5}),
        ({"rope_base": 1}, "rope_base (1) must be above 1", {"rope_base": 10_000.0}),
        (
            {"architecture": "encoder-decoder", "norm_placement": "parallel"},
            "“parallel” puts two sub-layers side by side, but a decoder layer has three: use “pre”",
            {"norm_placement": "pre"},
        ),
        ({"n_experts": 513}, "n_experts (513) is more than can be built here", {"n_experts": 512}),
        (
            {"n_experts": 6, "n_expert_groups": 4},
            "n_expert_groups (4) does not divide n_experts (6): use 3 / 6",
            {"n_expert_groups": 3},
        ),
        (
            {"n_experts": 8, "n_expert_groups": 4, "n_active_experts": 3, "n_active_groups": 1},
            "n_active_groups (1) must be from 2 to 4 for the groups to hold the active "
            "experts: use 2",
            {"n_active_groups": 2},
        ),
        (
            {"d_kv_latent": 16, "d_rotary": 3},
            "RoPE rotates dimensions in pairs, but d_rotary (3) is odd: use 4",
            {"d_rotary": 4},
        ),
        (
            {"d_kv_latent": 16, "architecture": "encoder-decoder"},
            "Latent attention is for models that read one text: use d_kv_latent 0",
            {"d_kv_latent": 0},
        ),
        (
            {"d_kv_latent": 16, "local_window": 4},
            "Latent attention does not support local_window (4) here: use 0",
            {"local_window": 0},
        ),
        (
            {"d_kv_latent": 16, "attention_gate": "head"},
            "Latent attention does not support attention_gate (head) here: use none",
            {"attention_gate": AttentionGate.NONE},
        ),
        (
            {"d_kv_latent": 16, "nope_every": 2},
            "Latent attention does not support nope_every (2) here: use 0",
            {"nope_every": 0},
        ),
        ({"routed_scale": 0.0}, "routed_scale (0.0) must be above 0", {"routed_scale": 1.0}),
        (
            {"n_experts": 4, "n_active_experts": 6},
            "n_active_experts (6) is more than n_experts (4): use 4",
            {"n_active_experts": 4},
        ),
        (
            {"expert_capacity": -1.0},
            "expert_capacity (-1.0) must be 0 (no limit)",
            {"expert_capacity": 0.0},
        ),
        (
            {"position_kind": "rope", "d_model": 24, "n_heads": 8},
            "RoPE rotates dimensions in pairs, but d_head (3) is odd: use n_heads 6",
            {"n_heads": 6},
        ),
        (
            {"position_kind": "rope", "d_model": 9, "n_heads": 3},
            "RoPE rotates dimensions in pairs, but d_head (3) is odd: use sinusoidal positional "
            "encoding",
            {"position_kind": "sinusoidal"},
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_fault_names_its_mend(changes: dict[str, Any], message: str, mend: dict[str, Any]):
    with pytest.raises(ConfigError) as refusal:
        ModelConfig.from_flat(changes)
    (fault,) = refusal.value.faults
    assert message in str(fault)
    assert "{" not in str(fault)
    assert fault.mend == mend
    config, mended = ModelConfig().nearest(**changes)
    assert fault in mended
    assert ModelConfig.from_flat(changes | mend) == config


@pytest.mark.parametrize("d_model", [LARGEST_SIZE + 1, 2 * LARGEST_SIZE, 10**9])
def test_mending_a_size_leaves_what_goes_with_the_mended_size(d_model: int):
    config, (fault,) = ModelConfig().nearest(d_model=d_model)
    assert fault.mend == {"d_model": LARGEST_SIZE}
    assert config == ModelConfig(d_model=LARGEST_SIZE)


def test_every_fault_is_listed_at_once():
    with pytest.raises(ConfigError) as refusal:
        ModelConfig.from_flat({"d_model": -1, "dropout": 2.0, "norm_eps": 5.0, "max_seq_len": 0})
    assert [*refusal.value.faults[0].mend] == ["d_model"]
    assert str(refusal.value).count("\n") + 1 == len(refusal.value.faults) == 4


@pytest.mark.parametrize("field", ["n_layers_", "attention", "flat", ""])
def test_an_unknown_field_is_refused(field: str):
    for refuse in (ModelConfig().replace, ModelConfig().nearest):
        with pytest.raises(ConfigError, match=f"{field} is not a field"):
            refuse(**{field: 1})


@pytest.mark.parametrize(
    "values",
    [
        {"d_model": 10**14 + 1, "n_heads": 7},
        {"d_model": 10**5000},
        {"n_heads": -(10**5000)},
        {"dropout": 10**400},
        {"norm_eps": -(10**400)},
        {"rope_base": 10**5000},
    ],
    ids=lambda values: "-".join(values),
)
def test_a_number_of_any_length_is_refused_at_once(values: dict[str, Any]):
    with pytest.raises(ConfigError):
        ModelConfig.from_flat(values)
    config, _ = ModelConfig().nearest(**values)
    assert ModelConfig.from_flat(config.flat()) == config
    usual = steps(lambda: ModelConfig().nearest(n_heads=-3))
    assert steps(lambda: ModelConfig().nearest(**values)) < 3 * usual


def test_a_whole_number_serves_as_a_float():
    assert ModelConfig().replace(dropout=0) == ModelConfig(dropout=0.0)
    assert ModelConfig(dropout=0) == ModelConfig(dropout=0.0)


@pytest.mark.parametrize("changes", [{"n_kv_heads": 2}, {"d_ff": 7}, {"position_kind": "rope"}, {}])
def test_flat_round_trips(changes: dict[str, Any]):
    config = toy(**changes)
    assert ModelConfig.from_flat(config.flat()) == config
    assert config.flat().keys() == FIELDS.keys() == DEFAULTS.keys() == RIGHT.keys()
    assert all(
        type(value) in (int, float, bool, str, type(None)) for value in config.flat().values()
    )


def test_equal_configurations_are_one_key():
    one, same, other = toy(), toy(), toy(n_heads=2)
    assert one == same and hash(one) == hash(same)
    assert one != other
    assert len({one, same, other}) == 2


def test_a_configuration_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        toy().d_model = 1  # type: ignore[misc]


def test_replace_leaves_the_original_and_finds_nested_fields():
    config = toy()
    assert config.replace(n_heads=2, norm_kind="rmsnorm").flat() == {
        **config.flat(),
        "n_heads": 2,
        "norm_kind": "rmsnorm",
    }
    assert config == toy()


def test_sizes_that_are_not_given_follow_the_others():
    config = ModelConfig(d_model=D_MODEL, attention=AttentionConfig(n_heads=2))
    assert (config.d_ff, config.n_kv_heads, config.d_head) == (4 * D_MODEL, 2, D_MODEL // 2)
    wider = config.replace(d_model=2 * D_MODEL, n_heads=4)
    assert (wider.d_ff, wider.n_kv_heads, wider.d_head) == (8 * D_MODEL, 4, D_MODEL // 2)
    assert wider.replace(d_ff=5, n_kv_heads=1).d_ff == 5
    assert wider.replace(d_ff=5, n_kv_heads=1).n_kv_heads == 1


def test_nested_parts_are_used_as_they_are():
    norm = NormConfig(norm_kind=NormKind.RMS_NORM)
    assert ModelConfig(norm=norm).norm is norm


@pytest.mark.parametrize("whole", [1, 2, 12, 36, 97, 256, 768])
def test_divisors_are_all_that_divide(whole: int):
    assert divisors(whole) == [n for n in range(1, whole + 1) if whole % n == 0]


@pytest.mark.parametrize(
    ("value", "expected"), [(6, (4, 8)), (4, (4, 4)), (0, (1, 1)), (99, (16, 16))]
)
def test_neighbours_enclose_a_value(value: int, expected: tuple[int, int]):
    assert neighbours([1, 2, 4, 8, 16], value) == expected
