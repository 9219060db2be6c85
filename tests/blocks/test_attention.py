"""Attention against torch's own, and its two paths against each other."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from toy import (
    BATCH,
    D_HEAD,
    D_MODEL,
    IS_TOKEN,
    MASKS,
    N_HEADS,
    NO_NORM_NO_POSITION,
    POSITIONS,
    SEQ_LEN,
    assert_near,
    draw,
    scramble,
    toy,
    toy_input,
)

from blocks import build, record
from blocks.model.attention import (
    additive_mask,
    attend,
    attention_pattern,
    attention_scores,
    join_heads,
    repeat_kv,
    split_heads,
)
from blocks.model.dropout import training_mode
from blocks.model.masks import MaskConfig, build_mask, causal, is_shared_causal, shared_causal
from blocks.model.positions import alibi_bias

EMPTY_ROW = 2
WITH_EMPTY_ROW = causal(SEQ_LEN).index_fill(0, torch.tensor(EMPTY_ROW), False)
N_KV_HEADS = [N_HEADS, 2, 1]


def draw_qkv(n_kv_heads: int = N_HEADS) -> tuple[Tensor, Tensor, Tensor]:
    n_heads = (N_HEADS, n_kv_heads, n_kv_heads)
    q, k, v = (draw(BATCH, n, SEQ_LEN, D_HEAD, seed=seed) for seed, n in enumerate(n_heads))
    return q, k, v


@pytest.mark.parametrize("mask", [None, causal(SEQ_LEN)], ids=["none", "causal"])
@pytest.mark.parametrize("has_bias", [True, False])
def test_attention_is_the_one_of_torch(mask: Tensor | None, has_bias: bool):
    model = scramble(build(toy(attention_bias=has_bias, **NO_NORM_NO_POSITION)))
    ours, theirs = (
        model.layers[0].attention,
        nn.MultiheadAttention(D_MODEL, N_HEADS, bias=has_bias, batch_first=True),
    )
    for kind in ("weight", "bias")[: 1 + has_bias]:
        projections = [getattr(ours, f"{name}_proj").get_parameter(kind) for name in "qkv"]
        theirs.get_parameter(f"in_proj_{kind}").data = torch.cat(projections)
        theirs.out_proj.get_parameter(kind).data = ours.out_proj.get_parameter(kind).data
    x = toy_input()
    forbidden = None if mask is None else ~mask
    with torch.no_grad():
        out, weights = theirs(x, x, x, attn_mask=forbidden, average_attn_weights=False)
    seen = record(model, x, mask=mask)
    assert_near(seen.pattern(), weights)
    assert_near(seen.tensor("attention_out"), out)


@pytest.mark.parametrize("n_kv_heads", N_KV_HEADS)
@pytest.mark.parametrize("mask", [None, causal(SEQ_LEN)], ids=["none", "causal"])
def test_grouped_queries_are_those_of_torch(mask: Tensor | None, n_kv_heads: int):
    seen = record(scramble(build(toy(n_kv_heads=n_kv_heads))), toy_input(), mask=mask)
    q, k, v = (seen.tensor(name) for name in "qkv")
    assert k.shape == v.shape == (BATCH, n_kv_heads, SEQ_LEN, D_HEAD)
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    assert_near(seen.tensor("head_out"), expected)


def test_each_group_of_query_heads_reads_its_own_key_head():
    q, k, v = draw_qkv(n_kv_heads=2)
    heads = []
    for head in range(N_HEADS):
        kv_head = head // 2
        pattern = torch.softmax(q[:, head] @ k[:, kv_head].mT / D_HEAD**0.5, dim=-1)
        heads.append(pattern @ v[:, kv_head])
    assert_near(attend(q, k, v), torch.stack(heads, dim=1))


def test_with_as_many_key_heads_as_query_heads_nothing_is_shared():
    x = toy_input()
    assert torch.equal(build(toy(n_kv_heads=N_HEADS))(x), build(toy(n_kv_heads=None))(x))


@pytest.mark.parametrize("n_kv_heads", N_KV_HEADS)
@pytest.mark.parametrize("position_kind", POSITIONS)
@pytest.mark.parametrize("mask_config", MASKS, ids=lambda config: config.mask_kind)
@pytest.mark.thinned
def test_fused_path_equals_explicit_path(
    mask_config: MaskConfig, position_kind: str, n_kv_heads: int
):
    model = scramble(build(toy(n_kv_heads=n_kv_heads, position_kind=position_kind)))
    x, mask = toy_input(), build_mask(mask_config, IS_TOKEN)
    explicit = record(model, x, mask=mask, keep=("pattern",))
    fused = record(model, x, mask=mask, keep=())
    assert explicit.tensors and not fused.tensors
    assert_near(explicit.output, fused.output)
    assert_near(model(x, mask).detach(), fused.output)


@pytest.mark.parametrize("mask_config", MASKS, ids=lambda config: config.mask_kind)
def test_rows_of_the_pattern_sum_to_one_and_hide_what_the_mask_hides(mask_config: MaskConfig):
    mask = build_mask(mask_config, IS_TOKEN)
    pattern = record(build(toy()), toy_input(), mask=mask).pattern()
    mask = torch.ones(SEQ_LEN, SEQ_LEN, dtype=torch.bool) if mask is None else mask
    allowed = mask.expand_as(pattern)
    assert_near(pattern.sum(dim=-1), allowed.any(dim=-1).float())
    assert pattern[~allowed].eq(0).all()
    assert pattern[allowed].gt(0).all()


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("n_kv_heads", N_KV_HEADS)
def test_a_query_that_may_see_no_key_gives_zeros(n_kv_heads: int, has_bias: bool):
    q, k, v = draw_qkv(n_kv_heads)
    bias = alibi_bias(N_HEADS, SEQ_LEN) if has_bias else None
    pattern = attention_pattern(attention_scores(q, k, WITH_EMPTY_ROW, bias), WITH_EMPTY_ROW)
    explicit = pattern @ repeat_kv(v, N_HEADS)
    fused = attend(q, k, v, WITH_EMPTY_ROW, bias)
    assert pattern[..., EMPTY_ROW, :].eq(0).all()
    assert fused[..., EMPTY_ROW, :].eq(0).all()
    assert explicit.isfinite().all()
    assert_near(explicit, fused)


def test_a_sentence_of_padding_alone_gives_zeros():
    model, nothing = build(toy(**NO_NORM_NO_POSITION)), torch.zeros(BATCH, SEQ_LEN).bool()
    mask = build_mask(MaskConfig(mask_kind="padding"), nothing)
    seen = record(model, toy_input(), mask=mask)
    assert seen.pattern().eq(0).all()
    assert seen.tensor("head_out").eq(0).all()
    assert_near(record(model, toy_input(), mask=mask, keep=()).output, seen.output)


@pytest.mark.parametrize("path", ["fused", "explicit"])
@pytest.mark.parametrize("has_bias", [True, False])
def test_gradients_through_a_query_that_may_see_no_key_are_finite(path: str, has_bias: bool):
    q, k, v = (x.requires_grad_() for x in draw_qkv())
    bias = alibi_bias(N_HEADS, SEQ_LEN) if has_bias else None
    if path == "fused":
        out = attend(q, k, v, WITH_EMPTY_ROW, bias)
    else:
        out = attention_pattern(attention_scores(q, k, WITH_EMPTY_ROW, bias), WITH_EMPTY_ROW) @ v
    gradients = torch.autograd.grad(out.square().sum(), (q, k, v))
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert gradients[0][..., EMPTY_ROW, :].eq(0).all()


@pytest.mark.parametrize("dropout", [0.0, 0.5], ids=["fused", "explicit"])
def test_gradients_of_a_training_pass_over_padding_are_finite(dropout: float):
    model, x = build(toy(dropout=dropout)), toy_input().requires_grad_()
    mask = build_mask(MaskConfig(mask_kind="causal_padding"), IS_TOKEN)
    with training_mode(torch.Generator().manual_seed(0)):
        model(x, mask).square().sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in (x, *model.parameters()))


def test_dropout_in_a_training_pass_falls_on_the_pattern():
    """Of weights aₖ, each kept with probability 1 − p and divided by it: mean and variance."""
    n, p = 20_000, 0.25
    attention, mask = build(toy(dropout=p)).layers[0].attention, causal(SEQ_LEN)
    attention.out_proj, x = nn.Identity(), draw(1, SEQ_LEN, D_MODEL)
    q, k, v = (split_heads(attention.get_submodule(f"{name}_proj")(x), N_HEADS) for name in "qkv")
    pattern = attention_pattern(attention_scores(q, k, mask), mask)
    with torch.no_grad(), training_mode(torch.Generator().manual_seed(0)):
        seen = split_heads(attention(x.expand(n, -1, -1), mask), N_HEADS)
    mean, variance = (pattern @ v)[0], (p / (1 - p) * pattern.square() @ v.square())[0]
    assert ((seen.mean(0) - mean).abs() < 5 * (variance / n).sqrt()).all()
    torch.testing.assert_close(seen.var(0), variance, rtol=0.1, atol=0)


def test_gradients_of_both_paths_agree():
    qkv = [x.requires_grad_() for x in draw_qkv()]
    q, k, v = qkv
    mask = causal(SEQ_LEN)
    explicit = attention_pattern(attention_scores(q, k, mask), mask) @ v
    fused = attend(q, k, v, mask)
    pairs = zip(
        torch.autograd.grad(explicit.square().sum(), qkv),
        torch.autograd.grad(fused.square().sum(), qkv),
        strict=True,
    )
    for ours, theirs in pairs:
        assert_near(ours, theirs)


def test_joining_undoes_splitting():
    x = toy_input()
    assert split_heads(x, N_HEADS).shape == (BATCH, N_HEADS, SEQ_LEN, D_HEAD)
    assert torch.equal(join_heads(split_heads(x, N_HEADS)), x)


def test_additive_mask_is_the_bias_where_one_may_attend():
    mask, bias = causal(SEQ_LEN), alibi_bias(N_HEADS, SEQ_LEN)
    assert additive_mask(None, None, torch.float32) is None
    assert additive_mask(None, bias, torch.float32) is bias
    added = additive_mask(mask, bias, torch.float32)
    assert torch.equal(added, bias.masked_fill(~mask, -torch.inf))


def test_a_pass_that_nobody_observes_leaves_scores_and_bias_alone():
    q, k, _ = draw_qkv()
    bias = alibi_bias(N_HEADS, SEQ_LEN)
    before = bias.clone()
    attention_scores(q, k, causal(SEQ_LEN), bias)
    assert torch.equal(bias, before)


def test_the_shared_causal_mask_is_known_and_changes_nothing():
    q, k, v = (draw(BATCH, N_HEADS, SEQ_LEN, D_HEAD, seed=seed) for seed in range(3))
    shared, own = shared_causal(SEQ_LEN, q.device), causal(SEQ_LEN)
    assert torch.equal(shared, own)
    assert is_shared_causal(shared)
    assert not is_shared_causal(own)  # its owner may write into it
    assert_near(attend(q, k, v, shared), attend(q, k, v, own))
    scores = attention_scores(q, k, own)
    assert torch.equal(attention_pattern(scores, shared), attention_pattern(scores, own))
