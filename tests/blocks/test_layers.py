"""Our layer against torch's own, by copying weights."""

import pytest
import torch
from references import torch_layer
from torch import Tensor
from toy import SEQ_LEN, assert_near, scramble, toy, toy_input

from blocks import build, record
from blocks.model.masks import causal, padding

CAUSAL = causal(SEQ_LEN)
IS_TOKEN = torch.tensor([[True] * SEQ_LEN, [True] * 3 + [False] * 2])
OUR_MASKS = {
    "none": None,
    "causal": CAUSAL,
    "padding": padding(IS_TOKEN),
    "causal_padding": CAUSAL & padding(IS_TOKEN),
}
TORCH_MASKS = {  # there, True means: may not attend
    "none": {},
    "causal": {"src_mask": ~CAUSAL},
    "padding": {"src_key_padding_mask": ~IS_TOKEN},
    "causal_padding": {"src_mask": ~CAUSAL, "src_key_padding_mask": ~IS_TOKEN},
}


@pytest.mark.parametrize("mask_name", OUR_MASKS)
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_encoder_layer_is_the_one_of_torch(placement: str, activation: str, mask_name: str):
    config = toy(norm_placement=placement, activation=activation, position_kind="none")
    model, x, mask = scramble(build(config)), toy_input(), OUR_MASKS[mask_name]
    expected: Tensor = torch_layer(config, model.layers[0])(x, **TORCH_MASKS[mask_name])
    assert_near(model(x, mask), expected)
    assert_near(record(model, x, mask=mask).output, expected.detach())


@pytest.mark.parametrize("placement", ["pre", "post", "sandwich", "parallel"])
@pytest.mark.parametrize("position_kind", ["none", "rope", "alibi"])
def test_no_token_knows_what_comes_after_it(placement: str, position_kind: str):
    model = build(toy(norm_placement=placement, position_kind=position_kind))
    x, last = toy_input(), SEQ_LEN - 1
    other = x.clone()
    other[:, last] += 1
    before, after = (record(model, x, mask=CAUSAL, keep=()).output for x in (x, other))
    assert torch.equal(before[:, :last], after[:, :last])
    assert not torch.equal(before[:, last], after[:, last])


def test_without_positions_the_order_of_tokens_is_free():
    model, x = build(toy(position_kind="none")), toy_input()
    order = torch.tensor([3, 0, 4, 1, 2])
    assert_near(model(x[:, order]), model(x)[:, order])
