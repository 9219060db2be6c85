"""The quantizer against torchao, and what GPTQ and AWQ gain on the inputs they know."""

import itertools
import warnings

import pytest
import torch
from efficiency_toy import sorter
from toy import assert_near

from blocks.efficiency.calibration import Inputs
from blocks.efficiency.column_facts import column_facts, looks
from blocks.efficiency.quantization import (
    BITS,
    SMALLEST_SCALE,
    Granularity,
    Quantization,
    RangeRule,
    grid_of,
    quantize,
    sqnr,
)
from blocks.efficiency.rounding import Rounding, gptq_so_far, rounded
from blocks.model.randomness import generator
from blocks.weights.quantized import QuantizedMatrix, pack, unpack

SHAPE = (24, 96)


def matrix(*, seed: int = 0) -> torch.Tensor:
    """Drawn numbers, one column of them outliers, and one row of zeros."""
    weight = torch.randn(SHAPE, generator=generator(seed, "matrix"))
    weight[:, 5] *= 20
    weight[7] = 0
    return weight


def inputs(*, seed: int = 0) -> Inputs:
    """Inputs that hang together, some of them much larger than others."""
    draw = generator(seed, "inputs")
    mixed = torch.randn(400, 24, generator=draw) @ torch.randn(24, 96, generator=draw)
    x = (mixed + torch.randn(400, 96, generator=draw)) * torch.logspace(-1, 1, 96)
    return Inputs(x.T @ x, x.abs().mean(0), x.abs().amax(0))


@pytest.fixture(scope="module")
def torchao():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("torchao.quantization.quant_primitives")


@pytest.mark.parametrize("n_bits", BITS)
@pytest.mark.parametrize(
    ("granularity", "symmetric"), [*itertools.product(Granularity, (True, False))]
)
def test_equals_torchao_bit_for_bit(torchao, n_bits, granularity, symmetric):
    weight, how = (
        matrix(),
        Quantization(n_bits=n_bits, granularity=granularity, symmetric=symmetric),
    )
    block = {"tensor": SHAPE, "channel": (1, SHAPE[1]), "group": (1, how.group_size)}[granularity]
    kind = torchao.MappingType.SYMMETRIC if symmetric else torchao.MappingType.ASYMMETRIC
    ends = torch.uint8, 0, 2**n_bits - 1
    scale, zero = torchao.choose_qparams_affine(
        weight, kind, block, *ends, eps=SMALLEST_SCALE, scale_dtype=torch.float32
    )
    codes = torchao.quantize_affine(weight, block, scale, zero, *ends)
    values = torchao.dequantize_affine(codes, block, scale, zero, *ends)
    grid = grid_of(how.in_blocks(weight), how)
    ours = grid.codes(how.in_blocks(weight), n_bits)
    assert grid.scale.flatten().equal(scale.flatten())
    assert grid.zero_point.flatten().equal(zero.flatten().float())
    assert ours.reshape(SHAPE).equal(codes.float())
    assert grid.values(ours).reshape(SHAPE).equal(values)


