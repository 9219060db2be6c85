"""Dropout has its own random numbers and belongs to the pass."""

import threading

import pytest
import torch
from toy import assert_near

from blocks.model.dropout import Dropout, in_training_mode, training_mode

P = 0.25
ONES = torch.ones(100, 100)


def random(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_outside_of_training_everything_passes():
    assert Dropout(P)(ONES) is ONES
    assert not Dropout(P).is_active


def test_the_share_p_is_zeroed_and_the_rest_scaled():
    with training_mode(random()):
        out = Dropout(P)(ONES)
    kept = out != 0
    standard_error = (P * (1 - P) / ONES.numel()) ** 0.5
    assert kept.float().mean().item() == pytest.approx(1 - P, abs=4 * standard_error)
    assert_near(out[kept], ONES[kept] / (1 - P))


def test_dropout_of_nothing_draws_nothing():
    generator = random()
    before = generator.get_state()
    with training_mode(generator):
        assert Dropout(0.0)(ONES) is ONES
    assert torch.equal(generator.get_state(), before)


@pytest.mark.usefixtures("process_state_kept")
def test_the_pass_draws_from_its_own_generator():
    outs = []
    for seed in (0, 0, 1):
        with training_mode(random(seed)):
            outs.append(Dropout(P)(ONES))
    assert torch.equal(outs[0], outs[1])
    assert not torch.equal(outs[0], outs[2])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_number_format_stays(dtype: torch.dtype):
    with training_mode(random()):
        assert Dropout(P)(ONES.to(dtype)).dtype is dtype


def test_training_belongs_to_its_thread_and_ends_with_an_error():
    seen = []
    with pytest.raises(ValueError, match="stop"), training_mode(random()):
        assert in_training_mode()
        thread = threading.Thread(target=lambda: seen.append(in_training_mode()))
        thread.start()
        thread.join()
        raise ValueError("stop")
    assert seen == [False]
    assert not in_training_mode()
