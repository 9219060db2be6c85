"""Each family of published models, at toy size, is what `transformers` builds."""

from collections.abc import Callable

import family_references as families
import pytest
import torch
from family_references import VOCAB_SIZE, Family, scrambled
from torch import Tensor
from toy import assert_near

from blocks import build, count_parameters

TOKEN_IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 5, 8, 9, 7]])
OF_ONE_TEXT = [families.qwen3, families.qwen2, families.gemma, families.pythia, families.falcon]


def matched(family: Callable[[], Family]):
    """Ours with their weights, and theirs."""
    config, theirs, ours = family()
    scrambled(theirs)
    weights = ours(theirs.state_dict())
    model = build(config)
    assert model.state_dict().keys() == weights.keys()
    model.load_state_dict(weights)
    return model, theirs


@pytest.mark.parametrize("family", OF_ONE_TEXT)
def test_logits_are_those_of_transformers(family: Callable[[], Family]):
    model, theirs = matched(family)
    with torch.no_grad():
        assert_near(model(TOKEN_IDS), theirs(TOKEN_IDS).logits)
        assert model(TOKEN_IDS).shape == (*TOKEN_IDS.shape, VOCAB_SIZE)


def test_the_encoder_is_the_bert_of_transformers():
    model, theirs = matched(families.bert)
    with torch.no_grad():
        seen: Tensor = model.encode(TOKEN_IDS)
        expected = theirs(TOKEN_IDS)
        assert_near(seen, expected.last_hidden_state)
        assert_near(model.pooled(seen), expected.pooler_output)


@pytest.mark.parametrize("family", [*OF_ONE_TEXT, families.bert])
def test_what_is_counted_is_what_transformers_holds(family: Callable[[], Family]):
    config, theirs, _ = family()
    total = count_parameters(config)["count"].sum()
    is_untied_here = family is families.gemma  # its two scales need two tables here
    theirs_total = sum(parameter.numel() for parameter in theirs.parameters())
    assert total == theirs_total + is_untied_here * config.vocab_size * config.d_model
