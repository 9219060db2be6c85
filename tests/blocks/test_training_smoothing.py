"""A readable curve."""

import pandas as pd
import pytest

from blocks.training.smoothing import half_life, smoothed


def curve(losses: list[float], steps: list[int] | None = None) -> pd.DataFrame:
    return pd.DataFrame({"step": steps or [*range(1, len(losses) + 1)], "loss": losses})


def test_a_flat_curve_stays_flat_and_the_first_value_is_itself():
    assert smoothed(curve([3.0] * 20), n_steps=100).tolist() == pytest.approx([3.0] * 20)
    assert smoothed(curve([5.0, 1.0]), n_steps=100).iloc[0] == 5.0


def test_it_is_the_exponentially_weighted_mean_of_pandas():
    losses = [4.0, 1.0, 3.0, 2.0, 5.0]
    expected = pd.Series(losses).ewm(halflife=half_life(200)).mean()
    assert smoothed(curve(losses), n_steps=200).tolist() == pytest.approx(expected.tolist())


def test_steps_far_apart_forget_more():
    near = smoothed(curve([4.0, 0.0], [1, 2]), n_steps=100).iloc[-1]
    far = smoothed(curve([4.0, 0.0], [1, 20]), n_steps=100).iloc[-1]
    assert far < near


def test_no_steps_no_curve():
    assert smoothed(curve([]), n_steps=5).empty
