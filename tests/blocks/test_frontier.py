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


@given(
    st.text(max_size=40)
    | st.sampled_from(
        [
            "int",
            "int9",
            "int4-x",
            "heads1+2",
            "sparse100",
            "int4.exempt",
            "int4.exempt-A",
            "exempt-embed",
        ]
    )
)
def test_any_other_name_is_refused_with_a_mend(name):
    try:
        compression_of(name)
    except ConfigError as error:
        assert str(error)


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
