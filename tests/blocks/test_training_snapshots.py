"""Weights of earlier steps, even in log space and bounded."""

import itertools
import math

import pytest
import torch
from torch import nn
from toy import scramble
from training_toy import toy_config

from blocks import ConfigError, build
from blocks.training.snapshots import Snapshots, is_snapshot_step
from blocks.weights.tensors import bytes_of, load_weights, read_weights

N_BYTES = 4 * 10  # of `small(0)`
PLENTY = 1 << 30


def small(value: float) -> nn.Linear:
    model = nn.Linear(10, 1, bias=False)
    nn.init.constant_(model.weight, value)
    return model


def taken(steps: list[int], most_bytes: int) -> Snapshots:
    snapshots = Snapshots(most_bytes)
    for step in steps:
        assert snapshots.take(step, small(step))
    return snapshots


def test_there_are_two_steps_to_each_doubling_and_the_last():
    steps = [step for step in range(101) if is_snapshot_step(step, n_steps=100)]
    assert steps == [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 100]


def test_the_nearest_kept_is_given():
    snapshots = taken([0, 1, 2, 4, 8], PLENTY)
    for asked, expected in ((0, 0), (3, 2), (5, 4), (7, 8), (1000, 8)):
        step, weights = snapshots.at(asked)
        assert step == expected
        assert torch.equal(weights["weight"], small(expected).weight)


def test_nothing_kept_is_a_key_error():
    with pytest.raises(KeyError):
        Snapshots(PLENTY).at(3)


@pytest.mark.parametrize("n_kept", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("steps", [[*range(60)], [2**i for i in range(16)]], ids=["all", "powers"])
def test_the_bytes_are_bounded_and_what_stays_is_even(n_kept: int, steps: list[int]):
    snapshots = taken(steps, n_kept * N_BYTES)
    assert snapshots.total_bytes == min(n_kept, len(steps)) * N_BYTES
    assert snapshots.steps[-1] == steps[-1]
    if n_kept > 1:
        assert snapshots.steps[0] == steps[0]
    if n_kept >= 5:
        places = [math.cbrt(step) for step in snapshots.steps]
        gaps = [after - before for before, after in itertools.pairwise(places)]
        widest = max(math.cbrt(b) - math.cbrt(a) for a, b in itertools.pairwise(steps))
        assert max(gaps) <= max(3 * places[-1] / (len(places) - 1), widest)


def test_what_begins_late_is_seen_to_begin():
    steps = [step for step in range(231) if is_snapshot_step(step, n_steps=230)]
    assert taken(steps, 10 * N_BYTES).steps == (0, 1, 4, 16, 32, 64, 96, 128, 192, 230)


def test_the_newest_is_kept_even_where_it_is_too_large():
    assert taken([0, 1, 2], N_BYTES - 1).steps == (2,)


def test_a_snapshot_stays_what_it_was():
    model = small(1)
    snapshots = Snapshots(PLENTY)
    snapshots.take(0, model)
    nn.init.constant_(model.weight, 2)
    assert torch.equal(snapshots.at(0)[1]["weight"], small(1).weight)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_weights_that_are_no_numbers_are_not_kept(value: float):
    snapshots = Snapshots(PLENTY)
    assert not snapshots.take(0, small(value))
    assert snapshots.steps == ()


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("norm_kind", ["layernorm", "batchnorm"])
def test_a_model_is_rebuilt_from_its_weights(tied: bool, norm_kind: str):
    config = toy_config(tie_embeddings=tied, norm_kind=norm_kind)
    model, other = scramble(build(config)), build(config, seed=1)
    weights = read_weights(model)
    load_weights(other, weights)
    for name, tensor in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor)
    state = {id(tensor): tensor for tensor in model.state_dict(keep_vars=True).values()}
    assert bytes_of(weights) == sum(tensor.nbytes for tensor in state.values())


def test_weights_of_another_model_are_refused():
    weights = read_weights(build(toy_config()))
    for other in (toy_config(d_model=32), toy_config(n_layers=3), toy_config(n_layers=1)):
        with pytest.raises(ConfigError, match="another model"):
            load_weights(build(other), weights)
