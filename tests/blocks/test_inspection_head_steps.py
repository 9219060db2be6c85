"""Attention taken apart: the steps are those of the run, and the arithmetic is shown as it is."""

from typing import Any

import numpy as np
import pytest
import torch
from toy import IS_TOKEN, MASKS, SEQ_LEN, assert_near, scramble, toy, toy_input

from blocks import build, record
from blocks.inspection.head_steps import (
    KEPT,
    AttentionSteps,
    attention_steps,
    head_steps,
    products,
    softmax_of,
)
from blocks.model.kinds import NormKind, NormPlacement
from blocks.model.masks import MaskConfig, MaskKind, build_mask

VARIANTS: list[dict[str, Any]] = [
    {},
    {"n_kv_heads": 2},
    {"n_kv_heads": 1, "position_kind": "rope"},
    {"position_kind": "rope"},
    {"position_kind": "alibi"},
    {"qk_norm": True},
    {"qk_norm": True, "position_kind": "rope", "n_kv_heads": 2},
    {"attention_bias": False, "position_kind": "none"},
    {"score_softcap": 1.0, "attention_sink": True, "position_kind": "alibi"},
    {"attention_gate": "elementwise", "qk_norm": True, "qk_norm_whole": True},
    {"attention_gate": "head", "local_window": 2},
    {"residual_multiplier": 0.3, "attention_multiplier": 0.2},
]
CAUSAL = MaskConfig(mask_kind=MaskKind.CAUSAL)


def taken_apart(mask_config: MaskConfig = CAUSAL, layer: int = 1, **changes: Any) -> tuple:
    """A recording with all probes, and one of its layers taken apart."""
    config = toy(n_layers=2, **changes)
    model = scramble(build(config))
    mask = build_mask(mask_config, IS_TOKEN)
    seen = record(model, toy_input(), mask=mask)
    return seen, attention_steps(seen, model, config, layer, mask), layer


def near(ours: Any, theirs: torch.Tensor) -> None:
    assert_near(torch.as_tensor(ours).float(), theirs)


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
@pytest.mark.parametrize("layer", [0, 1])
def test_the_steps_are_what_the_probes_of_the_run_saw(changes: dict[str, Any], layer: int):
    seen, steps, _layer = taken_apart(layer=layer, **changes)
    for name in KEPT:
        probed = seen.tensor(name, layer)[0]
        ours = getattr(steps, name)
        if len(probed) != len(ours):
            probed = probed.repeat_interleave(len(ours) // len(probed), dim=0)
        near(ours, probed)
    near(steps.out, seen.tensor("attention_out", layer)[0])


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
@pytest.mark.parametrize("head", [0, 3])
def test_the_chain_recomputed_by_hand_comes_to_what_was_recorded(changes: dict, head: int):
    seen, steps, layer = taken_apart(**changes)
    one = head_steps(steps, head)
    raw = one.q @ one.k.T
    assert_near(one.raw, raw)
    scores = raw / np.sqrt(one.d_head)
    if one.capped is not None:
        scores = steps.softcap * np.tanh(scores / steps.softcap)
        assert_near(one.capped, scores)
    if one.biased is not None:
        scores = scores + steps.bias[head].numpy()
        assert_near(one.biased, scores)
    may = steps.mask.numpy()
    assert_near(one.masked[may], scores[may])
    exp = np.where(may, np.exp(scores), 0)
    sink = 0 if one.sink is None else np.exp(one.sink)
    pattern = exp / (sink + exp.sum(-1, keepdims=True))
    probed = seen.tensor("pattern", layer)[0, head].numpy()
    assert_near(pattern, probed)
    assert_near(np.nan_to_num(one.pattern), probed)
    assert_near(one.mixed, pattern @ one.v)
    assert_near(one.passed_on, seen.tensor("head_out", layer)[0, head])
    if one.gated is not None:
        assert_near(one.gated, steps.gate[head].numpy() * one.mixed)


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_what_all_heads_write_and_the_bias_are_the_output(changes: dict[str, Any]):
    seen, steps, layer = taken_apart(**changes)
    written = sum(head_steps(steps, head).written for head in range(len(steps.q)))
    near(written + steps.out_bias.numpy(), seen.tensor("attention_out", layer)[0])


@pytest.mark.parametrize("placement", NormPlacement)
@pytest.mark.parametrize("norm", NormKind)
def test_every_placement_is_read_where_it_reads(placement: NormPlacement, norm: NormKind):
    seen, steps, layer = taken_apart(norm_placement=placement, norm_kind=norm)
    near(steps.scores, seen.tensor("scores", layer)[0])


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: mask.mask_kind)
def test_what_is_masked_is_no_number(mask: MaskConfig):
    seen, steps, layer = taken_apart(mask)
    one, built = head_steps(steps, 0), build_mask(mask, IS_TOKEN)
    may = np.ones((SEQ_LEN, SEQ_LEN), bool) if built is None else built.reshape(-1, 5, 5)[0].numpy()
    for square in (one.masked, one.pattern):
        assert (np.isnan(square) == ~may).all()
    assert np.isfinite(one.raw).all()
    near(np.nan_to_num(one.pattern), seen.tensor("pattern", layer)[0, 0])


@pytest.mark.parametrize("has_sink", [False, True])
def test_every_weight_is_its_softmax_written_out(has_sink: bool):
    _seen, steps, _layer = taken_apart(attention_sink=has_sink)
    one = head_steps(steps, 2)
    for query, key in np.argwhere(~np.isnan(one.pattern)):
        found = softmax_of(one.masked[query], key, one.sink)
        assert found.weight == pytest.approx(one.pattern[query, key], rel=1e-5, abs=1e-6)
        assert found.exp / found.total == found.weight
    assert softmax_of(one.masked[0], 1) is None


def test_a_sum_of_products_is_written_out():
    left, right = np.array([1.0, -2, np.nan, 3, 0.5, 4]), np.array([1.0, 1, 9, 1, 2, -1])
    plain = products(left, right)
    assert plain.terms == ((1, 1), (-2, 1), (3, 1), (0.5, 2))
    assert (plain.n_more, plain.total) == (1, 1 - 2 + 3 + 1 - 4)
    assert products(left, right, largest_first=True).terms[0] == (4, -1)
    assert products(left[:1], right[:1]).n_more == 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_number_formats_are_taken_apart(dtype: torch.dtype):
    config = toy(n_layers=1)
    model = build(config, dtype=dtype)
    seen = record(model, toy_input().to(dtype))
    steps: AttentionSteps = attention_steps(seen, model, config, 0, None)
    assert steps.q.dtype == torch.promote_types(dtype, torch.float32)
    assert steps.mask.all()


def test_what_was_changed_in_the_run_is_changed_here():
    config = toy(n_layers=2)
    model = scramble(build(config))
    change = {"layers.1.head_out": torch.zeros_like, "layers.0.attention_out": torch.zeros_like}
    seen = record(model, toy_input(), replace=change)
    steps = attention_steps(seen, model, config, 1, None, replace=change)
    assert not steps.head_out.any()
    near(steps.scores, seen.tensor("scores", 1)[0])
    near(steps.out, seen.tensor("attention_out", 1)[0])
