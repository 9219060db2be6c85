"""What `build` returns, in every number format."""

import pytest
from toy import BATCH, D_MODEL, SEQ_LEN, assert_near, toy, toy_input

from blocks import build, record
from blocks.model.devices import DTYPES
from blocks.model.kinds import Activation, NormKind, NormPlacement, PositionKind
from blocks.model.masks import causal
from blocks.model.probe import Probe


@pytest.mark.parametrize("norm_kind", NormKind)
@pytest.mark.parametrize("position_kind", PositionKind)
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.thinned
def test_every_number_format_stays_what_it_is(name: str, position_kind: str, norm_kind: str):
    dtype = DTYPES[name]
    model = build(toy(position_kind=position_kind, norm_kind=norm_kind), dtype=dtype)
    x, mask = toy_input().to(dtype), causal(SEQ_LEN)
    for seen in (
        record(model, x, mask=mask),
        record(model, x, mask=mask, keep=()),
        record(model, x, mask=mask, training_seed=0),
    ):
        tensors = [seen.output, *seen.tensors.values()]
        assert {tensor.dtype for tensor in tensors} == {dtype}
        assert seen.output.isfinite().all() and seen.moments.isfinite().all()
    assert {p.dtype for p in (*model.parameters(), *model.buffers())} == {dtype}


@pytest.mark.parametrize(("name", "tolerance"), [("float64", 1e-5), ("bfloat16", 0.1)])
def test_every_number_format_computes_the_same(name: str, tolerance: float):
    config, x = toy(), toy_input()
    other = build(config, dtype=DTYPES[name])(x.to(DTYPES[name]))
    assert_near(other.float(), build(config)(x), tolerance=tolerance)


@pytest.mark.parametrize("activation", Activation)
@pytest.mark.parametrize("placement", NormPlacement)
def test_a_block_keeps_the_shape(placement: str, activation: str):
    model = build(toy(norm_placement=placement, activation=activation))
    assert model(toy_input()).shape == (BATCH, SEQ_LEN, D_MODEL)
    assert model(toy_input()[:1, :1]).shape == (1, 1, D_MODEL)


def test_a_model_is_in_evaluation_mode_and_can_be_trained():
    model = build(toy())
    assert not any(module.training for module in model.modules())
    model(toy_input()).square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize("placement", NormPlacement)
def test_every_probe_has_its_own_path(placement: str):
    model = build(toy(norm_placement=placement, activation="swiglu"))
    paths = [module.path for module in model.modules() if isinstance(module, Probe)]
    assert len(paths) == len(set(paths))
    assert all(path == "input" or path.startswith("layers.0.") for path in paths)
