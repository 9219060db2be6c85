"""A model that reads on where a text goes on: the same logits as when it reads everything."""

import pytest
import torch
from toy import assert_near, draw, scramble, toy

from blocks import build
from blocks.model.masks import everyone
from blocks.training.writer import Writer

N = 9
KINDS: dict[str, dict] = {
    "learned": {"position_kind": "learned"},
    "local": {"position_kind": "rope", "local_window": 4},
    "hybrid": {"position_kind": "rope", "token_mixer": "gated_delta", "attention_every": 2},
    "long": {
        "position_kind": "rope",
        "rope_scaling": "longrope",
        "rope_factor": 4.0,
        "rope_trained_len": 5,
    },
    "capacity": {"n_experts": 4, "expert_capacity": 1.0},
    "encoder": {"architecture": "encoder"},
}


def model_of(**fields):
    usual = {"architecture": "gpt", "n_layers": 2, "vocab_size": 40, "max_seq_len": 16}
    return scramble(build(toy(**usual | fields))), draw(3, N).mul(100).long() % 40


def watched(model):
    """How many tokens the model was given, call by call."""
    widths = []
    model.register_forward_pre_hook(lambda _model, read: widths.append(read[0].shape[1]))
    return widths


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_that_grows_gets_the_logits_of_the_whole(kind: str):
    model, ids = model_of(**KINDS[kind])
    logits_of = Writer(model, "cpu")
    with torch.no_grad():
        for n in (1, 2, 3, 6, 7, N):
            assert_near(logits_of(ids[:, :n]), model(ids[:, :n]))


def test_only_what_is_new_is_read():
    model, ids = model_of()
    widths, logits_of = watched(model), Writer(model, "cpu")
    for n in (3, 4, 7):
        assert logits_of(ids[:, :n]).shape == (3, n, 40)
    assert widths == [3, 4, 3]


def test_another_text_is_read_from_its_beginning():
    model, ids = model_of()
    widths, logits_of = watched(model), Writer(model, "cpu")
    for read in (ids[:, :3], ids[:, :4], ids[:, 1:6], ids[:2, 1:7], ids[:2, 1:6]):
        with torch.no_grad():
            assert_near(logits_of(read), model(read))
    assert widths[::2] == [3, 4, 5, 6, 5]


def test_under_a_mask_of_its_own_everything_is_read():
    model, ids = model_of()
    widths, logits_of = watched(model), Writer(model, "cpu")
    for n in (3, 4):
        with torch.no_grad():
            mask = everyone(n)
            assert logits_of(ids[:, :n], mask).equal(model(ids[:, :n], mask))
    assert widths[::2] == [3, 4]