@pytest.mark.parametrize("n_bits", range(1, 9))
def test_codes_are_packed_without_a_bit_to_spare(n_bits: int):
    codes = torch.randint(0, 2**n_bits, (7, 3, 5), generator=generator(n_bits, "codes"))
    packed = pack(codes.to(torch.uint8), n_bits)
    assert packed.numel() == -(-codes.numel() * n_bits // 8)
    assert unpack(packed, codes.numel(), n_bits).equal(codes.flatten().to(torch.uint8))


@pytest.mark.parametrize("n_bits", [2, 3, 8])
@pytest.mark.parametrize("rule", RangeRule)
@pytest.mark.parametrize("symmetric", [True, False])
def test_what_is_written_is_what_runs(n_bits: int, rule: RangeRule, symmetric: bool):
    how = Quantization(
        n_bits=n_bits, granularity=Granularity.GROUP, symmetric=symmetric, range_rule=rule
    )
    rounded = quantize(matrix(), how)
    again = QuantizedMatrix.from_tensors(rounded.to_tensors(), SHAPE, n_bits)
    assert again.values().equal(rounded.values())
    assert rounded.values()[7].count_nonzero() == 0


@pytest.mark.parametrize("symmetric", [True, False])
def test_no_reach_is_less_wrong_than_the_least_error(symmetric: bool):
    def error(rule: RangeRule) -> float:
        how = Quantization(n_bits=3, symmetric=symmetric, range_rule=rule)
        return -sqnr(matrix(), quantize(matrix(), how).values())

    assert error(RangeRule.LEAST_ERROR) <= min(error(RangeRule.ABSMAX), error(RangeRule.PERCENTILE))


def test_a_finer_grid_is_six_decibels_a_bit():
    weight = torch.randn(64, 512, generator=generator(0, "even"))
    ratios = [sqnr(weight, quantize(weight, Quantization(n_bits=n)).values()) for n in (6, 7, 8)]
    gains = [b - a for a, b in itertools.pairwise(ratios)]
    assert gains == pytest.approx([6.02, 6.02], rel=0.05)


@pytest.mark.parametrize("granularity", Granularity)
@pytest.mark.parametrize(("rounding", "most"), [(Rounding.GPTQ, 0.8), (Rounding.AWQ, 0.99)])
def test_rounding_that_knows_its_inputs_is_less_wrong(
    rounding: Rounding, most: float, granularity: Granularity
):
    weight, known = torch.randn(SHAPE, generator=generator(1, "even")), inputs()
    how = Quantization(n_bits=3, granularity=granularity)
    errors = {
        each: known.output_error(weight, rounded(weight, how, each, known).values())
        for each in Rounding
    }
    assert errors[rounding] < most * errors[Rounding.NEAREST]


def on_its_grid(x: float, numbers: torch.Tensor, how: Quantization) -> float:
    """One number on the grid of those that share it, stored in half precision."""
    n_steps = 2**how.n_bits - 1
    if how.symmetric:
        scale, zero = 2 * numbers.abs().max() / n_steps, 2 ** (how.n_bits - 1)
    else:
        least, most = numbers.min().clamp(max=0), numbers.max().clamp(min=0)
        scale = (most - least) / n_steps
        zero = -(least / scale).round()
    step = float(scale.half())
    return (min(max(round(x / step) + int(zero), 0), n_steps) - int(zero)) * step


def gptq_by_hand(weight: torch.Tensor, how: Quantization, gram: torch.Tensor) -> torch.Tensor:
    """Frantar et al. 2022, algorithm 1, one number after the other: w_j -= (w_i - q_i) U_ij / U_ii.

    With Hᵀ = XᵀX + 0.01 · mean(diag) · I and UᵀU = H⁻¹. The grid of a group is laid over what is
    left of its numbers when the first of them is reached (section 4, "grouping"); that of the
    whole matrix over what it was.
    """
    left, hessian = weight.double().clone(), gram.double()
    hessian = hessian + 0.01 * hessian.diagonal().mean() * torch.eye(len(hessian))
    upper = torch.linalg.cholesky(hessian.inverse()).mT
    width = how.group_size if how.granularity is Granularity.GROUP else weight.shape[1]
    for row in left:
        for i in range(len(row)):
            if i % width == 0:
                sharing = row[i : i + width].clone()
            if how.granularity is Granularity.TENSOR:
                sharing = weight.double()
            rounded_to = on_its_grid(float(row[i]), sharing, how)
            error = (float(row[i]) - rounded_to) / upper[i, i]
            row[i] = rounded_to
            for j in range(i + 1, len(row)):
                row[j] -= error * upper[i, j]
    return left


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("granularity", Granularity)
def test_gptq_is_the_algorithm_number_by_number(granularity: Granularity, symmetric: bool):
    weight, x = (torch.randn(n, 12, generator=generator(n, "gptq")) for n in (5, 40))
    x = x @ torch.randn(12, 12, generator=generator(1, "gptq"))  # inputs that hang together
    how = Quantization(n_bits=3, granularity=granularity, group_size=4, symmetric=symmetric)
    known = Inputs(x.T @ x, x.abs().mean(0), x.abs().amax(0))
    ours = rounded(weight, how, Rounding.GPTQ, known).values()
    assert_near(ours, gptq_by_hand(weight, how, known.gram), tolerance=1e-3)


def test_awq_is_the_best_of_its_exponents():
    """Lin et al. 2023, section 3.2: s = (mean |x|)^α, and α of 0, 0.05, … that is least wrong."""
    weight, x = (torch.randn(n, 8, generator=generator(n, "awq")) for n in (6, 40))
    x = x * torch.logspace(-1, 1, 8)
    x[0, 0] = 300.0  # large once, small in the mean
    how = Quantization(n_bits=3, granularity=Granularity.GROUP, group_size=4)
    tried = []
    for step in range(21):
        size = x.abs().mean(0) ** (step / 20)
        scale = (size / (size.max() * size.min()).sqrt()).half().float()
        wide = weight * scale
        values = torch.tensor(
            [[on_its_grid(float(v), g, how) for g in row.split(4) for v in g] for row in wide]
        )
        error = float((x @ (weight - values / scale).T).square().sum())
        tried.append((error, values / scale))
    ours = rounded(weight, how, Rounding.AWQ, Inputs(x.T @ x, x.abs().mean(0), x.abs().amax(0)))
    assert_near(ours.values(), min(tried, key=lambda each: each[0])[1], tolerance=1e-3)
    assert ours.input_scale is not None


def hqq_by_hand(weight: torch.Tensor, n_bits: int) -> torch.Tensor:
    """Badri and Shaji 2023, as its authors' code has it: a row is a grid, and p = 0.7.

    The error is shrunk, W_e = sign(e) · max(0, |e| − |e|^(p−1) / β), then the zero point moves,
    z = mean(W_q − (W − W_e) / s), β ← 1.01 β: twenty times at most, until the mean error grows.
    """
    weight, most = weight.double(), 2**n_bits - 1
    high, low = (each[:, None] for each in (weight.amax(1).clamp(0), weight.amin(1).clamp(max=0)))
    scale = (high - low) / most
    zero, beta, best_error = (-low / scale).round(), 10.0, torch.inf
    for _ in range(20):
        codes = (weight / scale + zero).round().clamp(0, most)
        values = (codes - zero) * scale
        error = weight - values
        if error.abs().mean() >= best_error:
            break
        best, best_error = values, error.abs().mean()
        shrunk = error.sign() * (error.abs() - error.abs() ** -0.3 / beta).relu()
        zero, beta = (codes - (weight - shrunk) / scale).mean(1, keepdim=True), 1.01 * beta
    return best


@pytest.mark.parametrize("n_bits", [2, 4])
def test_hqq_is_the_algorithm_of_its_authors(n_bits: int):
    weight = torch.randn(5, 40, generator=generator(n_bits, "hqq"))
    weight[:, 3] *= 8  # so that errors are large, and some are shrunk to nothing
    how = Quantization(n_bits=n_bits, symmetric=False, range_rule=RangeRule.HQQ)
    ours = quantize(weight, how).values()
    assert_near(ours, hqq_by_hand(weight, n_bits), tolerance=2e-3)
    plain = quantize(weight, Quantization(n_bits=n_bits, symmetric=False)).values()
    assert (weight - ours).abs().mean() < (weight - plain).abs().mean()


def test_gptq_with_inputs_of_no_correlation_rounds_to_the_nearest():
    weight, how = matrix(), Quantization(n_bits=4)
    alone = Inputs(torch.eye(96), torch.ones(96), torch.ones(96))
    assert rounded(weight, how, Rounding.GPTQ, alone).codes.equal(quantize(weight, how).codes)


def test_gptq_is_seen_column_by_column():
    weight, known, how = matrix(), inputs(), Quantization(n_bits=3)
    whole = rounded(weight, how, Rounding.GPTQ, known).values()
    for n, now in enumerate(gptq_so_far(weight, how, known), start=1):
        assert now[:, :n].equal(whole[:, :n])
        if n in (1, 50):
            assert not now[:, n:].isclose(weight[:, n:]).all()  # it makes up for what came before
    assert n == weight.shape[1] and now.equal(whole)


def test_a_matrix_is_followed_by_each_way_to_round():
    model, how = sorter(), Quantization(n_bits=3)
    facts = column_facts(model, how, "layers.1.feed_forward.up_proj.weight", 5)
    weight = model.file.tensors[facts.matrix]
    known, last = model.own_inputs[facts.matrix], weight.shape[1]
    ends = {
        each: known.output_error(weight, rounded(weight, how, each, known).values())
        for each in Rounding
    }
    assert facts.columns == (*range(last + 1),) and facts.nearest[0] == facts.gptq[0] == 0
    assert facts.nearest[-1] == pytest.approx(ends[Rounding.NEAREST])
    assert facts.gptq[-1] == pytest.approx(ends[Rounding.GPTQ])
    assert min(facts.awq) == pytest.approx(ends[Rounding.AWQ])
    assert facts.awq[facts.exponents.index(0)] == pytest.approx(ends[Rounding.NEAREST])
    assert facts.change.shape == weight.shape and facts.change[:, 5:].any()
    exact = column_facts(model, how, facts.matrix, 0)
    assert not exact.change.any()
    worst = column_facts(model, how, "embed.weight", 10**6)
    assert worst.matrix in worst.matrices and worst.n_rounded <= 64
    assert len(looks(512)) == 33 and looks(512)[-1] == 512
