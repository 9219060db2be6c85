"""Facts about what changes a parameter count, and about where it goes with size."""

import pytest
from toy import toy

from blocks.cost.growth import growth_facts
from blocks.cost.parameters import total_parameters
from blocks.cost.variations import changes_facts

GPT = toy(architecture="gpt", n_heads=4, vocab_size=11)


def test_changes_are_counted_against_the_configuration():
    facts = changes_facts(GPT)
    assert facts.total == total_parameters(GPT)
    assert [*facts.deltas.values()] == sorted(facts.deltas.values())
    assert facts.heads_are_free and facts.tied_saves == 11 * GPT.d_model
    assert 0 < facts.small_share < 1


def test_what_a_model_lacks_has_no_share():
    facts = changes_facts(
        GPT.replace(norm_kind="none", attention_bias=False, out_bias=False, feed_forward_bias=False)
    )
    assert facts.small_share is None and not facts.has_biases
    assert changes_facts(toy()).tied_saves is None


def test_shares_add_up_and_embeddings_shrink():
    facts = growth_facts(GPT)
    assert sum(facts.shares.values()) == pytest.approx(1)
    for size in ("d_model", "n_layers"):
        largest, share = facts.at_the_end(size)
        assert largest > getattr(GPT, size) and share < facts.shares["embeddings"]
