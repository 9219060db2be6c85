"""Moments against numpy's."""

import numpy as np
import pandas as pd
import pytest
import torch
from toy import draw

from blocks.observe.flow import MOMENTS, OUTLIER_STDS, frame, moments


def by_numpy(x: np.ndarray) -> dict[str, float]:
    return {
        "mean": x.mean(),
        "std": x.std(),
        "min": x.min(),
        "max": x.max(),
        "rms": np.sqrt(np.mean(x**2)),
        "outlier_share": np.mean(np.abs(x - x.mean()) > OUTLIER_STDS * x.std()),
    }


@pytest.mark.parametrize("shape", [(1,), (2, 5, 16), (1, 4, 50, 50)])
@pytest.mark.parametrize("shift", [0, 10])
def test_moments_are_those_of_numpy(shape: tuple[int, ...], shift: int):
    x = draw(*shape) + shift
    ours = dict(zip(MOMENTS, moments(x).tolist(), strict=True))
    assert ours == pytest.approx(by_numpy(x.double().numpy()), rel=1e-4, abs=1e-5)


def test_outliers_are_counted():
    x = torch.zeros(1000)
    x[:5] = 100
    assert moments(x)[MOMENTS.index("outlier_share")].item() == pytest.approx(5 / 1000)
    normal = moments(draw(100_000))[MOMENTS.index("outlier_share")].item()
    assert normal == pytest.approx(0.0027, abs=5e-4)  # 3 standard errors


def test_a_constant_has_no_spread_and_no_outliers():
    ours = dict(zip(MOMENTS, moments(torch.full((9,), 0.1)).tolist(), strict=True))
    assert ours["std"] == pytest.approx(0, abs=1e-7)
    assert ours["outlier_share"] == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_moments_of_any_format_are_float32(dtype: torch.dtype):
    x = (100 * draw(1000)).to(dtype)  # the sum of squares overflows float16
    ours = dict(zip(MOMENTS, moments(x).tolist(), strict=True))
    assert moments(x).dtype is torch.float32
    assert ours == pytest.approx(by_numpy(x.double().numpy()), rel=1e-4, abs=1e-3)


def test_moments_leave_what_passes_alone_and_need_no_gradient():
    x = draw(10).requires_grad_()
    before = x.detach().clone()
    assert not moments(x).requires_grad
    assert torch.equal(x.detach(), before)


def test_a_frame_has_a_row_a_stage():
    values = draw(3, len(MOMENTS))
    table = frame(["input", "layers.0.resid_pre", "layers.11.resid_post"], values)
    assert list(table.columns) == ["layer", "stage", *MOMENTS]
    assert table["stage"].tolist() == ["input", "resid_pre", "resid_post"]
    assert table["layer"].isna().tolist() == [True, False, False]
    assert table["layer"].dropna().tolist() == [0, 11]
    assert isinstance(table["layer"].dtype, pd.Int64Dtype)
    np.testing.assert_array_equal(table[list(MOMENTS)].to_numpy(), values.numpy())
