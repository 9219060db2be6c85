"""The lens reads the stream as the model's own end does; surprise is the loss, token by token."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F  # noqa: N812
from toy import scramble, toy

from blocks import build, record
from blocks.inspection.lens import logit_lens
from blocks.inspection.predictions import candidates, surprise
from blocks.known.models import compiled_model

IDS = torch.tensor([[1, 5, 0, 10, 7]])


def gpt(**changes):
    return scramble(build(toy(architecture="gpt", n_layers=3, vocab_size=11, **changes)))


@pytest.mark.parametrize("placement", ["pre", "post", "parallel"])
def test_after_the_last_layer_the_lens_is_the_model(placement: str):
    model = gpt(norm_placement=placement)
    seen = record(model, IDS)
    lens = logit_lens(model, seen)
    assert lens.token_id.shape == lens.probability.shape == lens.rank.shape == (4, 5)
    assert (lens.token_id[-1] == seen.output[0].argmax(-1).numpy()).all()
    assert (lens.rank[-1] == 1).all() and (lens.rank >= 1).all()
    np.testing.assert_allclose(lens.probability[-1], seen.output[0].softmax(-1).amax(-1), rtol=1e-5)


def test_a_layer_that_does_nothing_changes_no_guess():
    config = toy(architecture="gpt", n_layers=2, vocab_size=11, initialization="zero_writes")
    model = build(config)
    lens = logit_lens(model, record(model, IDS))
    assert (lens.token_id[0] == lens.token_id[2]).all() and (lens.rank == 1).all()


def test_an_answer_that_ties_with_all_others_does_not_stand_first():
    """A compiled model writes nothing of its answer before the layer that knows it."""
    file = compiled_model("first-token")
    ids = torch.tensor([file.tokenizer.encode("dcab")])
    model = file.build()
    lens = logit_lens(model, record(model, ids))
    assert lens.rank[:, 3].tolist() == [8, 8, 1, 1]


def test_only_the_positions_that_are_asked_for_are_unembedded(monkeypatch):
    model = gpt()
    seen = record(model, IDS)
    whole, shapes, unembed = logit_lens(model, seen), [], type(model).unembed_logits
    monkeypatch.setattr(
        type(model),
        "unembed_logits",
        lambda self, x: shapes.append(x.shape[:2]) or unembed(self, x),
    )
    some = logit_lens(model, seen, slice(2, 4))
    assert shapes == [(1, 2)] * 4
    assert some.token_id.tolist() == whole.token_id[:, 2:4].tolist()
    assert some.rank.tolist() == whole.rank[:, 2:4].tolist()


def test_surprise_is_the_loss_of_each_token():
    model = gpt()
    logits = record(model, IDS).output[0]
    table = surprise(logits, IDS[0])
    loss = F.cross_entropy(logits[:-1], IDS[0, 1:])
    np.testing.assert_allclose(table["bits"].mean() * np.log(2), loss.item(), rtol=1e-5)
    np.testing.assert_allclose(2.0 ** -table["bits"], table["probability"], rtol=1e-6)
    order = logits[:-1].argsort(-1, descending=True)
    places = [order[i].tolist().index(token) + 1 for i, token in enumerate(IDS[0, 1:].tolist())]
    assert table["rank"].tolist() == places
    assert table["position"].tolist() == [1, 2, 3, 4]


def test_of_one_token_nothing_is_a_surprise():
    assert surprise(torch.zeros(1, 11), torch.tensor([3])).empty


def test_candidates_are_the_largest_probabilities():
    logits = torch.tensor([0.0, 3.0, -1.0, 2.0])
    table = candidates(logits, 2)
    assert table["token_id"].tolist() == [1, 3]
    np.testing.assert_allclose(table["probability"], logits.softmax(0)[[1, 3]], rtol=1e-6)
    assert len(candidates(logits, 99)) == 4
