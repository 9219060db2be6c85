"""The number format a device is fast in: decided from measured seconds, once per process."""

import pytest
import torch

from blocks.cost import fast_format
from blocks.devices import available_devices


@pytest.mark.parametrize(
    ("float32", "bfloat16", "chosen"),
    [(6.0, 1.0, "bfloat16"), (1.0, 1.7, "float32"), (1.9, 1.0, "float32"), (2.0, 1.0, "bfloat16")],
    ids=["AMX", "emulated", "not clearly", "just"],
)
def test_bfloat16_only_where_its_products_are_clearly_faster(float32, bfloat16, chosen):
    assert fast_format.faster({"float32": float32, "bfloat16": bfloat16}) == chosen


def test_float32_where_the_device_has_no_other():
    assert fast_format.faster({"float32": 1.0}) == "float32"


def test_the_race_is_run_once(monkeypatch: pytest.MonkeyPatch):
    asked = []

    def seconds(device: str, dtype: torch.dtype) -> float:
        asked.append(dtype)
        return {torch.float32: 6.0, torch.bfloat16: 1.0}[dtype]

    monkeypatch.setattr(fast_format, "product_seconds", seconds)
    race = fast_format.fast_format.__wrapped__
    assert race("cpu") == "bfloat16"
    assert sorted(map(str, asked)) == ["torch.bfloat16", "torch.float32"]


def test_this_device_has_an_answer():
    for device in available_devices():
        assert fast_format.fast_format(device) is fast_format.fast_format(device)
        assert fast_format.fast_format(device) in fast_format.RACERS
