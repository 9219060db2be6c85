"""A word has one vector, wherever it stands."""

import pytest
import torch
from toy import BATCH, D_MODEL, SEQ_LEN

from blocks.model.embedding import embed_words, random_tensor
from blocks.model.randomness import generator


def test_a_word_has_the_same_vector_in_every_sentence():
    one = embed_words(["the", "cat", "the"], D_MODEL)
    other = embed_words(["a", "the"], D_MODEL)
    assert one.shape == (1, 3, D_MODEL)
    assert torch.equal(one[0, 0], one[0, 2])
    assert torch.equal(one[0, 0], other[0, 1])
    assert not torch.equal(one[0, 0], one[0, 1])


def test_another_seed_gives_other_vectors():
    assert not torch.equal(embed_words(["a"], D_MODEL), embed_words(["a"], D_MODEL, seed=1))


def test_any_text_has_a_vector():
    assert embed_words(["", "\ud800", "👩‍🚀", "\0", "猫"], D_MODEL).isfinite().all()


def test_values_are_from_the_normal_distribution():
    n = 10_000
    for x in (embed_words(["cat"], n), random_tensor(1, 1, n)):
        assert x.mean().item() == pytest.approx(0, abs=4 / n**0.5)
        assert x.std().item() == pytest.approx(1, abs=4 / (2 * n) ** 0.5)


def test_random_tensor_is_the_same_for_a_seed():
    x = random_tensor(BATCH, SEQ_LEN, D_MODEL)
    assert x.shape == (BATCH, SEQ_LEN, D_MODEL)
    assert torch.equal(x, random_tensor(BATCH, SEQ_LEN, D_MODEL))
    assert not torch.equal(x, random_tensor(BATCH, SEQ_LEN, D_MODEL, seed=1))


@pytest.mark.usefixtures("process_state_kept")
def test_embedding_draws_from_its_own_generator():
    embed_words(["a", "b"], D_MODEL)
    random_tensor(BATCH, SEQ_LEN, D_MODEL)


def test_each_purpose_has_its_own_random_numbers():
    purposes = [(0, "a"), (1, "a"), (0, "b"), (0, "a", "b"), (0, "ab"), (0,), (-1,), (10**30,)]
    draws = {torch.rand((), generator=generator(*purpose)).item() for purpose in purposes}
    assert len(draws) == len(purposes)
