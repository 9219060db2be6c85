"""Every planted mistake is what its name says, and rows without a key become what torch says."""

import pytest
import torch
from toy import assert_near, draw, toy

from blocks import build
from blocks.inspection.blind_rows import Treatment, spread_of_nan, treated
from blocks.inspection.mask_faults import (
    FINITE,
    MaskFault,
    faulty_pattern,
    largest_exponent,
    largest_lead,
    one_more,
    planted,
)
from blocks.model.masks import MaskConfig, causal, everyone, sliding_window
from blocks.observe.recording import record
from blocks.observe.run import Input, Run

SCORES = draw(2, 3, 5, 5)
MASK = causal(5)


def pattern(fault: MaskFault, scores: torch.Tensor = SCORES) -> torch.Tensor:
    return faulty_pattern(fault, scores, MASK, everyone(5))


def test_no_fault_is_a_softmax_over_what_is_allowed():
    expected = SCORES.masked_fill(~MASK, -torch.inf).softmax(dim=-1)
    assert_near(pattern(MaskFault.NONE), expected)


def test_the_wrong_axis_sums_to_one_over_the_queries():
    found = pattern(MaskFault.WRONG_AXIS)
    assert_near(found.sum(dim=-2), torch.ones(2, 3, 5))
    assert not found[..., ~MASK].any()


def test_a_mask_after_the_softmax_leaves_rows_that_do_not_sum_to_one():
    found = pattern(MaskFault.AFTER_SOFTMAX)
    assert not found[..., ~MASK].any()
    assert (found.sum(dim=-1)[..., :-1] < 1).all()
    assert_near(found[..., -1, :].sum(dim=-1), torch.ones(2, 3))


def test_off_by_one_is_one_diagonal_more():
    assert torch.equal(one_more(MASK), torch.ones(5, 5, dtype=torch.bool).tril(1))
    window = sliding_window(5, 2)
    assert torch.equal(one_more(window), window | torch.diag(torch.ones(4), 1).bool())


def test_padding_attended_takes_the_mask_that_knows_no_padding():
    assert_near(pattern(MaskFault.PADDING_ATTENDED), SCORES.softmax(dim=-1))


def test_minus_1e4_holds_until_a_score_leads_by_as_much():
    exponent = largest_exponent(torch.float32)
    assert 80 < exponent < 110
    scores = torch.zeros(1, 1, 5, 5)
    for lead, leaks in ((1, False), (-FINITE - exponent - 5, False), (-FINITE - 5, True)):
        scores[..., 0, 3] = lead
        assert largest_lead(scores, MASK) == lead
        assert bool(pattern(MaskFault.ADDITIVE, scores)[..., ~MASK].any()) is leaks


def test_no_lead_where_all_or_nothing_is_forbidden():
    assert largest_lead(SCORES, everyone(5)) == largest_lead(SCORES, ~everyone(5)) == -torch.inf


@pytest.mark.parametrize("fault", list(MaskFault))
@pytest.mark.parametrize("position_kind", ["none", "rope", "alibi"])
def test_a_planted_fault_is_what_it_makes_of_the_scores(fault: MaskFault, position_kind: str):
    config = toy(position_kind=position_kind, n_kv_heads=2)
    run = Run(config=config, input=Input(batch=2, seq_len=5), mask=MaskConfig(mask_kind="causal"))
    model, keep = build(config), {"scores", "pattern"}
    clean = record(model, run.values(), mask=run.build_mask(), keep=keep)
    found = record(model, run.values(), mask=MASK, keep=keep, replace=planted(run, fault, model))
    opened = record(model, run.values(), mask=None, keep=keep).tensor("scores")
    expected = faulty_pattern(fault, opened, MASK, MASK)
    assert_near(found.pattern(), expected)
    if fault is MaskFault.NONE:
        assert torch.equal(found.output, clean.output)


def test_a_scale_multiplies_the_scores():
    run = Run(config=toy(), input=Input(seq_len=5), mask=MaskConfig(mask_kind="causal"))
    model, keep = build(run.config), {"scores"}
    replace = planted(run, MaskFault.NONE, model, score_scale=3)
    once = record(model, run.values(), mask=None, keep=keep).tensor("scores")
    scaled = record(model, run.values(), mask=None, keep=keep, replace=replace).tensor("scores")
    assert_near(scaled, 3 * once)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_row_without_a_key(dtype: torch.dtype):
    scores = draw(6).to(dtype)
    even = torch.full_like(scores, 1 / 6)
    assert not treated(scores, Treatment.ZEROS).any()
    assert treated(scores, Treatment.MINUS_INFINITY).isnan().all()
    assert_near(treated(scores, Treatment.LEAST), even)
    by_1e9 = treated(scores, Treatment.MINUS_1E9)
    if dtype is torch.float16:  # −1e9 is −∞ there
        assert by_1e9.isnan().all()
    elif dtype is torch.float64:  # fine enough to keep the scores
        assert_near(by_1e9, scores.softmax(dim=-1))
    else:
        assert_near(by_1e9, even)


@pytest.mark.parametrize(("n_layers", "n_spoiled"), [(1, 1), (2, 5)])
def test_what_is_no_number_passes_through_a_mask_in_the_next_layer(n_layers: int, n_spoiled: int):
    config = toy(n_layers=n_layers)
    run = Run(config=config, input=Input(seq_len=5), mask=MaskConfig(mask_kind="causal"))
    assert spread_of_nan(run, build(config), layer=0, head=1, query=3) == n_spoiled
