"""Attention is not contribution: split without a rest, and known answers."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import D_HEAD, D_MODEL, IS_TOKEN, N_HEADS, SEQ_LEN, assert_near, scramble, toy, toy_input

from blocks import build, record
from blocks.inspection.contribution import contribution, first_token, value_norms
from blocks.inspection.head_steps import AttentionSteps, attention_steps
from blocks.model.kinds import PositionKind
from blocks.model.masks import causal


def of(seed: int = 0, **changes: Any) -> tuple[AttentionSteps, torch.Tensor]:
    """A layer taken apart, and what it wrote in the run: (seq, d_model)."""
    config = toy(n_layers=1, **changes)
    model = scramble(build(config, seed=seed))
    mask = causal(SEQ_LEN)
    seen = record(model, toy_input(seed), mask=mask)
    return attention_steps(seen, model, config, 0, mask), seen.tensor("attention_out")[0]


def by_hand(**changes: Any) -> AttentionSteps:
    """Two heads of width 1 and two tokens, written down."""
    given = {
        "q": torch.ones(2, 2, 1),
        "k": torch.ones(2, 2, 1),
        "v": torch.tensor([[[1.0], [10.0]], [[0.0], [3.0]]]),
        "bias": None,
        "mask": torch.tensor([[True, False], [True, True]]),
        "scores": torch.zeros(2, 2, 2),
        "pattern": torch.tensor([[[1.0, 0], [0.9, 0.1]], [[1.0, 0], [0.5, 0.5]]]),
        "out_weight": torch.tensor([[[1.0, 0]], [[0, 2.0]]]),
        "out_bias": torch.tensor([0.0, 4.0]),
        "x": torch.ones(2, 2),
        "q_weight": None,
        "q_bias": torch.zeros(2, 1, 1),
    }
    given |= changes
    given["head_out"] = given["pattern"] @ given["v"]
    parts = torch.einsum("hqd,hdm->qm", given["head_out"], given["out_weight"])
    plain = {"softcap": 0.0, "sinks": None, "gate": None}
    return AttentionSteps(**given, **plain, out=parts + given["out_bias"])


def test_a_small_weight_on_a_large_value_counts_more_than_a_large_one_on_a_small():
    steps = by_hand()
    found = contribution(steps, query=1, head=0)
    assert found.keys["weight"].tolist() == pytest.approx([0.9, 0.1])
    assert found.keys["norm"].tolist() == pytest.approx([0.9, 1.0])
    assert found.keys["value_norm"].tolist() == pytest.approx([1, 10])
    # what is written: (0.9·1 + 0.1·10, 2·0.5·3 + 4) = (1.9, 7)
    size = 1.9**2 + 7**2
    assert found.keys["share"].tolist() == pytest.approx([0.9 * 1.9 / size, 1.0 * 1.9 / size])
    assert found.bias == pytest.approx(4 * 7 / size)
    assert found.rest == pytest.approx(3 * 7 / size)
    assert found.out_norm == pytest.approx(size**0.5)
    assert found.bias_norm == 4


def test_all_heads_together_leave_nothing_to_others():
    found = contribution(by_hand(), query=1)
    assert found.rest == pytest.approx(0, abs=1e-5)  # of shares that sum to 1
    assert found.keys["weight"].tolist() == pytest.approx([0.7, 0.3])
    assert found.keys["norm"].tolist() == pytest.approx([0.9, (1 + 9) ** 0.5])
    assert found.keys["share"].sum() + found.bias == pytest.approx(1)


def test_a_key_that_may_not_be_seen_adds_nothing_and_is_told_apart():
    found = contribution(by_hand(), query=0).keys
    assert found["is_seen"].tolist() == [True, False]
    assert found[["weight", "norm", "share"]].iloc[1].tolist() == [0, 0, 0]


def test_where_nothing_is_written_there_are_no_shares():
    steps = by_hand(out_weight=torch.zeros(2, 1, 2), out_bias=torch.zeros(2))
    found = contribution(steps, query=1)
    assert found.out_norm == 0
    assert found.keys["share"].tolist() == [0, 0]
    assert (found.rest, found.bias) == (0, 0)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    query=st.integers(0, SEQ_LEN - 1),
    n_kv_heads=st.sampled_from([1, 2, 4]),
    position=st.sampled_from(PositionKind),
    has_bias=st.booleans(),
)
def test_parts_and_bias_are_the_output(seed, query, n_kv_heads, position, has_bias):
    steps, out = of(seed, n_kv_heads=n_kv_heads, position_kind=position, attention_bias=has_bias)
    weights = steps.pattern[:, query, :, None]
    parts = torch.einsum("hkd,hdm->hkm", weights * steps.v, steps.out_weight)
    assert_near(parts.sum((0, 1)) + steps.out_bias, out[query])
    together = contribution(steps, query)
    assert together.keys["norm"].tolist() == pytest.approx(
        parts.sum(0).norm(dim=-1).tolist(), abs=1e-5
    )
    assert together.keys["share"].sum() + together.bias == pytest.approx(1, abs=1e-5)
    alone = [contribution(steps, query, head) for head in range(N_HEADS)]
    assert sum(one.keys["share"].sum() for one in alone) + together.bias == pytest.approx(
        1, abs=1e-5
    )
    for one in alone:
        total = one.keys["share"].sum() + one.rest + one.bias
        assert total == pytest.approx(1, abs=1e-5)


def test_value_norms_are_those_of_what_would_be_written():
    steps, _out = of()
    written = torch.einsum("hkd,hdm->hkm", steps.v, steps.out_weight)
    assert_near(value_norms(steps), written.norm(dim=-1), tolerance=1e-4)
    assert steps.out_weight.shape == (N_HEADS, D_HEAD, D_MODEL)


def test_a_sink_takes_weight_and_moves_little():
    table = first_token(by_hand())
    assert table["weight"].tolist() == pytest.approx([0.9, 0.5])
    assert table["even_weight"].tolist() == pytest.approx([0.5, 0.5])
    assert table["value_ratio"].tolist() == pytest.approx([0.1, 0])
    assert table["is_sink"].tolist() == [True, True]
    loud = first_token(by_hand(v=torch.tensor([[[10.0], [10.0]], [[1.0], [3.0]]])))
    assert loud["is_sink"].tolist() == [False, True]


def test_the_first_query_and_those_that_may_not_see_the_first_token_do_not_count():
    config = toy(n_layers=1)
    model = build(config)
    mask = causal(SEQ_LEN)
    mask[2:, 0] = False
    seen = record(model, toy_input(), mask=mask)
    steps = attention_steps(seen, model, config, 0, mask)
    assert first_token(steps)["weight"].tolist() == pytest.approx(steps.pattern[:, 1, 0].tolist())


def test_a_single_token_is_no_sink():
    one = by_hand()
    kept = ("out_weight", "out_bias", "x", "q_weight", "q_bias")
    alone = AttentionSteps(
        **{name: value for name, value in vars(one).items() if name in kept},
        **{name: getattr(one, name)[:, :1] for name in ("q", "k", "v", "head_out")},
        **{name: getattr(one, name)[:, :1, :1] for name in ("scores", "pattern")},
        mask=one.mask[:1, :1],
        bias=None,
        softcap=0.0,
        sinks=None,
        gate=None,
        out=one.out[:1],
    )
    assert first_token(alone)[["weight", "value_ratio"]].to_numpy().tolist() == [[0, 1], [0, 1]]
    assert contribution(alone, 0).keys["share"].sum() < 1


def test_queries_without_a_key_write_the_bias_alone():
    config = toy(n_layers=1)
    model = scramble(build(config))
    mask = IS_TOKEN[:, None, None, :] & causal(SEQ_LEN)
    seen = record(model, toy_input(), mask=mask)
    steps = attention_steps(seen, model, config, 0, mask)
    found = contribution(steps, query=0)
    assert found.bias == pytest.approx(1)
    assert found.keys["weight"].sum() == 0
