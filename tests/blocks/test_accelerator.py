"""The same model on the CPU and on an accelerator.

Where there is none, each test runs once, the CPU against itself: so none of them rots unseen.
"""

from dataclasses import replace

import pytest
import torch
from there import DEVICE, in_full
from toy import IS_TOKEN, MASKS, assert_near, scramble, toy, toy_input
from training_toy import losses, toy_spec

from blocks import build, record
from blocks.model.devices import DTYPES, available_dtypes, device_name
from blocks.model.kinds import NormKind, PositionKind
from blocks.model.masks import MaskConfig, build_mask
from blocks.text.generation import Generation
from blocks.text.sampling import SamplingConfig
from blocks.training.events import Ended, Reason
from blocks.training.loop import train
from blocks.training.recipe import OptimizerKind

pytestmark = pytest.mark.gpu

TOLERANCE = 1e-4


def test_the_accelerator_has_a_name():
    assert device_name(DEVICE)


@in_full("dtype_name", ["bfloat16", "float32"])
def test_a_seed_means_the_same_weights_on_every_device(dtype_name: str):
    config, dtype = toy(position_kind="learned", norm_kind="batchnorm"), DTYPES[dtype_name]
    here, there = (build(config, device=device, dtype=dtype) for device in ("cpu", DEVICE))
    for name, values in there.state_dict().items():
        assert values.device.type == DEVICE
        assert torch.equal(values.cpu(), here.state_dict()[name])


@in_full("training_seed", [0, None])
@in_full("norm_kind", NormKind)
@in_full("position_kind", PositionKind)
def test_outputs_agree(position_kind: str, norm_kind: str, training_seed: int | None):
    config = toy(position_kind=position_kind, norm_kind=norm_kind, n_kv_heads=2)
    here, there = (
        record(build(config, device=device), toy_input().to(device), training_seed=training_seed)
        for device in ("cpu", DEVICE)
    )
    assert here.stages == there.stages
    assert_near(there.output.cpu(), here.output, tolerance=TOLERANCE)
    assert_near(there.pattern().cpu(), here.pattern(), tolerance=TOLERANCE)
    assert_near(there.moments.cpu(), here.moments, tolerance=TOLERANCE)


@in_full("position_kind", PositionKind)
@in_full("n_kv_heads", [2, 4, 1])
@in_full("mask_config", MASKS[3:] + MASKS[:3])
def test_fused_path_equals_explicit_path_there(
    mask_config: MaskConfig, n_kv_heads: int, position_kind: str
):
    config = toy(n_kv_heads=n_kv_heads, position_kind=position_kind)
    model, x = build(config, device=DEVICE), toy_input().to(DEVICE)
    mask = build_mask(mask_config, IS_TOKEN.to(DEVICE))
    explicit = record(model, x, mask=mask)
    fused = record(model, x, mask=mask, keep=("head_out",))
    assert explicit.output.isfinite().all()
    assert_near(fused.output, explicit.output, tolerance=TOLERANCE)
    if mask is not None:
        heads_out = fused.tensor("head_out")
        is_empty = ~mask.any(dim=-1).expand(heads_out.shape[:-1])
        assert heads_out[is_empty].eq(0).all()


@in_full("dtype_name", available_dtypes(DEVICE))
def test_every_number_format_is_computed_there(dtype_name: str):
    dtype = DTYPES[dtype_name]
    model = build(toy(), device=DEVICE, dtype=dtype)
    for keep in (None, ()):
        output = record(model, toy_input().to(DEVICE, dtype), keep=keep).output
        assert output.dtype is dtype
        assert output.isfinite().all()


def test_a_recording_is_measured_there():
    model, x = build(toy(), device=DEVICE), toy_input().to(DEVICE)
    seen, here = record(model, x), record(build(toy()), toy_input())
    assert seen.milliseconds > 0
    assert seen.pattern().device.type == DEVICE
    assert seen.kept_bytes == here.kept_bytes
    assert len(seen.flow()) == len(seen.stages)
    assert len(seen.heads()) == toy().n_heads


def test_a_text_grows_there_as_here():
    config = toy(architecture="gpt", n_layers=2, vocab_size=11, position_kind="rope")
    grown = []
    for device in ("cpu", DEVICE):
        model = scramble(build(config)).to(device)
        generation = Generation(model, config, [1, 5, 0], SamplingConfig(temperature=0))
        generation.advance(12)
        grown.append(generation.token_ids)
    assert grown[0] == grown[1]


@in_full("optimizer", OptimizerKind)
def test_a_model_learns_there_as_here(optimizer: str):
    here, there = (
        losses([*train(replace(toy_spec(optimizer=optimizer, dropout=0.0), device=device))])
        for device in ("cpu", DEVICE)
    )
    assert there == pytest.approx(here, rel=1e-2)


def test_a_model_learns_there_in_bfloat16():
    events = [*train(replace(toy_spec(dtype="bfloat16"), device=DEVICE))]
    assert events[-1] == Ended(Reason.FINISHED)
