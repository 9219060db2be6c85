"""Depth: every measure against an answer that is known, or a reference written out."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from references import torch_layer
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel
from toy import BATCH, D_MODEL, IS_TOKEN, SEQ_LEN, assert_near, draw, scramble, toy, toy_input

from blocks import build, record
from blocks.cost.peak_memory import peak_memory
from blocks.inspection.depth import MEASURES, measure_depth, pattern_entropy, token_similarity
from blocks.inspection.stack import (
    estimate_stack_memory,
    measure_stack,
    random_probe,
    stack_config,
    stack_memory_fault,
)
from blocks.model.masks import causal, padding

EVERYONE = torch.ones(BATCH, SEQ_LEN, dtype=torch.bool)
DEPTH = 3


def layers_of(dtype: torch.dtype = torch.float32, **changes) -> list[nn.Module]:
    """Three layers in which every parameter matters."""
    return list(scramble(build(toy(n_layers=DEPTH, **changes), dtype=dtype)).layers)


def square_loss(stream: Tensor) -> Tensor:
    return stream.square().mean()


def measured(layers, x=None, mask=None, is_token=EVERYONE, loss_of=square_loss):
    x = toy_input() if x is None else x
    return measure_depth(layers, x, mask, is_token=is_token, loss_of=loss_of)


@pytest.mark.parametrize("n", [1, 2, 7, 64])
def test_even_weights_have_the_entropy_of_their_number(n: int):
    even = torch.full((2, n), 1 / n)
    assert_near(pattern_entropy(even), torch.full((2,), math.log2(n)))


def test_a_single_weight_has_none_and_zero_weights_count_nothing():
    assert pattern_entropy(torch.tensor([[1.0, 0, 0]])).item() == 0
    assert pattern_entropy(torch.zeros(1, 4)).item() == 0


@settings(max_examples=30)
@given(st.integers(2, 6), st.integers(1, 5), st.integers(0, 99))
def test_similarity_is_the_mean_of_all_pairs(n_tokens: int, d_model: int, seed: int):
    unit = torch.nn.functional.normalize(draw(2, n_tokens, d_model, seed=seed).double(), dim=-1)
    found = token_similarity(unit, torch.ones(2, n_tokens, dtype=torch.bool))
    pairs = [
        float(row[i] @ row[j])
        for row in unit
        for i in range(n_tokens)
        for j in range(n_tokens)
        if i != j
    ]
    assert found.item() == pytest.approx(np.mean(pairs), abs=1e-9)


def test_the_same_token_everywhere_is_1_and_orthogonal_tokens_are_0():
    is_token = torch.ones(1, 4, dtype=torch.bool)
    alike = torch.tensor([1.0, 0, 0, 0]).expand(1, 4, 4)
    assert token_similarity(alike, is_token).item() == 1
    assert token_similarity(torch.eye(4)[None], is_token).item() == 0
    assert torch.isnan(token_similarity(torch.eye(4)[None, :1], is_token[:, :1]))


@pytest.mark.parametrize("placement", ["pre", "post", "sandwich", "res_post", "parallel"])
def test_all_measures_equal_those_written_out(placement: str):
    layers, x, mask = layers_of(torch.float64, norm_placement=placement), toy_input().double(), None
    found = measured(layers, x, mask).layers
    expected = written_out(layers, x, placement)
    for name, values in expected.items():
        shown = found[name].to_numpy()[-len(values) :]
        np.testing.assert_allclose(shown, values, rtol=1e-9, err_msg=name)
    assert set(expected) == set(MEASURES) and list(found["layer"]) == [0, 1, 2, 3]


def written_out(layers, x: Tensor, placement: str) -> dict[str, list[float]]:
    """The same, one number after the other, from hooks on a plain pass."""
    seen: dict[str, list[Tensor]] = {}
    for layer in layers:
        watch(layer, placement, seen)
    stream, streams = x.clone().requires_grad_(), []
    streams.append(stream)
    for layer in layers:
        stream = layer(stream, None)
        stream.retain_grad()
        streams.append(stream)
    square_loss(stream).backward()
    size = [float(s.detach().norm(dim=-1).mean()) for s in streams]
    middle = [float(s.detach().norm(dim=-1).mean()) for s in seen["middle"]]
    parameters = [sum(float(p.grad.square().sum()) for p in layer.parameters()) for layer in layers]
    for layer in layers:
        layer.zero_grad(set_to_none=True)
    plain = [stream.detach() for stream in streams]
    pairs = list(zip(plain[1:], plain[:-1], strict=True))
    return {
        "stream_norm": size,
        "attention_share": ratios(seen["attention"], size),
        "feed_forward_share": ratios(seen["feed_forward"], middle or size),
        "cosine": [float(torch.cosine_similarity(a, b, dim=-1).mean()) for a, b in pairs],
        "similarity": [mean_cosine(s) for s in plain],
        "entropy_bits": [entropy(layer, i, plain) for i, layer in enumerate(layers)],
        "parameter_gradient": [value**0.5 for value in parameters],
        "stream_gradient": [float(s.grad.norm()) for s in streams],
    }


def watch(layer: nn.Module, placement: str, seen: dict[str, list[Tensor]]) -> None:
    """Hooks on probes of a private model: what each part writes, and the stream between them."""

    def keep(name: str, probe: nn.Module) -> None:
        seen.setdefault(name, [])
        probe.register_forward_hook(lambda _m, _i, out: seen[name].append(out))

    if placement == "parallel":
        seen.setdefault("middle", [])
        keep("attention", layer.attention_out)
        keep("feed_forward", layer.feed_forward_out)
        return
    end = "out_norm" if placement in ("sandwich", "res_post") else "write"
    keep("attention", getattr(layer.attention_residual, end))
    keep("feed_forward", getattr(layer.feed_forward_residual, end))
    keep("middle", layer.attention_residual.stream)


def ratios(writes: list[Tensor], before: list[float]) -> list[float]:
    sizes = [float(write.detach().norm(dim=-1).mean()) for write in writes]
    return [size / stream for size, stream in zip(sizes, before, strict=False)]


def mean_cosine(stream: Tensor) -> float:
    pairs = [
        float(torch.cosine_similarity(row[i], row[j], dim=0))
        for row in stream
        for i in range(SEQ_LEN)
        for j in range(SEQ_LEN)
        if i != j
    ]
    return float(np.mean(pairs))


def entropy(layer: nn.Module, i: int, streams: list[Tensor]) -> float:
    """From a recording of this layer alone."""
    seen = record(layer, streams[i], keep={f"layers.{i}.pattern"})
    weights = seen.tensors[f"layers.{i}.pattern"]
    return float(-(weights * weights.log2()).sum(dim=-1).mean())


def test_gradients_are_what_finite_differences_say():
    layers, x, step = layers_of(torch.float64), toy_input().double(), 1e-6
    found = measured(layers, x, loss_of=square_loss).layers["parameter_gradient"]

    first, *others = layers  # the first layer has passed all others

    def loss(name: str, value: Tensor) -> Tensor:
        stream = functional_call(first, {name: value}, (x, None))
        for layer in others:
            stream = layer(stream, None)
        return square_loss(stream)

    total = 0.0
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        for name, parameter in first.named_parameters():
            moves = step * torch.eye(parameter.numel(), dtype=x.dtype).view(-1, *parameter.shape)
            up, down = (
                torch.vmap(partial(loss, name), chunk_size=64)(parameter + sign * moves)
                for sign in (1, -1)
            )
            total += float(((up - down) / (2 * step)).square().sum())
    assert found[1] == pytest.approx(total**0.5, rel=1e-5)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_gradients_equal_those_of_torch(placement: str):
    config = toy(n_layers=DEPTH, norm_placement=placement, activation="gelu", position_kind="none")
    layers, x = layers_of(norm_placement=placement, position_kind="none"), toy_input()
    found = measured(layers, x).layers
    theirs = [torch_layer(config, layer) for layer in layers]
    stream = x
    for layer in theirs:
        stream = layer(stream)
    square_loss(stream).backward()
    norms = [torch.stack([p.grad.norm() for p in layer.parameters()]).norm() for layer in theirs]
    np.testing.assert_allclose(
        found["parameter_gradient"][1:], [float(norm) for norm in norms], rtol=1e-4
    )


def test_nothing_is_left_in_a_model_that_others_share():
    layers = layers_of()
    before = [p.detach().clone() for layer in layers for p in layer.parameters()]
    measured(layers)
    after = [p for layer in layers for p in layer.parameters()]
    assert all(p.grad is None for p in after)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_padding_counts_in_no_measure():
    mask = padding(IS_TOKEN)
    config = stack_config(toy(), n_layers=2, width=D_MODEL)
    x = toy_input()
    other = torch.where(IS_TOKEN[..., None], x, 7 * draw(*x.shape, seed=5))
    one, two = (measure_stack(config, v, mask, is_token=IS_TOKEN, seed=0) for v in (x, other))
    columns = [name for name in MEASURES if name != "stream_gradient"]
    assert_near(*(torch.tensor(p.layers[columns][1:].to_numpy()) for p in (one, two)))
    assert one.loss == pytest.approx(two.loss, rel=1e-5)


def test_without_feed_forward_there_is_no_share_of_it():
    found = measured(layers_of(attention_only=True)).layers
    assert found["feed_forward_share"].isna().all()
    assert np.isfinite(found["attention_share"][1:]).all()


def test_one_token_has_no_other_and_no_choice():
    found = measured(layers_of(), toy_input()[:1, :1], is_token=EVERYONE[:1, :1])
    assert found.layers["similarity"].isna().all()
    assert (found.layers["entropy_bits"][1:].abs() < 1e-5).all() and found.even_bits == 0  # of bits


def test_even_bits_count_what_each_query_sees():
    found = measured(layers_of(), mask=causal(SEQ_LEN))
    assert found.even_bits == pytest.approx(np.mean(np.log2(np.arange(1, SEQ_LEN + 1))))


def test_queries_that_see_nothing_count_nothing_and_give_numbers():
    mask = causal(SEQ_LEN) & padding(IS_TOKEN)
    found = measured(layers_of(), mask=mask, is_token=IS_TOKEN).layers
    assert np.isfinite(found.drop(columns="layer").iloc[1:].to_numpy()).all()
    nothing = torch.zeros(SEQ_LEN, SEQ_LEN, dtype=torch.bool)
    assert measured(layers_of(), mask=nothing).layers["entropy_bits"].isna().all()


def test_without_norm_and_residual_the_gradient_vanishes_and_tokens_become_alike():
    base = toy(norm_kind="none", residual=False, position_kind="none")
    config = stack_config(base, n_layers=48, width=D_MODEL)
    found = measure_stack(config, toy_input(), None, is_token=EVERYONE, seed=0).layers
    assert found["parameter_gradient"][1] < 1e-6 * found["parameter_gradient"][48]
    assert found["similarity"][48] > 0.999


def test_what_leaves_the_number_format_is_said_to_be_infinite():
    config = stack_config(toy(norm_kind="none"), n_layers=4, width=D_MODEL)
    x = 6e4 * torch.ones(BATCH, SEQ_LEN, D_MODEL, dtype=torch.float16)
    found = measure_stack(config, x, None, is_token=EVERYONE, seed=0)
    assert not np.isfinite(found.layers["parameter_gradient"][1:]).all()


def test_the_seed_decides_weights_probe_and_classes():
    config = stack_config(toy(), n_layers=2, width=D_MODEL)
    one, same, other = (
        measure_stack(config, toy_input(), None, is_token=EVERYONE, seed=s) for s in (1, 1, 2)
    )
    assert one.layers.equals(same.layers) and one.loss == same.loss != other.loss


def test_the_probe_reads_a_final_norm_unless_post_has_it_already():
    x = toy_input()
    pre, post = (random_probe(toy(norm_placement=place), EVERYONE, 0) for place in ("pre", "post"))
    assert pre(3 * x).item() == pytest.approx(pre(x).item(), rel=1e-4)
    assert post(3 * x).item() != pytest.approx(post(x).item(), rel=1e-2)


def test_a_narrower_stack_keeps_the_width_of_a_head_and_the_ratio_of_the_wide_layer():
    base = toy(d_model=768, n_heads=12, n_kv_heads=4, d_ff=3072, position_kind="learned")
    config = stack_config(base, n_layers=24, width=128)
    assert (config.d_model, config.d_head, config.d_ff) == (128, 64, 512)
    assert config.n_layers == 24 and config.dropout == 0
    assert config.position.position_kind == "none"
    assert stack_config(base, n_layers=1, width=9999).d_model == 768


@pytest.mark.parametrize("n_tokens", [8, 64])
@pytest.mark.parametrize("changes", [{}, {"activation": "swiglu", "norm_placement": "sandwich"}])
def test_the_estimate_of_memory_is_from_above(changes: dict, n_tokens: int):
    base = toy(d_model=64, n_heads=4, d_ff=256, position_kind="alibi", **changes)
    config = stack_config(base, n_layers=6, width=64)
    x, is_token = draw(2, n_tokens, 64), torch.ones(2, n_tokens, dtype=torch.bool)
    with peak_memory(x.device) as memory:
        measure_stack(config, x, causal(n_tokens), is_token=is_token, seed=0)
    estimate = estimate_stack_memory(config, batch=2, seq_len=n_tokens, dtype=x.dtype)
    assert memory.peak_bytes <= estimate <= 4 * memory.peak_bytes


def test_what_is_too_large_is_refused_with_what_fits():
    config = stack_config(toy(d_model=512, n_heads=8, d_ff=2048), n_layers=64, width=512)
    sizes = {"batch": 1, "seq_len": 128, "dtype": torch.float32}
    assert stack_memory_fault(config, **sizes, budget=2**40) is None
    fault = stack_memory_fault(config, **sizes, budget=2**30)
    smaller = stack_config(config, n_layers=fault.mend["depth"], width=512)
    assert estimate_stack_memory(smaller, **sizes) <= 2**30 and "GB" in str(fault)
    tiny = stack_memory_fault(config, **sizes, budget=2**23)
    assert tiny.mend["depth"] == 1 and tiny.mend["depth_width"] < 512
