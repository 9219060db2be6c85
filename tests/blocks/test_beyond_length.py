"""Beyond the trained length: known answers, and the loss that the model itself would report."""

import math

import numpy as np
import pytest
import torch
from toy import draw, toy

from blocks import ConfigError, build
from blocks.inspection import beyond_length
from blocks.inspection.beyond_length import (
    banded,
    bits_by_position,
    bits_in_bands,
    mean_bits,
    spread,
)
from blocks.inspection.other_positions import random_values, with_position
from blocks.model.kinds import PositionKind
from blocks.model.masks import causal, sliding_window
from blocks.training.task import IGNORED, Batch

CONFIG = toy(n_layers=2)


def found(kind: PositionKind, n: int, mask=None, **more):
    model = with_position(build(CONFIG), CONFIG, kind, seed=0, n_rows=8, n_layers=2)
    values = random_values(build(CONFIG), CONFIG, 3, n, 0)
    return spread(model, values, mask, layer=1, trained_len=8, **more)


@pytest.mark.parametrize("kind", [kind for kind in PositionKind if kind != "learned"])
@pytest.mark.parametrize("n", [8, 16, 32])
def test_what_is_seen_adds_up(kind: PositionKind, n: int):
    seen = found(kind, n, causal(n))
    assert seen.seq_len == seen.n_visible == n
    assert seen.weight.sum(axis=1) == pytest.approx(1, abs=1e-5)
    back = np.arange(n)
    assert seen.distance == pytest.approx((seen.weight * back).sum(axis=1), abs=1e-4)
    assert seen.far_share == pytest.approx(seen.weight[:, 8:].sum(axis=1), abs=1e-5)
    assert ((seen.entropy_share > 0) & (seen.entropy_share <= 1 + 1e-6)).all()


def test_even_weights_have_the_whole_entropy():
    model = build(CONFIG.replace(position_kind="none"))
    with torch.no_grad():
        model.layers[1].attention.q_proj.weight.zero_()
        model.layers[1].attention.q_proj.bias.zero_()
    seen = spread(model, draw(2, 16, 16), None, layer=1, trained_len=4)
    assert seen.entropy_share == pytest.approx(1)
    assert seen.weight == pytest.approx(1 / 16)
    assert seen.far_share == pytest.approx(12 / 16)
    assert seen.score_std == pytest.approx(0)


def test_a_learned_table_ends():
    found(PositionKind.LEARNED, 8)
    with pytest.raises(ConfigError, match="exceeds max_seq_len"):
        found(PositionKind.LEARNED, 16)


def test_masked_keys_are_not_counted():
    seen = found(PositionKind.ROPE, 16, sliding_window(16, 3))
    assert seen.n_visible == 3 and (seen.weight[:, 3:] == 0).all()
    one = found(PositionKind.ROPE, 16, sliding_window(16, 1))
    assert one.n_visible == 1 and (one.entropy_share == 0).all()
    blind = found(PositionKind.ROPE, 16, torch.zeros(16, 16, dtype=torch.bool))
    assert blind.n_visible == 0
    assert all(np.isfinite(value).all() for value in vars(blind).values())


@pytest.mark.parametrize("n", [1, 2, 5, 33, 512])
def test_bands_hold_every_distance_once(n: int):
    weight = np.random.default_rng(0).random(n).astype(np.float32)
    table = banded(weight)
    assert table["least"].iloc[0] == 0 and table["most"].iloc[-1] == n - 1
    assert (table["least"].iloc[1:].to_numpy() == table["most"].iloc[:-1].to_numpy() + 1).all()
    widths = table["most"] - table["least"] + 1
    assert (table["weight"] * widths).sum() == pytest.approx(weight.sum(), rel=1e-5)


def test_bits_are_the_cross_entropy_of_torch():
    config = toy(architecture="gpt", vocab_size=20)
    model, ids = (
        build(config),
        torch.randint(20, (3, 8), generator=torch.Generator().manual_seed(0)),
    )
    targets = ids.roll(-1, 1).clone()
    targets[0, :4] = IGNORED
    total, squares, count = rows = bits_by_position(model, Batch(ids, targets))
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten())
    assert total.sum() / count.sum() == pytest.approx(loss.item() / math.log(2), rel=1e-5)
    assert count.tolist() == [2] * 4 + [3] * 4 and (squares >= 0).all()
    assert mean_bits(rows, 0, 8) == pytest.approx(loss.item() / math.log(2), rel=1e-5)


def test_bands_of_positions_leave_out_what_was_not_asked():
    rows = np.array([[2.0, 4.0, 0, 0, 3.0], [4.0, 16.0, 0, 0, 9.0], [1, 1, 0, 0, 1]])
    table = bits_in_bands(rows, 2)
    assert table["bits"].tolist() == [3.0, 3.0]
    assert table["first"].tolist() == [1, 5] and table["last"].tolist() == [2, 5]
    assert table["position"].tolist() == [1.5, 5.0]
    assert table["error"].tolist() == [pytest.approx(1 / math.sqrt(2)), 0.0]
    assert mean_bits(rows, 2, 4) is None


def test_lengths_are_once_twice_and_four_times():
    assert beyond_length.FACTORS == (1, 2, 4)
