"""Tokens that are set apart: planted in a small model, they are found, and no others."""

import pytest
import torch
from toy import scramble, toy

from blocks.inspection.own_depth import measure_own
from blocks.inspection.sinks import Sink, Sinks, find_sinks
from blocks.model.masks import MaskConfig
from blocks.observe.recording import Recording, record
from blocks.observe.run import Input, PaddingSide, Run

CAUSAL = MaskConfig(mask_kind="causal")


def ran(mask: MaskConfig = CAUSAL, replace=None, **padding) -> tuple[Run, Recording]:
    """Two layers on eight tokens, something planted in them."""
    text = Input(tokens=tuple("abcdefgh"), **padding)
    run = Run(config=toy(n_layers=2), input=text, mask=mask, seed=3)
    model = scramble(run.build())
    return run, record(model, run.values(), mask=run.build_mask(), replace=replace)


def shouting(token: int, times: float):
    """One channel of one token, as far from its mean as that many times the stream's RMS."""

    def loud(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        x[:, token, 5] = times * x.square().mean().sqrt() * x.shape[-1] ** 0.5
        return x

    return {"layers.1.resid_post": loud}


def resting(key: int):
    """The queries from this key on give all they have to it."""

    def rest(pattern: torch.Tensor) -> torch.Tensor:
        pattern = pattern.clone()
        pattern[..., key:, :] = 0
        pattern[..., key:, key] = 1
        return pattern

    return {"layers.0.pattern": rest}


def test_in_an_ordinary_model_no_token_is_set_apart():
    assert find_sinks(*ran()) == Sinks() and find_sinks(*ran(MaskConfig())).tokens == ()


def test_a_token_of_massive_activation_is_found_in_its_layer_and_one_of_twice_the_size_is_not():
    assert find_sinks(*ran(replace=shouting(3, 20))).found == (Sink(3, massive=(1,), attended=()),)
    assert find_sinks(*ran(replace=shouting(3, 2))) == Sinks()


def test_a_token_that_attention_rests_on_is_found_where_enough_others_see_it():
    assert find_sinks(*ran(replace=resting(2))).found == (Sink(2, massive=(), attended=(0,)),)
    assert find_sinks(*ran(MaskConfig(), replace=resting(2))).tokens == (2,)  # without a mask too
    assert find_sinks(*ran(replace=resting(4))) == Sinks()  # only three others see it


def test_padding_is_no_sink_and_moves_no_number():
    mask = MaskConfig(mask_kind="causal_padding")
    padded = {"n_padding": 3, "padding_side": PaddingSide.LEFT}
    assert find_sinks(*ran(mask, shouting(1, 90), **padded)) == Sinks()
    assert find_sinks(*ran(mask, shouting(5, 90), **padded)).tokens == (5,)


def test_a_token_that_is_set_apart_counts_in_no_norm_of_the_layers_and_in_the_loss_as_before():
    text = Input(tokens=tuple("abcdefgh"), token_ids=(3, 1, 4, 1, 5, 9, 2, 6))
    config = toy(architecture="gpt", vocab_size=13, n_layers=2)
    run = Run(config=config, input=text, mask=CAUSAL, seed=3)
    model, targets = scramble(run.build()), (1, 4, 1, 5, 9, 2, 6, 3)
    whole, apart = (measure_own(run, model, targets, each) for each in ((), (0, 4)))
    norms = run.record(model).tensor("resid_post", 1)[0].norm(dim=-1)
    others = norms[[1, 2, 3, 5, 6, 7]].mean()
    assert apart.layers["stream_norm"].iloc[-1] == pytest.approx(float(others), rel=1e-5)
    assert whole.layers["stream_norm"].iloc[-1] == pytest.approx(float(norms.mean()), rel=1e-5)
    assert apart.loss == whole.loss
    gradients = ["parameter_gradient", "stream_gradient"]
    assert apart.layers[gradients].equals(whole.layers[gradients])


def test_some_queries_of_a_long_text_tell_the_same(monkeypatch):
    run, seen = ran(replace=resting(2))
    monkeypatch.setattr("blocks.inspection.sinks.MOST_QUERIES", 4)  # every second
    monkeypatch.setattr("blocks.inspection.sinks.LEAST_QUERIES", 2)
    assert find_sinks(run, seen).found == (Sink(2, massive=(), attended=(0,)),)
