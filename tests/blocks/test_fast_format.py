"""The number format a device is fast in: decided from measured seconds, once per process."""

import pytest
import torch

from blocks.cost import fast_format
from blocks.model.devices import available_devices


@pytest.mark.parametrize(
    ("float32", "bfloat16", "chosen"),
    [(6.0, 1.0, "bfloat16"), (1.0, 1.7, "float32"), (1.9, 1.0, "float32"), (2.0, 1.0, "bfloat16")],
    ids=["AMX", "emulated", "not clearly", "just"],
)
def test_bfloat16_only_where_its_products_are_clearly_faster(float32, bfloat16, chosen):
    assert fast_format.faster({"float32": float32, "bfloat16": bfloat16}) == chosen


def test_float32_where_the_device_has_no_other():
    assert fast_format.faster({"float32": 1.0}) == "float32"


def test_the_race_decides(monkeypatch: pytest.MonkeyPatch):
    races = [({"float32": 6.0, "bfloat16": 1.0}, "bfloat16"), ({"float32": 1.0}, "float32")]
    for seconds, chosen in races:
        monkeypatch.setattr(fast_format, "product_seconds", lambda *_, found=seconds: found)
        assert fast_format.fast_format.__wrapped__("cpu") == chosen


@pytest.mark.parametrize(("has_products", "chosen"), [(True, "bfloat16"), (False, "float32")])
def test_on_cuda_the_card_decides(has_products, chosen, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: has_products)
    assert fast_format.fast_format.__wrapped__("cuda") == chosen


def test_this_device_has_an_answer():
    for device in available_devices():
        assert fast_format.fast_format(device) is fast_format.fast_format(device)
        assert fast_format.fast_format(device) in fast_format.product_seconds(device)
