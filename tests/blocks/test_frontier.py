"""Names of recipes, and which variants no other beats."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import toy

from blocks import ConfigError
from blocks.efficiency.activations import ActivationRounding
from blocks.efficiency.compression import Compression
from blocks.efficiency.frontier import READY, FrontierFacts, Method, Variant, method, ready
from blocks.efficiency.names import compression_of, name_of
from blocks.efficiency.pruning import Criterion, MaskPattern, Scope
from blocks.efficiency.quantization import Granularity, Quantization, RangeRule
from blocks.efficiency.rounding import Rounding
from blocks.weights.rounded_inputs import ActivationGrid

GRIDS = st.builds(
    Quantization,
    n_bits=st.integers(2, 8),
    granularity=st.sampled_from([*Granularity]),
    symmetric=st.booleans(),
    range_rule=st.sampled_from([*RangeRule]),
)
READS = st.builds(
    ActivationRounding,
    n_bits=st.integers(2, 8),
    grid=st.sampled_from([*ActivationGrid][1:]),
    is_smooth=st.booleans(),
)
TAKEN = st.fixed_dictionaries(
    {
        "removed_heads": st.integers(0, 9),
        "removed_units": st.integers(0, 95).map(lambda n: n / 100),
        "removed_layers": st.sets(st.integers(0, 99), max_size=4).map(lambda s: tuple(sorted(s))),
        "criterion": st.sampled_from([*Criterion]),
        "quantization": st.none() | GRIDS,
        "activations": st.none() | READS,
        "exempt": st.frozensets(
            st.sampled_from(["embed", "layers.0", "decoder.layers.11.attention.q_proj"])
        ),
        "seed": st.integers(0, 9),
    }
)


@given(TAKEN, st.sampled_from([*Rounding]))
def test_every_recipe_has_a_name_that_is_read_back(values, rounding):
    is_rounded, reads = values["quantization"] is not None, values["activations"]
    if not is_rounded or (reads and reads.is_smooth):
        rounding = Rounding.NEAREST
    how = Compression(
        **{
            **values,
            "activations": reads if is_rounded else None,
            "rounding": rounding,
            "exempt": values["exempt"] if is_rounded else frozenset(),
        }
    )
    takes_out = how.removed_heads or how.removed_units
    if not takes_out:
        how = dataclasses.replace(how, criterion=Criterion.MAGNITUDE)
    assert compression_of(name_of(how)) == how


@pytest.mark.parametrize("criterion", Criterion)
@pytest.mark.parametrize("pattern", MaskPattern)
@pytest.mark.parametrize("scope", Scope)
def test_a_mask_has_a_name_that_is_read_back(criterion, pattern, scope):
    how = Compression(sparsity=0.5, criterion=criterion, pattern=pattern, scope=scope)
    assert compression_of(name_of(how)) == how


UNREADABLE = (
    *("int", "int4-x", "heads1+2", "int4.exempt", "int4.exempt-A", "heads1-gptq", "4", "int4 "),
    *("int4-awq-gptq", "int4-group32-group16", "sparse50-wanda-random", "int4.int8", "seed1.seed2"),
    *("int4-absmax-percentile", "heads1-wanda.units50-random"),
)


@pytest.mark.parametrize(
    ("name", "mend"),
    [
        *((name, "write one like int4-group32") for name in UNREADABLE),
        ("int9", r"n_bits \(9\) must be from 2 to 8: use 8"),
        ("sparse100", r"sparsity \(1\.0\).*: use 0\.95"),
        ("int4-group0", r"group_size \(0\).*: use 1"),
        ("exempt-embed", r"set a bit width for the rest, for example int4\.exempt-embed"),
        ("act8", r"set a bit width for both, as in int8\.act8"),
    ],
)
def test_what_is_no_recipe_is_refused_with_a_mend(name: str, mend: str):
    with pytest.raises(ConfigError, match=mend):
        compression_of(name)


HEADS = ("int", "heads", "units", "layers", "sparse", "act", "seed", "exempt", "int4", "act8")
TAILS = ("group", "keep", "wanda", "gptq", "awq", "hqq", "2:4", "global", "tensor", "embed")
WORDS = st.sampled_from([*"0149.-+:", *HEADS, *TAILS])


@given(st.text(max_size=40) | st.lists(WORDS, max_size=6).map("".join))
def test_what_is_read_of_any_name_can_be_written(name: str):
    try:
        how = compression_of(name)
    except ConfigError:
        return
    assert compression_of(name_of(how)) == how


def test_no_name_changes_nothing():
    assert compression_of("") == Compression() and name_of(Compression()) == ""


def test_the_ready_set_has_standard_names():
    assert [name_of(compression_of(name)) for name in READY] == [*READY]
    kinds = {method(compression_of(name)) for name in READY}
    assert kinds == {*Method}


def test_a_model_takes_only_what_leaves_something():
    narrow = toy(architecture="gpt", n_layers=1, n_heads=1, attention_only=True)
    assert not [each for each in ready(narrow) if "heads" in each or "units" in each]
    assert "layers1" not in ready(narrow)
    assert ready(toy(architecture="gpt", n_layers=4, n_heads=4)) == READY


def variant(name: str, n_bytes: int, *scores: float) -> Variant:
    return Variant(name, Method.MASKED, n_bytes, 1, 1.0, scores, 1.0, 1)


def test_the_frontier_has_those_that_none_beats():
    all_of_them = (
        variant("original", 100, 0.9, 1.0),
        variant("beaten", 60, 0.5, 0.5),
        variant("better", 50, 0.9, 0.9),
        variant("small", 20, 0.5, 0.6),
        variant("worse", 30, 0.2, 0.3),
    )
    facts = FrontierFacts(all_of_them, "exact answers", is_share=True)
    assert [each.name for each in facts.frontier] == ["small", "better", "original"]
    assert facts.smallest(0.06).name == "better" and facts.smallest(0.0).name == "original"
    assert facts.original.spread == pytest.approx(0.05)
