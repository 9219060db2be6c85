"""The schedules against those of torch and of the paper."""

import pytest
import torch
from torch.optim import SGD
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LinearLR, LRScheduler

from blocks.training.recipe import RECIPES, Recipe, ScheduleKind
from blocks.training.schedule import curve, learning_rate, rate_factor

D_MODEL = 64
N_STEPS, WARMUP, PEAK, SHARE = 50, 8, 0.3, 0.2


def recipe(schedule: str, **changes: object) -> Recipe:
    base = Recipe(n_steps=N_STEPS, warmup_steps=WARMUP, learning_rate=PEAK, final_share=SHARE)
    return base.replace(schedule=schedule, **changes)


def rates(of: Recipe, first: int = 1) -> list[float]:
    return [learning_rate(of, step, D_MODEL) for step in range(first, of.n_steps + 1)]


def torch_rates(scheduler: LRScheduler, n_steps: int) -> list[float]:
    """The rate of each update, the scheduler stepped after it as torch asks."""
    seen = []
    for _ in range(n_steps):
        seen.append(scheduler.get_last_lr()[0])
        scheduler.optimizer.step()
        scheduler.step()
    return seen


@pytest.fixture
def optimizer() -> SGD:
    return SGD([torch.zeros(1, requires_grad=True)], lr=PEAK)


@pytest.mark.parametrize("schedule", ["constant", "cosine", "trapezoid"])
def test_the_warm_up_is_torchs(optimizer: SGD, schedule: str):
    theirs = LinearLR(optimizer, start_factor=1 / WARMUP, total_iters=WARMUP - 1)
    assert rates(recipe(schedule))[:WARMUP] == pytest.approx(torch_rates(theirs, WARMUP))


def test_the_cosine_is_torchs(optimizer: SGD):
    n_steps = N_STEPS - WARMUP
    theirs = CosineAnnealingLR(optimizer, T_max=n_steps, eta_min=SHARE * PEAK)
    assert rates(recipe("cosine"), WARMUP + 1) == pytest.approx(torch_rates(theirs, n_steps))


def test_the_fall_of_the_trapezoid_is_torchs(optimizer: SGD):
    falling = N_STEPS // 2
    theirs = LinearLR(optimizer, start_factor=1.0, end_factor=SHARE, total_iters=falling)
    expected = torch_rates(theirs, falling)
    assert rates(recipe("trapezoid"), N_STEPS - falling + 1) == pytest.approx(expected)
    assert rates(recipe("trapezoid"))[WARMUP : N_STEPS - falling] == [PEAK] * 17


def test_the_papers_is_equation_3(optimizer: SGD):
    def noam(done: int) -> float:
        step = done + 1
        return D_MODEL**-0.5 * min(step**-0.5, step * WARMUP**-1.5)

    theirs = torch_rates(LambdaLR(optimizer, noam), N_STEPS)
    assert rates(recipe("paper")) == pytest.approx(theirs)


def test_the_papers_peaks_where_the_warm_up_ends():
    peak = max(range(1, N_STEPS + 1), key=lambda step: rates(recipe("paper"))[step - 1])
    assert peak == WARMUP


@pytest.mark.parametrize("schedule", ScheduleKind)
@pytest.mark.parametrize("warmup_steps", [0, 1, N_STEPS])
@pytest.mark.parametrize("decay_share", [0.0, 1.0])
def test_no_schedule_stands_still_or_passes_its_peak(
    schedule: ScheduleKind, warmup_steps: int, decay_share: float
):
    odd = recipe(schedule, warmup_steps=warmup_steps, decay_share=decay_share, final_share=0.0)
    for n_steps in (1, 2, N_STEPS):
        changed, _ = odd.nearest(n_steps=n_steps)
        factors = [rate_factor(changed, step, D_MODEL) for step in range(1, n_steps + 1)]
        assert all(0 < factor <= 1 for factor in factors)


@pytest.mark.parametrize("name", RECIPES)
def test_the_curve_is_what_will_run(name: str):
    frame = curve(RECIPES[name], D_MODEL, n_points=100)
    assert list(frame.columns) == ["step", "learning_rate"]
    assert len(frame) == 100
    assert (frame["step"].iloc[0], frame["step"].iloc[-1]) == (1, RECIPES[name].n_steps)
    for row in frame.itertuples():
        assert row.learning_rate == learning_rate(RECIPES[name], row.step, D_MODEL)


def test_a_short_curve_has_every_step():
    assert curve(recipe("cosine"), D_MODEL)["step"].tolist() == [*range(1, N_STEPS + 1)]
