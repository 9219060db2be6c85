"""Three attentions of one run: what is read off them, and how they are drawn small."""

import numpy as np
import pytest
import torch
from toy import toy

from blocks import build, record
from blocks.inspection import tiles, two_texts
from blocks.inspection.two_texts import AttentionKind
from blocks.model.source_target import SourceTarget, source_target_mask

IDS = SourceTarget(torch.tensor([[1, 5, 3, 0]]), torch.tensor([[0, 2, 7]]))
MASK = source_target_mask(
    torch.tensor([[True, True, True, False]]), torch.ones(1, 3, dtype=torch.bool)
)
CONFIG = toy(architecture="encoder-decoder", n_layers=2, n_decoder_layers=3, vocab_size=11)
SEEN = record(build(CONFIG), IDS, mask=MASK)
SHAPES = {"encoder": (4, 4), "decoder": (3, 3), "cross": (3, 4)}


@pytest.mark.parametrize("kind", AttentionKind)
def test_each_kind_has_its_shape_its_layers_and_its_mask(kind: AttentionKind):
    found = two_texts.patterns(SEEN, kind, CONFIG)
    assert len(found) == (2 if kind is AttentionKind.ENCODER else 3)
    is_open = two_texts.allowed(MASK, kind, *SHAPES[kind])
    for pattern in found:
        assert tuple(pattern.shape) == (CONFIG.n_heads, *SHAPES[kind])
        shown = two_texts.weights(pattern[0], is_open)
        assert (np.isnan(shown) == ~is_open.numpy()).all()
        assert np.nansum(shown, axis=1) == pytest.approx(1)
    if kind.reads_source:
        assert not is_open[:, 3].any() and is_open[:, :3].all()
    else:
        assert is_open.equal(torch.ones(3, 3, dtype=torch.bool).tril())


def test_entropy_is_that_of_known_rows():
    even, sharp = torch.full((2, 4), 0.25), torch.eye(4)[:2]
    table = two_texts.frame([torch.stack([even, sharp])], torch.ones(2, 4, dtype=torch.bool))
    assert table["entropy_bits"].tolist() == pytest.approx([2, 0])
    assert table["effective_tokens"].tolist() == pytest.approx([4, 1])


def test_a_row_that_sees_nothing_is_not_counted():
    found = torch.tensor([[[0.5, 0.5], [0.0, 0.0]]])
    is_open = torch.tensor([[True, True], [False, False]])
    assert two_texts.frame([found], is_open)["entropy_bits"].tolist() == pytest.approx([1])


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (100, 5), (512, 512)])
def test_tiles_are_square_whatever_the_texts(shape: tuple[int, int]):
    found = torch.rand(3, *shape).softmax(dim=-1)
    codes = two_texts.tiled([found, found], torch.ones(shape, dtype=torch.bool))
    side = two_texts.SIDE
    assert codes.shape[1] == 3 * (side + 1) - 1
    assert codes.dtype == np.uint8 and codes.max() <= tiles.MOST


def test_the_largest_weight_of_a_long_text_is_seen_and_the_mask_too():
    found = torch.zeros(1, 300, 300)
    found[0, 150, 40] = 1
    codes = two_texts.tiled([found], torch.ones(300, 300, dtype=torch.bool).tril())
    assert codes.max() == tiles.MOST and (codes == tiles.MASKED).any()


def test_a_row_without_a_choice_is_not_counted():
    found = torch.tensor([[[1.0, 0.0], [0.5, 0.5]]])
    is_open = torch.ones(2, 2, dtype=torch.bool).tril()
    assert two_texts.frame([found], is_open)["entropy_bits"].tolist() == pytest.approx([1])
