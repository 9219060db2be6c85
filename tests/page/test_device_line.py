"""What a reader is told of the device."""

from dataclasses import replace

import pytest

from blocks import PRESETS
from blocks.cost.hardware import HARDWARE
from blocks.cost.roofline import Bound
from blocks.cost.sheet_share import sheet_share
from blocks.model import devices
from blocks.model.config import ModelConfig
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from pages.page import device_line

H200 = HARDWARE["h200-sxm"]


def test_a_long_text_is_limited_by_arithmetic_and_one_token_by_the_weights():
    config = PRESETS["llama-3-8b"]  # 8.03 · 10⁹ parameters, of which 0.53 · 10⁹ are looked up
    long = sheet_share(config, H200, batch=1, n=512, dtype="bfloat16", seconds=0.0185)
    assert long.bound is Bound.COMPUTE and long.rate == H200.peak["bfloat16"]
    assert long.share == pytest.approx(2 * 7.5e9 * 512 / 989.4e12 / 0.0185, rel=0.03)
    short = sheet_share(config, H200, batch=1, n=1, dtype="bfloat16", seconds=0.009)
    assert short.bound is Bound.MEMORY and short.rate == H200.bandwidth
    assert short.share == pytest.approx(2 * 7.5e9 / 4.8e12 / 0.009, rel=0.01)


def test_a_format_that_the_sheet_does_not_have_has_no_share():
    found = sheet_share(PRESETS["course"], H200, batch=1, n=4, dtype="float64", seconds=1)
    assert found is None


def test_the_line_says_the_share_where_the_sheet_is_known(monkeypatch: pytest.MonkeyPatch):
    config = ModelConfig.from_flat({"d_model": 16, "n_heads": 2})
    run = Run(config=config, input=Input(seq_len=4), mask=MaskConfig())
    seen = run.record(run.build())
    assert "data sheet" not in device_line.says_run(run, seen)
    assert "runs may use 2.15 GB" in device_line.says_run(run, seen)
    monkeypatch.setattr(devices, "device_name", lambda _device: "NVIDIA H200")
    said = device_line.says_run(run, seen)
    assert "NVIDIA H200 · float32" in said and "<\N{NO-BREAK SPACE}0.1% of the 4.8 TB/s" in said
    assert "as one CUDA graph" not in said
    assert "as one CUDA graph" in device_line.says_run(run, replace(seen, is_replayed=True))


def test_the_setting_that_allows_more_is_named():
    assert "BLOCKSCOPE_MEMORY_GIB (2 GiB)" in device_line.says_budget("cpu")
    said = device_line.says_training("cpu")
    assert "20,000 steps, 5,000,000 parameters and 1.07 GB" in said
    assert "BLOCKSCOPE_TRAINING_GIB" in said
