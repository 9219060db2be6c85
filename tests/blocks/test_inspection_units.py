"""Units: where they stand on the bend, which are dead, what excites them."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import D_FF, D_MODEL, SEQ_LEN, assert_near, draw, scramble, toy, toy_input

from blocks import build
from blocks.inspection import activations, units, wide
from blocks.inspection.activations import is_off, is_saturated, slope
from blocks.model.feed_forward import ACTIVATIONS
from blocks.model.kinds import Activation, NormPlacement

DEAD, ALWAYS = 3, 5


def planted(activation: str = "relu", **changes):
    """A layer whose unit 3 never fires and whose unit 5 always does."""
    layer = wide.layer_alone(
        toy(activation=activation, **changes), 0, seed=0, device="cpu", dtype=torch.float32
    )
    read = layer.gate_proj if Activation(activation).is_gated else layer.up_proj
    with torch.no_grad():
        read.bias[DEAD], read.bias[ALWAYS] = -100.0, 100.0
    return layer


def seen_inside(layer, x=None):
    return wide.see_dense(wide.pass_alone(layer, toy_input() if x is None else x))


@pytest.mark.parametrize("activation", Activation)
def test_the_slope_is_the_limit_of_differences(activation: Activation):
    z = torch.linspace(-4.03, 4.01, 97, dtype=torch.float64)
    phi, h = ACTIVATIONS[activation], 1e-6
    differences = (phi(z + h) - phi(z - h)) / (2 * h)
    assert_near(slope(activation, z), differences)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_slope_is_taken_in_float32_at_least(dtype: torch.dtype):
    with torch.no_grad():
        found = slope(Activation.GELU, draw(7).to(dtype))
    assert found.dtype is (torch.float64 if dtype is torch.float64 else torch.float32)


def test_kinds_with_the_same_bend_stand_together():
    groups = {frozenset(group) for group in activations.same_bend()}
    assert groups == {
        frozenset({"relu", "reglu"}),
        frozenset({"relu_squared"}),
        frozenset({"gelu", "geglu"}),
        frozenset({"gelu_tanh", "geglu_tanh"}),
        frozenset({"silu", "swiglu"}),
        frozenset({"glu"}),
        frozenset({"quick_geglu"}),
    }


def test_the_curves_are_those_that_run():
    table = activations.curves(5.0)
    assert set(table["activation"]) == set(map(str, Activation))
    relu = table[table["activation"] == "relu"]
    assert relu["value"].tolist() == relu["z"].clip(lower=0).tolist()
    assert (table["z"].min(), table["z"].max()) == (-5, 5)


def test_a_spread_counts_what_lies_inside():
    spread = activations.spread(torch.tensor([-1.0, 1.0, 1.0, 9.0]), 4.0)
    assert spread["share"].sum() == pytest.approx(0.75)
    assert spread.loc[spread["share"].idxmax(), "value"] == pytest.approx(1, abs=0.1)


def test_off_and_flat_are_as_defined():
    z = torch.tensor([-9.0, -1e-6, 0.0, 1e-6, 0.5])
    assert is_off(Activation.RELU, z).tolist() == [True, True, True, False, False]
    assert is_saturated(Activation.RELU, z).tolist() == [True, True, True, False, False]
    assert is_off(Activation.GELU, z).tolist() == [True, True, True, True, False]
    assert is_saturated(Activation.GELU, z).tolist() == [True, False, False, False, False]
    assert is_saturated(Activation.GLU, torch.tensor([-9.0, 0.0, 9.0])).tolist() == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "reglu", "swiglu"])
def test_a_planted_dead_unit_is_found(activation: str):
    table = units.frame(seen_inside(planted(activation)), Activation(activation))
    assert table["is_dead"][DEAD] and table["active_share"][DEAD] == 0
    assert not table["is_dead"][ALWAYS] and table["active_share"][ALWAYS] == 1
    assert table["flat_share"][DEAD] == 1 and table["is_saturated"][DEAD]
    assert table["is_dead"].sum() == 1 and len(table) == D_FF


def test_a_sigmoid_gate_that_is_always_open_is_saturated_and_not_dead():
    table = units.frame(seen_inside(planted("glu")), Activation.GLU)
    assert table["is_saturated"][ALWAYS] and not table["is_dead"][ALWAYS]
    assert table["is_saturated"][DEAD] and table["is_dead"][DEAD]


def test_shares_of_a_layer_are_over_all_its_units():
    inside = seen_inside(planted())
    shares = units.layer_shares([inside], Activation.RELU)
    assert shares["dead"] == pytest.approx(1 / D_FF)
    assert shares["active"] == pytest.approx((inside.pre > 0).float().mean().item())


@pytest.mark.parametrize("activation", ["gelu", "swiglu"])
def test_the_strongest_units_are_sorted_and_multiply_out(activation: str):
    inside = seen_inside(planted(activation))
    table = units.strongest(inside, 2, 8)
    assert table["unit"][0] == inside.hidden[2].abs().argmax()
    assert table["hidden"].abs().is_monotonic_decreasing
    if activation == "swiglu":
        product = table["gate"] * table["up"]
        assert product.to_numpy() == pytest.approx(table["hidden"].to_numpy(), rel=1e-5)
    assert len(units.strongest(inside, 0, 10_000)) == D_FF


def test_a_unit_at_all_tokens_is_its_column():
    inside = seen_inside(planted())
    assert units.at_tokens(inside, [ALWAYS])[0] == pytest.approx(inside.hidden[:, ALWAYS].numpy())


def test_closed_is_the_share_of_units_that_are_off():
    inside = seen_inside(planted())
    expected = (inside.pre <= 0).float().mean(dim=1)
    assert torch.equal(units.closed_share(inside, Activation.RELU), expected)


@pytest.mark.parametrize("changes", [{}, {"n_experts": 4}, {"activation": "swiglu"}])
@pytest.mark.parametrize("layer", [0, 1])
def test_a_layer_alone_has_the_weights_of_the_whole_model(layer: int, changes):
    config = toy(n_layers=2, initialization="normal", **changes)
    whole = build(config, seed=3).layers[layer].feed_forward
    alone = wide.layer_alone(config, layer, seed=3, device="cpu", dtype=torch.float32)
    theirs = whole.state_dict()
    assert theirs.keys() == alone.state_dict().keys()
    assert all(torch.equal(values, theirs[name]) for name, values in alone.state_dict().items())


def test_each_expert_is_seen_at_its_own_tokens():
    config = toy(n_experts=4, n_active_experts=2, activation="swiglu")
    layer = scramble(wide.layer_alone(config, 0, seed=0, device="cpu", dtype=torch.float32))
    x = toy_input()
    experts = wide.see_all(layer, wide.pass_alone(layer, x), 0)
    assert sum(len(inside.token) for inside in experts) == 2 * 2 * SEQ_LEN
    for expert, inside in zip(layer.experts, experts, strict=True):
        tokens = x.flatten(0, 1)[inside.token]
        assert_near(inside.up, expert.up_proj(tokens))
        assert_near(inside.gate * inside.up, inside.hidden)


def test_an_expert_without_tokens_has_only_idle_units():
    nobody = wide.Wide(
        token=torch.empty(0), **{n: torch.empty(0, 3) for n in ("pre", "up", "hidden")}
    )
    table = units.frame(nobody, Activation.GELU)
    assert table["is_dead"].all() and not table["is_saturated"].any()
    assert units.layer_shares([nobody], Activation.GELU)["active"] == 0


@settings(max_examples=20)
@given(st.sampled_from(Activation), st.integers(0, 99))
def test_shares_are_shares(activation: Activation, seed: int):
    layer = wide.layer_alone(
        toy(activation=activation), 0, seed=seed, device="cpu", dtype=torch.float32
    )
    table = units.frame(seen_inside(layer, draw(1, 3, D_MODEL, seed=seed)), activation)
    assert table[["active_share", "flat_share"]].stack().between(0, 1).all()


@pytest.mark.parametrize("placement", NormPlacement)
@pytest.mark.parametrize("norm_kind", ["layernorm", "none"])
def test_what_the_layer_reads_is_found(placement: str, norm_kind: str):
    config = toy(norm_placement=placement, norm_kind=norm_kind)
    expected = {
        "pre": ("feed_forward_norm", "resid_mid"),
        "post": ("resid_mid", "resid_mid"),
        "sandwich": ("feed_forward_norm", "resid_mid"),
        "res_post": ("resid_mid", "resid_mid"),
        "parallel": ("norm", "resid_pre"),
    }[placement]
    assert wide.read_by(config, "feed_forward_out", 0) == expected[norm_kind == "none"]
