"""Where attention between tokens overtakes the products with weights."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import toy

from blocks.cost.crossover import crossover, crossover_facts, growth, layer_flops
from blocks.cost.passes import PassKind, operations


@pytest.mark.parametrize("n_heads", [1, 4, 16])
def test_of_the_usual_shape_it_is_six_times_the_width(n_heads: int):
    config = toy(d_model=64, n_heads=n_heads, d_ff=256)
    assert crossover(config) == 6 * 64


def test_known_answers():
    assert crossover(toy(d_model=64, d_ff=256, attention_only=True)) == 2 * 64
    assert crossover(toy(d_model=64, n_heads=4, n_kv_heads=1, d_ff=256)) == (64 + 16 + 256)
    gated = toy(d_model=64, d_ff=256, activation="swiglu")
    assert crossover(gated) == 2 * 64 + 6 * 256 / 4


@pytest.mark.parametrize("every", [0, 2])
def test_of_local_layers_it_is_asked_as_if_they_saw_all(every: int):
    """A window of 3 in a layer and none in another are not a layer with both."""
    config = toy(d_model=64, d_ff=256, n_layers=4, local_window=3, global_every=every)
    facts = crossover_facts(config, 100)
    seeing = crossover_facts(config.replace(local_window=0), 100)
    assert (facts.at, facts.pairs_share) == (seeing.at, seeing.pairs_share)
    assert facts.at == 6 * 64 and facts.formula == seeing.formula
    assert (facts.n_local, facts.n_layers, facts.window) == (2 if every else 4, 4, 3)
    assert seeing.n_local == 0


@settings(max_examples=30)
@given(
    st.fixed_dictionaries(
        {
            "n_heads": st.sampled_from([1, 2, 4]),
            "n_kv_heads": st.sampled_from([None, 1]),
            "d_head": st.sampled_from([None, 3, 24]),
            "d_ff": st.integers(1, 99),
            "n_experts": st.sampled_from([1, 4]),
            "n_layers": st.integers(1, 4),
            "activation": st.sampled_from(["gelu", "geglu"]),
        }
    )
)
def test_below_it_weights_take_more_and_above_it_attention_does(shape: dict):
    config = toy(**shape)
    at = crossover(config)
    for n in (max(1, int(at)), int(at) + 1):
        weights, pairs = layer_flops(config, n)
        assert (weights >= pairs) if n <= at else (weights < pairs)
    found = operations(config, PassKind.FORWARD, n=7)
    assert sum(layer_flops(config, 7)) * config.n_layers == sum(each.forward for each in found)


def test_one_line_grows_with_n_and_the_other_with_its_square():
    table = growth(toy(), [8, 16, 32]).set_index("n")
    assert (table["weights"] / table["weights"][8]).tolist() == [1, 2, 4]
    assert (table["pairs"] / table["pairs"][8]).tolist() == [1, 4, 16]
