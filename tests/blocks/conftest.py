"""What every test of `blocks` may ask for."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
import torch


def _process_state() -> tuple[object, ...]:
    numpy_state = np.random.get_state()
    return (
        torch.get_rng_state().tolist(),
        random.getstate(),
        numpy_state[1].tolist(),  # type: ignore[index]
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_grad_enabled(),
    )


@pytest.fixture
def process_state_kept() -> Iterator[None]:
    """Fails the test where it changed what belongs to the whole process."""
    before = _process_state()
    yield
    assert _process_state() == before
