"""Each placement of the norm is its formula, written out with what was recorded."""

import pytest
from torch import Tensor
from torch.nn import functional as F  # noqa: N812
from toy import D_MODEL, assert_near, scramble, toy, toy_input

from blocks import Recording, build, record
from blocks.model.kinds import NormPlacement
from blocks.model.layers import EncoderLayer, ParallelLayer

NAMES = {"attention": ("resid_pre", "resid_mid"), "feed_forward": ("resid_mid", "resid_post")}


def layer_norm(x: Tensor, norm) -> Tensor:
    return F.layer_norm(x, (D_MODEL,), norm.weight, norm.bias)


def seen_in(placement: str, **changes) -> tuple[EncoderLayer | ParallelLayer, Recording]:
    model = scramble(build(toy(norm_placement=placement, **changes)))
    return model.layers[0], record(model, toy_input())


@pytest.mark.parametrize("name", NAMES)
def test_pre_is_x_plus_f_of_norm_of_x(name: str):
    layer, seen = seen_in("pre")
    x, out = map(seen.tensor, NAMES[name])
    f, residual = getattr(layer, name), getattr(layer, f"{name}_residual")
    assert_near(seen.tensor(f"{name}_norm"), layer_norm(x, residual.norm))
    assert_near(seen.tensor(f"{name}_out"), f(layer_norm(x, residual.norm)))
    assert_near(out, x + seen.tensor(f"{name}_out"))


@pytest.mark.parametrize("name", NAMES)
def test_post_is_norm_of_x_plus_f_of_x(name: str):
    layer, seen = seen_in("post")
    x, out = map(seen.tensor, NAMES[name])
    f, residual = getattr(layer, name), getattr(layer, f"{name}_residual")
    assert_near(seen.tensor(f"{name}_out"), f(x))
    assert_near(seen.tensor(f"{name}_sum"), x + seen.tensor(f"{name}_out"))
    assert_near(out, layer_norm(seen.tensor(f"{name}_sum"), residual.norm))


@pytest.mark.parametrize("name", NAMES)
def test_sandwich_is_x_plus_norm_of_f_of_norm_of_x(name: str):
    layer, seen = seen_in("sandwich")
    x, out = map(seen.tensor, NAMES[name])
    f, residual = getattr(layer, name), getattr(layer, f"{name}_residual")
    assert_near(seen.tensor(f"{name}_out"), f(layer_norm(x, residual.norm)))
    written = layer_norm(seen.tensor(f"{name}_out"), residual.out_norm)
    assert_near(seen.tensor(f"{name}_out_norm"), written)
    assert_near(out, x + written)


@pytest.mark.parametrize("name", NAMES)
def test_res_post_is_x_plus_norm_of_f_of_x(name: str):
    layer, seen = seen_in("res_post")
    x, out = map(seen.tensor, NAMES[name])
    f, residual = getattr(layer, name), getattr(layer, f"{name}_residual")
    assert_near(seen.tensor(f"{name}_out"), f(x))
    assert_near(out, x + layer_norm(seen.tensor(f"{name}_out"), residual.out_norm))


def test_parallel_is_x_plus_both_of_the_same_norm():
    layer, seen = seen_in("parallel")
    x = seen.tensor("resid_pre")
    normal = layer_norm(x, layer.norm)
    attention, feed_forward = layer.attention(normal), layer.feed_forward(normal)
    assert_near(seen.tensor("attention_out"), attention)
    assert_near(seen.tensor("feed_forward_out"), feed_forward)
    assert_near(seen.tensor("resid_post"), x + attention + feed_forward)


@pytest.mark.parametrize("placement", NormPlacement)
def test_without_the_connection_the_stream_is_the_write(placement: str):
    layer, seen = seen_in(placement, residual=False)
    attention, feed_forward = seen.tensor("attention_out"), seen.tensor("feed_forward_out")
    expected = {
        "pre": lambda: feed_forward,
        "post": lambda: layer_norm(feed_forward, layer.feed_forward_residual.norm),
        "sandwich": lambda: layer_norm(feed_forward, layer.feed_forward_residual.out_norm),
        "res_post": lambda: layer_norm(feed_forward, layer.feed_forward_residual.out_norm),
        "parallel": lambda: attention + feed_forward,
    }
    assert_near(seen.tensor("resid_post"), expected[placement]())


@pytest.mark.parametrize("placement", NormPlacement)
def test_what_leaves_the_layer_is_the_last_stage(placement: str):
    _, seen = seen_in(placement)
    assert seen.stages[-1] == "layers.0.resid_post"
    assert seen.tensor("resid_post") is seen.output
