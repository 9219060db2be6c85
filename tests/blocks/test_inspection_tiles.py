"""Heads as bytes, side by side."""

import numpy as np
import pytest
import torch
from toy import SEQ_LEN, draw

from blocks.inspection.tiles import (
    GUTTER,
    LEAST,
    MANY_HEADS,
    MASKED,
    MOST,
    SIDE,
    SIDE_OF_MANY,
    cells_per_side,
    columns,
    encode,
    mask_codes,
    shrink,
    tile,
    weights,
)
from blocks.model.masks import causal

CAUSAL = causal(SEQ_LEN)
PATTERN = draw(1, 3, SEQ_LEN, SEQ_LEN).softmax(dim=-1)


def test_weights_become_bytes_that_give_them_back():
    codes = encode(PATTERN, None)
    assert codes.dtype is torch.uint8
    decoded = (codes.float() - LEAST) / (MOST - LEAST)
    torch.testing.assert_close(decoded, PATTERN, rtol=0, atol=0.5 / (MOST - LEAST) + 1e-6)
    assert encode(torch.tensor([0.0, 1.0]), None).tolist() == [LEAST, MOST]


def test_masked_cells_have_their_own_code_and_no_weight():
    masked = ~CAUSAL.expand_as(PATTERN)
    assert encode(PATTERN, CAUSAL).eq(MASKED).equal(masked)
    seen = weights(PATTERN[:, 1:2], CAUSAL)
    np.testing.assert_array_equal(np.isnan(seen), ~CAUSAL.numpy())
    np.testing.assert_array_equal(seen[CAUSAL.numpy()], PATTERN[0, 1][CAUSAL].numpy())
    np.testing.assert_array_equal(weights(PATTERN[:, 1:2], None), PATTERN[0, 1].numpy())


def test_a_mask_becomes_bytes():
    expected = np.where(CAUSAL.numpy(), MOST, MASKED)
    np.testing.assert_array_equal(mask_codes(CAUSAL, SEQ_LEN), expected)
    per_sentence = CAUSAL.expand(2, 1, -1, -1)
    np.testing.assert_array_equal(mask_codes(per_sentence, SEQ_LEN), expected)
    assert (mask_codes(None, SEQ_LEN) == MOST).all()


@pytest.mark.parametrize("n_heads", [1, 3, 4, 5, 12, 32])
def test_every_head_stands_in_its_tile(n_heads: int):
    codes = encode(draw(n_heads, SEQ_LEN, SEQ_LEN).softmax(dim=-1), None)
    picture = tile(codes, columns(n_heads))
    n_rows = -(-n_heads // columns(n_heads))
    height = len(picture) // n_rows  # of a head and its title
    for head, expected in enumerate(codes.numpy()):
        row, column = divmod(head, columns(n_heads))
        bottom, left = (row + 1) * height, column * (SEQ_LEN + 1)
        found = picture[bottom - SEQ_LEN : bottom, left : left + SEQ_LEN]
        np.testing.assert_array_equal(found, expected)
    assert (picture != GUTTER).sum() == codes.numel()


@pytest.mark.parametrize("n_heads", [1, 4, 12, 64, 1000])
def test_the_picture_is_no_wider_than_the_heads(n_heads: int):
    assert 1 <= columns(n_heads) <= n_heads
    assert columns(n_heads) * -(-n_heads // columns(n_heads)) >= n_heads


@pytest.mark.parametrize("seq_len", [1, 64, 65, 100, 130])
@pytest.mark.parametrize("n_heads", [2, MANY_HEADS + 1])
def test_shrinking_keeps_the_largest_of_each_cell(n_heads: int, seq_len: int):
    codes = encode(draw(n_heads, seq_len, seq_len).sigmoid(), None)
    small, k = shrink(codes).numpy(), cells_per_side(seq_len, n_heads)
    assert small.shape[-1] <= (SIDE if n_heads <= MANY_HEADS else SIDE_OF_MANY)
    for row, column in ((0, 0), (small.shape[1] - 1, small.shape[2] - 1)):
        cells = codes[:, row * k : (row + 1) * k, column * k : (column + 1) * k]
        np.testing.assert_array_equal(small[:, row, column], cells.amax((1, 2)).numpy())
