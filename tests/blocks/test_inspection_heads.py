"""Measures of heads that everyone knows."""

import math

import pandas as pd
import pytest
import torch
from torch import Tensor
from toy import assert_near, toy

from blocks import build, record
from blocks.inspection import tiles
from blocks.inspection.digest import digest, small_codes
from blocks.model import attention
from blocks.model.masks import causal
from blocks.observe import heads as head_measures
from blocks.observe.heads import NAMED_ABOVE, frame

SEQ_LEN = 5
SAME = torch.eye(SEQ_LEN)
UNIFORM = torch.full((SEQ_LEN, SEQ_LEN), 1 / SEQ_LEN)
FIRST = torch.eye(SEQ_LEN)[:1].expand(SEQ_LEN, SEQ_LEN)
PREVIOUS = torch.cat((SAME[:1], SAME[:-1]))  # the first token has only itself
HEADS = {"same": SAME, "uniform": UNIFORM, "first": FIRST, "previous": PREVIOUS}
MEAN_DISTANCE = sum(abs(i - j) for i in range(SEQ_LEN) for j in range(SEQ_LEN)) / SEQ_LEN**2


def measures(*heads: Tensor, mask: Tensor | None = None) -> pd.DataFrame:
    return frame(torch.stack(heads)[None], mask)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (
            "same",
            {
                "entropy_bits": 0,
                "effective_tokens": 1,
                "distance_tokens": 0,
                "first_token": 1 / SEQ_LEN,
                "same_token": 1,
                "previous_token": 0,
                "name": "same_token",
            },
        ),
        (
            "uniform",
            {
                "entropy_bits": math.log2(SEQ_LEN),
                "effective_tokens": SEQ_LEN,
                "distance_tokens": MEAN_DISTANCE,
                "first_token": 1 / SEQ_LEN,
                "same_token": 1 / SEQ_LEN,
                "previous_token": (SEQ_LEN - 1) / SEQ_LEN**2,
                "name": "",
            },
        ),
        (
            "first",
            {
                "entropy_bits": 0,
                "effective_tokens": 1,
                "distance_tokens": sum(range(SEQ_LEN)) / SEQ_LEN,
                "first_token": 1,
                "same_token": 1 / SEQ_LEN,
                "previous_token": 1 / SEQ_LEN,
                "name": "first_token",
            },
        ),
        (
            "previous",
            {
                "entropy_bits": 0,
                "effective_tokens": 1,
                "distance_tokens": (SEQ_LEN - 1) / SEQ_LEN,
                "first_token": 2 / SEQ_LEN,
                "same_token": 1 / SEQ_LEN,
                "previous_token": (SEQ_LEN - 1) / SEQ_LEN,
                "name": "previous_token",
            },
        ),
    ],
)
def test_heads_that_everyone_knows(head: str, expected: dict[str, float | str]):
    row = measures(HEADS[head]).iloc[0]
    name = expected.pop("name")
    assert {column: row[column] for column in expected} == pytest.approx(expected, abs=1e-5)
    assert row["name"] == name
    assert (row["row_sum_min"], row["row_sum_max"]) == pytest.approx((1, 1))


def test_a_table_has_a_row_a_head_averaged_over_the_batch():
    pattern = torch.stack((torch.stack((SAME, UNIFORM)), torch.stack((SAME, SAME))))
    table = frame(pattern, layer=3)
    assert table["layer"].tolist() == [3, 3]
    assert table["head"].tolist() == [0, 1]
    assert table["same_token"].tolist() == pytest.approx([1, (1 + 1 / SEQ_LEN) / 2])


@pytest.mark.parametrize("share", [NAMED_ABOVE - 0.1, NAMED_ABOVE + 0.1])
def test_a_head_is_named_only_above_the_threshold(share: float):
    last = torch.eye(SEQ_LEN)[-1:].expand(SEQ_LEN, SEQ_LEN)
    row = measures(share * FIRST + (1 - share) * last).iloc[0]
    assert row["first_token"] == pytest.approx(share)
    assert row["name"] == ("first_token" if share > NAMED_ABOVE else "")


def test_row_sums_show_what_is_no_softmax():
    pattern = SAME.clone()
    pattern[1] *= 0.5
    pattern[2] *= 2
    row = measures(pattern).iloc[0]
    assert (row["row_sum_min"], row["row_sum_max"]) == pytest.approx((0.5, 2))


