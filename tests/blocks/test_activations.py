"""Rounded activations against torchao, and SmoothQuant on a model with planted outliers."""

import pytest
import torch
from efficiency_toy import sorter
from toy import assert_near, draw, toy

from blocks import build
from blocks.efficiency.activation_facts import activation_facts, measure_activations, outlier, ways
from blocks.efficiency.activations import smoothed, smoothing_scales
from blocks.efficiency.calibration import Inputs, calibrate
from blocks.efficiency.compression import compress
from blocks.efficiency.names import compression_of, name_of
from blocks.efficiency.quantization import BITS, Quantization, quantize
from blocks.training.task import Batch
from blocks.weights.model_file import read_model_file
from blocks.weights.quantized import SMALLEST_SCALE
from blocks.weights.rounded_inputs import ActivationGrid, RoundedInput, RoundedLinear

X = draw(3, 5, 16, seed=3)
X[..., 4] *= 30


@pytest.fixture(scope="module")
def torchao():
    return pytest.importorskip("torchao.quantization.quant_primitives")


@pytest.mark.parametrize("n_bits", BITS)
@pytest.mark.parametrize("grid", [ActivationGrid.TENSOR, ActivationGrid.TOKEN])
def test_the_round_trip_equals_that_of_torchao(torchao, n_bits: int, grid: ActivationGrid):
    ends = torch.uint8, 0, 2**n_bits - 1
    block = (1, 1, 16) if grid is ActivationGrid.TOKEN else X.shape
    qparams = torchao.choose_qparams_affine(
        X, torchao.MappingType.SYMMETRIC, block, *ends, eps=SMALLEST_SCALE
    )
    codes = torchao.quantize_affine(X, block, *qparams, *ends)
    theirs = torchao.dequantize_affine(codes, block, *qparams, *ends)
    assert RoundedInput(n_bits, grid).of(X).equal(theirs)


def test_a_static_grid_is_that_of_what_was_calibrated(torchao):
    calibrated, ends = X[:1], (torch.uint8, 0, 255)
    kind, block = torchao.MappingType.SYMMETRIC, X.shape
    qparams = torchao.choose_qparams_affine(calibrated, kind, (1, 5, 16), *ends)
    codes = torchao.quantize_affine(X, block, *qparams, *ends)
    theirs = torchao.dequantize_affine(codes, block, *qparams, *ends)
    reach = float(calibrated.abs().amax())
    assert RoundedInput(8, ActivationGrid.STATIC, reach).of(X).equal(theirs)


def known(x: torch.Tensor) -> Inputs:
    rows = x.flatten(0, -2)
    return Inputs(rows.T @ rows, rows.abs().mean(0), rows.abs().amax(0))


@pytest.mark.parametrize("grid", [ActivationGrid.STATIC, ActivationGrid.TENSOR])
def test_smoothing_takes_an_outlier_channel_off_the_grid_of_all(grid: ActivationGrid):
    weight = draw(8, 16, seed=5)
    linear = torch.nn.Linear(16, 8, bias=False)
    linear.weight.data = weight
    inputs, exact = known(X), X @ weight.T
    scale = smoothing_scales({"w": weight}, {"w": inputs})["w"]

    def error(is_smooth: bool) -> float:
        how, by = Quantization(), scale if is_smooth else None
        matrix = smoothed(weight, how, scale) if is_smooth else quantize(weight, how)
        reach = float((inputs.largest / (scale if is_smooth else 1)).amax())
        with torch.no_grad():
            linear.weight.data = matrix.values()
            rounded = RoundedLinear.of(linear, RoundedInput(8, grid, reach, by))
            return float((rounded(X) - exact).norm())

    assert error(True) < 0.7 * error(False)
    assert_near((X / scale) @ (weight * scale).T, exact)
    shared = smoothing_scales({"q": weight, "k": 2 * weight}, {"q": inputs, "k": inputs})
    assert shared["q"].equal(shared["k"])


def test_calibration_finds_the_largest_of_every_input():
    model = build(toy(architecture="gpt", vocab_size=11), seed=1)
    ids = torch.arange(8)[None]
    found = calibrate(model, [Batch(ids, ids), Batch(ids.flip(1), ids)])
    heard: list[torch.Tensor] = []
    layer = model.layers[0].feed_forward.down_proj
    with torch.no_grad():
        hook = layer.register_forward_pre_hook(lambda _layer, args: heard.append(args[0][0]))
        for each in (ids, ids.flip(1)):
            model(each)
        hook.remove()
    largest = torch.cat(heard).abs().amax(0)
    assert found["layers.0.feed_forward.down_proj.weight"].largest.equal(largest)


def test_the_model_with_rounded_activations_is_one_of_its_own():
    calibrated = sorter()
    exact = calibrated.model.state_dict()
    before = {name: tensor.clone() for name, tensor in exact.items()}
    found = [measure_activations(calibrated, how) for how in ways(2)]
    assert all(before[name].equal(tensor) for name, tensor in calibrated.model.state_dict().items())
    assert len({each.held_out_loss for each in found}) == len(found)
    *_others, smooth = ways(2)
    some = measure_activations(calibrated, smooth, frozenset({"layers.0"}))
    assert some.held_out_loss not in [each.held_out_loss for each in found]
    facts = activation_facts(calibrated, tuple(found), "no.such.weight")
    read = {name: x.largest.numpy() for name, x in calibrated.own_inputs.items()}
    ratios = {name: outlier(read[name]) for name in facts.rows["matrix"]}
    assert facts.rows["outlier"].tolist() == [*ratios.values()]
    assert facts.channels.matrix == max(ratios, key=ratios.__getitem__)
    assert facts.exact.how is None and facts.best.held_out_loss <= facts.worst.held_out_loss


@pytest.mark.parametrize("name", ["int8.act8", "int8.act8-static", "int4.act6-static-smooth"])
def test_a_file_keeps_how_activations_are_rounded_and_runs_so(name: str):
    calibrated, ids = sorter(), torch.arange(1, 7)[None]
    how = compression_of(name)
    assert name_of(how) == name
    variant = compress(calibrated, how)
    again = read_model_file(variant.to_bytes(torch.float32))
    assert again.inputs.keys() == variant.inputs.keys() and len(again.inputs) > 6
    with torch.no_grad():
        made, opened = variant.build()(ids), again.build()(ids)
        weights_alone = compress(calibrated, compression_of(name.partition(".")[0])).build()(ids)
    assert made.equal(opened) and not made.equal(weights_alone)
    kept = compress(type(calibrated)(again), compression_of(""))
    assert kept.inputs.keys() == again.inputs.keys()
    layer = "layers.0.attention.q_proj.weight"
    expected = calibrated.own_inputs[layer].largest
    if how.activations.is_smooth:
        expected = expected / variant.quantized[layer].input_scale
    if how.activations.grid is ActivationGrid.STATIC:
        assert again.inputs[layer].reach == float(expected.amax())
