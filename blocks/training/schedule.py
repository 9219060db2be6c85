"""How the learning rate changes from the first step to the last."""

import math

import numpy as np
import pandas as pd

from blocks.training.recipe import Recipe, ScheduleKind


def learning_rate(recipe: Recipe, step: int, d_model: int) -> float:
    """The rate with which the `step`-th update is made; steps count from 1."""
    return recipe.learning_rate * rate_factor(recipe, step, d_model)


def rate_factor(recipe: Recipe, step: int, d_model: int) -> float:
    """What the peak rates are multiplied by in the `step`-th update.

    With the paper's schedule d_model^−0.5 · min(step^−0.5, step · warmup_steps^−1.5) (Vaswani et
    al. 2017, eq. 3); with the others a straight rise to 1 in `warmup_steps` updates, then the
    fall of `decay_factor`.
    """
    if recipe.schedule is ScheduleKind.PAPER:
        warmup = max(recipe.warmup_steps, 1)
        return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    if step <= recipe.warmup_steps:
        return min(step / recipe.warmup_steps, decay_factor(recipe, step))
    return decay_factor(recipe, step)


def decay_factor(recipe: Recipe, step: int) -> float:
    """From 1 to what would be `final_share` one update after the last."""
    match recipe.schedule:
        case ScheduleKind.COSINE:
            progress = _progress(step, recipe.warmup_steps, recipe.n_steps)
            remaining = (1 + math.cos(math.pi * progress)) / 2
        case ScheduleKind.TRAPEZOID:
            decay_start = recipe.n_steps * (1 - recipe.decay_share)
            remaining = 1 - _progress(step, decay_start, recipe.n_steps)
        case _:
            return 1.0
    return recipe.final_share + (1 - recipe.final_share) * remaining


def _progress(step: int, start: float, end: float) -> float:
    """How far the updates before this one have come from `start` to `end`: 0 to 1."""
    return 0.0 if step - 1 <= start else (step - 1 - start) / (end - start)


def curve(recipe: Recipe, d_model: int, *, n_points: int = 1000) -> pd.DataFrame:
    """The whole schedule, drawn before it runs: step, learning_rate; at most `n_points` rows."""
    steps = np.unique(np.linspace(1, recipe.n_steps, min(n_points, recipe.n_steps), dtype=int))
    rates = [learning_rate(recipe, int(step), d_model) for step in steps]
    return pd.DataFrame({"step": steps, "learning_rate": rates})
