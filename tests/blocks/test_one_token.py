"""The token that is timed alone is the one that the whole row ends with."""

import pytest
import torch
from toy import assert_near, toy

from blocks import build
from blocks.efficiency.one_token import one_more_token
from blocks.model.randomness import generator
from blocks.model.source_target import SourceTarget
from blocks.training.task import Batch


def ids(seed: int) -> torch.Tensor:
    return torch.randint(0, 11, (3, 7), generator=generator(seed, "ids"))


@pytest.mark.parametrize(
    "changes",
    [
        {"position_kind": "rope"},
        {"position_kind": "learned", "max_seq_len": 7},
        {"position_kind": "rope", "local_window": 3},
        {"token_mixer": "gru", "position_kind": "learned", "max_seq_len": 7},
        {"token_mixer": "gated_delta", "attention_every": 2},
    ],
)
def test_a_gpt_reads_the_last_token_behind_the_others_each_time(changes: dict):
    config = toy(architecture="gpt", vocab_size=11, n_layers=2, **changes)
    model, rows = build(config, seed=1).eval(), ids(0)
    read = one_more_token(model, config, Batch(rows, rows))
    whole = model(rows[:1])[:, -1:]
    for _again in range(3):
        assert_near(read(), whole)


def test_an_encoder_decoder_reads_it_behind_the_others_of_its_target():
    config = toy(architecture="encoder-decoder", vocab_size=11, n_layers=2)
    model, pair = build(config, seed=1).eval(), SourceTarget(ids(0), ids(1))
    read = one_more_token(model, config, Batch(pair, pair.target))
    whole = model(SourceTarget(pair.source[:1], pair.target[:1]))[:, -1:]
    for _again in range(3):
        assert_near(read(), whole)


def test_an_encoder_reads_its_row_whole():
    config = toy(architecture="encoder", vocab_size=11)
    model, rows = build(config, seed=1).eval(), ids(0)
    assert_near(one_more_token(model, config, Batch(rows, rows))(), model(rows[:1]))
