"""Tests for an accelerator: in full where there is one, once on the CPU where there is none."""

from collections.abc import Iterable

import pytest
import torch

from blocks.model.devices import available_devices

DEVICE = available_devices()[0]
IS_SMOKE = not torch.accelerator.is_available()


def in_full(name: str, values: Iterable) -> pytest.MarkDecorator:
    """All of these on an accelerator, the first of them elsewhere."""
    return pytest.mark.parametrize(name, [*values][: 1 if IS_SMOKE else None], ids=str)
