"""Blame: planted faults of rounding are found, and what is kept at 8 bits gives the score back."""

from dataclasses import replace

import pytest
import torch
from daily import some_daily
from efficiency_toy import sorter
from toy import assert_near, draw

from blocks import ConfigError
from blocks.efficiency.blame_facts import blame_rows, without_layer, worst_layer
from blocks.efficiency.calibration import Inputs
from blocks.efficiency.compression import Calibrated, Compression, compress
from blocks.efficiency.frontier import measure_compression
from blocks.efficiency.mixed import kept_rows, row_errors
from blocks.efficiency.quantization import Granularity, Quantization
from blocks.efficiency.rounding_facts import rounding_facts
from blocks.weights.model_file import read_model_file
from blocks.weights.pocket import pocket
from blocks.weights.quantized import MixedMatrix

SPREAD, N_BITS = 2.0**14, 6


def planted(name: str, layer: int) -> Calibrated:
    """A model that does as before, one matrix of which has columns of very different size.

    All units of attention but the first are made so many times larger by `v_proj`, and as many
    times smaller by `out_proj`.
    """
    file = pocket(name)
    tensors = {name: tensor.float() for name, tensor in file.tensors.items()}
    path = f"layers.{layer}.attention"
    factor = torch.full((file.config.d_model,), SPREAD)
    factor[0] = 1
    tensors[f"{path}.v_proj.weight"] = tensors[f"{path}.v_proj.weight"] * factor[:, None]
    if f"{path}.v_proj.bias" in tensors:
        tensors[f"{path}.v_proj.bias"] = tensors[f"{path}.v_proj.bias"] * factor
    tensors[f"{path}.out_proj.weight"] = tensors[f"{path}.out_proj.weight"] / factor
    return Calibrated(replace(file, tensors=tensors))


@pytest.mark.parametrize(
    ("name", "layer"), some_daily([("sort", 0), ("induction", 1)], daily=[("sort", 0)])
)
def test_the_blamed_layer_at_full_precision_gives_back_half_of_what_was_lost(name, layer: int):
    model, how = planted(name, layer), Compression(quantization=Quantization(n_bits=N_BITS))
    rows = blame_rows(model, how)
    assert rows.loc[rows["blame"].idxmax(), "matrix"] == f"layers.{layer}.attention.out_proj.weight"
    assert worst_layer(rows) == ("", layer)
    plain, rounded, whole = (
        measure_compression(model, each).score
        for each in (Compression(), how, without_layer(rows, how))
    )
    assert plain > 0.95 and rounded < 0.7
    assert whole - rounded >= 0.5 * (plain - rounded)


def test_an_input_channel_of_large_weights_is_counted_as_an_outlier():
    facts = rounding_facts(planted("sort", 0), Compression(quantization=Quantization()), "")
    found = facts.rows.set_index("matrix")["outlier_channels"]
    assert found["layers.0.attention.out_proj.weight"] == 1
    assert found["layers.0.attention.v_proj.weight"] == 0


@pytest.fixture(scope="module")
def calibrated() -> Calibrated:
    return sorter()


@pytest.mark.parametrize("granularity", Granularity)
@pytest.mark.parametrize("share", [0.03, 0.5])
def test_what_is_kept_is_in_the_file_and_opens_again(calibrated, granularity, share: float):
    grid = Quantization(n_bits=2, granularity=granularity, group_size=8, symmetric=False)
    plain = compress(calibrated, Compression(quantization=grid))
    variant = compress(calibrated, Compression(quantization=grid, kept_share=share))
    kept = [each for each in variant.quantized.values() if isinstance(each, MixedMatrix)]
    n_kept = sum(int(each.is_kept.sum()) * each.shape[1] for each in kept)
    n_kept += sum(
        each.shape[0] * each.shape[1]
        for each in variant.quantized.values()
        if not isinstance(each, MixedMatrix) and each.n_bits == 8
    )
    n_all = sum(each.shape[0] * each.shape[1] for each in plain.quantized.values())
    assert 0.5 * share * n_all < n_kept <= share * n_all
    again = read_model_file(raw := variant.to_bytes(torch.float32))
    for name, tensor in variant.tensors.items():
        assert again.tensors[name].equal(tensor), name
    assert len(raw) > len(plain.to_bytes(torch.float32))
    exact = calibrated.file.tensors
    for name, matrix in variant.quantized.items():
        if isinstance(matrix, MixedMatrix):
            rows = exact[name][matrix.is_kept]
            assert_near(matrix.values()[matrix.is_kept], rows, tolerance=0.01)


def test_a_file_whose_kept_rows_do_not_fit_is_refused(calibrated):
    how = Compression(quantization=Quantization(n_bits=2), kept_share=0.3)
    raw = compress(calibrated, how).to_bytes()
    length = int.from_bytes(raw[:8], "little")
    found, lie = b'\\"kept_bits\\": 8', b'\\"kept_bits\\": 9'
    assert found in raw[: 8 + length]
    with pytest.raises(ConfigError):
        read_model_file(raw[: 8 + length].replace(found, lie) + raw[8 + length :])


def test_rows_are_kept_by_their_blame_for_each_weight():
    errors = {"a": torch.tensor([1.0, 3.0]), "b": torch.tensor([2.0, 2.0])}
    kept = kept_rows({"a": 1.0, "b": 4.0}, errors, {"a": 2, "b": 4}, 0.67)
    assert kept["b"].tolist() == [True, True] and kept["a"].tolist() == [False, False]
    kept = kept_rows({"a": 1.0, "b": -4.0}, errors, {"a": 2, "b": 4}, 0.17)
    assert kept["a"].tolist() == [False, True] and not kept["b"].any()


def test_rows_are_kept_as_far_as_there_is_room_to_the_last_weight():
    errors = {"a": torch.ones(2), "b": torch.ones(2)}
    blames, widths = {"a": 1.0, "b": 2.0}, {"a": 2, "b": 8}  # of a weight a quarter, an eighth
    kept = [kept_rows(blames, errors, widths, share) for share in (0.2, 0.19, 0.6)]
    assert [each["a"].tolist() for each in kept] == [[True, True], [True, False], [True, True]]
    assert [each["b"].tolist() for each in kept] == [[False] * 2, [False] * 2, [True, False]]


def test_the_error_of_a_row_is_that_of_what_it_gives():
    x, exact, rounded = draw(30, 6, seed=1), draw(4, 6, seed=2), draw(4, 6, seed=3)
    inputs = Inputs(x.T @ x, x.abs().mean(0), x.abs().amax(0))
    theirs = (x @ (exact - rounded).T).square().sum(0)
    assert_near(row_errors(exact, rounded, inputs), theirs)
    assert row_errors(exact, rounded, None).equal((exact - rounded).square().sum(1))