@pytest.mark.parametrize("per_sentence", [True, False])
def test_queries_that_see_no_key_are_left_out(per_sentence: bool):
    empty = 1
    mask = causal(SEQ_LEN).index_fill(0, torch.tensor(empty), False)
    pattern = SAME.index_fill(0, torch.tensor(empty), 0.0)
    row = measures(pattern, mask=mask[None, None] if per_sentence else mask).iloc[0]
    assert row["same_token"] == pytest.approx(1)
    assert (row["row_sum_min"], row["row_sum_max"]) == pytest.approx((1, 1))


def test_only_queries_that_can_choose_are_averaged():
    row = measures(PREVIOUS, mask=causal(SEQ_LEN)).iloc[0]
    assert row["previous_token"] == pytest.approx(1)
    assert row["first_token"] == pytest.approx(1 / (SEQ_LEN - 1))
    even = causal(SEQ_LEN) / causal(SEQ_LEN).sum(1, keepdim=True)
    n_keys = torch.arange(2, SEQ_LEN + 1)
    found = measures(even, mask=causal(SEQ_LEN)).iloc[0]
    assert found["entropy_bits"] == pytest.approx(float(n_keys.log2().mean()))


def test_where_no_query_can_choose_all_that_see_a_key_are_averaged():
    row = measures(SAME, mask=torch.eye(SEQ_LEN, dtype=torch.bool)).iloc[0]
    assert row["same_token"] == pytest.approx(1) and row["entropy_bits"] == 0


def test_a_sentence_of_padding_weighs_nothing_in_the_average():
    pattern = torch.stack((FIRST, torch.zeros_like(FIRST)))[:, None]
    mask = torch.tensor([True, False])[:, None, None, None].expand(2, 1, SEQ_LEN, SEQ_LEN)
    row = frame(pattern, mask).iloc[0]
    assert row["first_token"] == pytest.approx(1)
    assert row["row_sum_min"] == pytest.approx(1)


def test_half_precision_is_measured_in_float32():
    row = measures(UNIFORM.to(torch.bfloat16)).iloc[0]
    assert row["entropy_bits"] == pytest.approx(math.log2(SEQ_LEN), rel=1e-2)


def test_a_head_that_reads_what_followed_the_same_token_is_an_induction_head():
    tokens = ["a", "b", "c", "a", "b", "x"]
    pattern = torch.zeros(1, 2, 6, 6)
    pattern[0, :, :, 0] = 1  # one head reads the first token only
    pattern[0, 1, 3] = torch.eye(6)[1]  # the other, at the second "a", what followed the first
    pattern[0, 1, 4] = torch.eye(6)[2]
    table = frame(pattern, tokens=tokens)
    assert table["induction"].tolist() == [0, 1]
    assert table["name"].tolist() == ["first_token", "induction"]
    assert frame(pattern)["induction"].tolist() == [0, 0]


def test_where_no_token_stands_twice_there_is_no_induction():
    table = frame(torch.full((1, 1, 3, 3), 1 / 3), tokens=["a", "b", "c"])
    assert table["induction"].tolist() == [0]


def test_heads_of_a_long_text_are_measured_and_drawn_as_of_whole_patterns(monkeypatch):
    config = toy(architecture="gpt", n_layers=1, n_heads=4, vocab_size=7, max_seq_len=256)
    ids = torch.arange(150)[None] ** 2 % 7
    tokens, mask = ids[0].tolist(), causal(150)
    seen = record(build(config), ids, keep={"pattern"})
    later = record(build(config), ids, keep=(), later=("pattern",))
    monkeypatch.setattr(attention, "AT_ONCE", 4 * 150 * 10)  # ten queries at a time
    found = digest(later, 0, mask, tokens)
    whole = head_measures.frame(seen.pattern(), mask, tokens=tokens)
    pd.testing.assert_frame_equal(found.measures, whole, check_exact=False, rtol=1e-5)
    codes = tiles.shrink(tiles.encode(seen.pattern(), mask)[0])
    small = small_codes(later, 0, mask)
    assert (small.int() - codes.int()).abs().max() <= 1 and small.shape == (4, 50, 50)
    got = found.received
    assert_near(got.all, seen.pattern()[0].sum(1))
    assert_near(got.own, seen.pattern()[0].diagonal(dim1=1, dim2=2))
