"""Paths through a residual network: their gradients and streams add up to the whole."""

import math

import pytest
import torch
from toy import assert_near, scramble, toy

from blocks import ConfigError, build
from blocks.inspection.paths import gradients_by_length, path_facts, streams_by_length, sublayers
from blocks.model.masks import causal
from blocks.model.randomness import generator
from blocks.training.loss import cross_entropy

IDS = torch.randint(0, 11, (2, 6), generator=generator(0, "ids"))
TARGETS = IDS.roll(-1, 1)


def model_of(**changes):
    return scramble(build(toy(architecture="gpt", n_layers=3, vocab_size=11, **changes)))


@pytest.mark.parametrize("changes", [{}, {"norm_placement": "sandwich"}, {"attention_only": True}])
def test_all_paths_together_are_the_model(changes):
    model, mask = model_of(**changes), causal(6, "cpu")
    facts = path_facts(model, IDS, TARGETS, mask)
    n = 3 if changes.get("attention_only") else 6
    assert facts.n_paths == tuple(math.comb(n, k) for k in range(n + 1))
    x = model.embed_tokens(IDS).detach().requires_grad_()
    stream = x
    for layer in model.layers:
        stream = layer(stream, mask)
    loss = cross_entropy(model.unembed_logits(model.final_norm(stream)), TARGETS)
    (whole,) = torch.autograd.grad(loss, x)
    terms = gradients_by_length(
        sublayers(model, mask),
        x.detach(),
        lambda s: cross_entropy(model.unembed_logits(model.final_norm(s)), TARGETS),
    )
    assert_near(terms.sum(0), whole)
    assert facts.losses[-1] == pytest.approx(float(loss.detach()), rel=1e-5)
    with torch.no_grad():
        assert_near(streams_by_length(sublayers(model, mask), x.detach())[-1], stream)


def test_of_equal_linear_sublayers_the_gradient_is_binomial():
    """With f(x) = a·x each path of length k carries aᵏ."""
    writes, x = [lambda x: 0.5 * x] * 4, torch.ones(1, 2, 3)
    terms = gradients_by_length(writes, x, torch.sum)
    for k, term in enumerate(terms):
        assert_near(term, torch.full_like(x, math.comb(4, k) * 0.5**k))
    streams = streams_by_length(writes, x)
    sums = [sum(math.comb(4, j) * 0.5**j for j in range(k + 1)) for k in range(5)]
    for stream, expected in zip(streams, sums, strict=True):
        assert_near(stream, torch.full_like(x, expected))


@pytest.mark.parametrize(
    "changes", [{"norm_placement": "post"}, {"residual": False}, {"norm_placement": "parallel"}]
)
def test_where_the_stream_is_no_sum_there_are_no_paths(changes):
    with pytest.raises(ConfigError, match="pre-norm"):
        path_facts(model_of(**changes), IDS, TARGETS, causal(6, "cpu"))
