"""How the values of a stage are spread."""

import numpy as np
import pytest
import torch
from toy import D_MODEL, draw, toy_input

from blocks.inspection.values import histogram, token_values

N_BINS = 10


def test_a_histogram_is_the_one_of_numpy():
    x = draw(3, 5, 16)
    counts, edges = np.histogram(x.numpy(), bins=N_BINS)
    table = histogram(x, N_BINS)
    assert table["share"].sum() == pytest.approx(1)
    assert (table["share"] * x.numel()).tolist() == pytest.approx(counts.tolist(), abs=1.01)
    assert table["value"].tolist() == pytest.approx(
        ((edges[1:] + edges[:-1]) / 2).tolist(), abs=1e-5
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_every_format_is_counted(dtype: torch.dtype):
    assert histogram(draw(100).to(dtype), N_BINS)["share"].sum() == pytest.approx(1)


def test_a_constant_falls_into_one_bin():
    table = histogram(torch.full((2, 3), 0.5), N_BINS)
    assert table["share"].tolist() == [1, *[0] * (N_BINS - 1)]
    assert table["value"].iloc[0] == pytest.approx(0.5)


def test_values_of_a_token_before_and_after():
    before, after = toy_input(0), toy_input(1)
    table = token_values(before, after, token=2, n_dims=3)
    assert table["dimension"].tolist() == [0, 1, 2]
    assert table["before"].tolist() == before[0, 2, :3].tolist()
    assert table["after"].tolist() == after[0, 2, :3].tolist()
    assert len(token_values(before, after, token=0, n_dims=99)) == D_MODEL
