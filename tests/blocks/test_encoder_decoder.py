"""Encoder–decoders against torch and `transformers`, by copying weights."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from seq2seq_references import (
    hugging_face_bart,
    hugging_face_t5,
    torch_decoder_layer,
    torch_transformer,
)
from toy import assert_near, draw, scramble, toy

from blocks import ModelConfig, build, record
from blocks.model.kinds import NormKind, PositionKind
from blocks.model.kv_cache import KVCache, kv_cache_bytes_per_token
from blocks.model.layers import DecoderLayer
from blocks.model.masks import causal, cross_padding
from blocks.model.positions import sinusoidal_table
from blocks.model.source_target import SourceTarget, SourceTargetMask, source_target_mask
from blocks.weights.tensors import load_weights, read_weights

VOCAB_SIZE = 11
SOURCE = torch.tensor([[1, 5, 3, 10, 7, 4], [3, 3, 9, 8, 0, 0]])
TARGET = torch.tensor([[1, 6, 2, 9], [1, 4, 0, 0]])
IDS = SourceTarget(SOURCE, TARGET)
IS_SOURCE, IS_TARGET = SOURCE != 0, TARGET != 0
MASK = source_target_mask(IS_SOURCE, IS_TARGET)
BART = {
    "norm_placement": "post",
    "position_kind": "learned",
    "embedding_norm": True,
    "activation": "gelu",
}
T5 = {
    "norm_kind": "rmsnorm",
    "norm_eps": 1e-6,
    "position_kind": "none",
    "relative_bias": True,
    "attention_bias": False,
    "feed_forward_bias": False,
    "activation": "relu",
}


def small(**changes: Any) -> ModelConfig:
    sizes = {"n_layers": 2, "n_decoder_layers": 3, "vocab_size": VOCAB_SIZE}
    return toy(**{"architecture": "encoder-decoder", **sizes, **changes})


def scrambled(config: ModelConfig, size: float = 1.0):
    """Every weight drawn anew; `size` times what the others have, to keep logits moderate."""
    model = scramble(build(config))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(size)
    return model


@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_decoder_layer_is_the_one_of_torch(placement: str, activation: str, is_masked: bool):
    config = small(norm_placement=placement, activation=activation)
    layer = scrambled(config).decoder.layers[0]
    x, memory = draw(2, 4, config.d_model), draw(2, 6, config.d_model, seed=1)
    theirs = torch_decoder_layer(config, layer)
    if not is_masked:
        assert_near(layer(x, memory), theirs(x, memory))
        return
    expected = theirs(
        x,
        memory,
        tgt_mask=~causal(4),
        tgt_key_padding_mask=~IS_TARGET,
        memory_key_padding_mask=~IS_SOURCE,
    )
    assert_near(layer(x, memory, MASK.target, MASK.cross), expected)


@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_the_whole_is_the_transformer_of_torch(placement: str, is_masked: bool):
    config = small(norm_placement=placement)
    model = scrambled(config)

    def embedded(ids):
        scaled = config.d_model**0.5 * model.embed(ids)
        return scaled + sinusoidal_table(ids.shape[1], config.d_model)

    hidden = {
        "src_key_padding_mask": ~IS_SOURCE,
        "memory_key_padding_mask": ~IS_SOURCE,
        "tgt_key_padding_mask": ~IS_TARGET,
    }
    theirs = torch_transformer(config, model)
    expected = theirs(
        embedded(SOURCE), embedded(TARGET), tgt_mask=~causal(4), **(hidden if is_masked else {})
    )
    seen = record(model, IDS, mask=MASK if is_masked else None)
    last = "decoder.final_norm" if placement == "pre" else "decoder.layers.2.resid_post"
    assert_near(seen.tensor(last), expected.detach())
    logits = (expected @ model.embed.weight.T).detach()
    unseen = record(model, IDS, mask=MASK if is_masked else None, keep=())
    for output in (seen.output, unseen.output):
        assert_near(output, logits, tolerance=2e-5)


@pytest.mark.parametrize("is_masked", [False, True])
def test_it_is_the_bart_of_transformers(is_masked: bool):
    config = small(**BART)
    model = scrambled(config)
    hidden = {"attention_mask": IS_SOURCE, "decoder_attention_mask": IS_TARGET}
    with torch.no_grad():
        theirs = hugging_face_bart(config, model)
        given_masks = hidden if is_masked else {}
        expected = theirs(input_ids=SOURCE, decoder_input_ids=TARGET, **given_masks).logits
    mask = MASK if is_masked else None
    for keep in (None, ()):
        assert_near(record(model, IDS, mask=mask, keep=keep).output, expected)


@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("tie_embeddings", [True, False])
def test_it_is_the_t5_of_transformers(tie_embeddings: bool, is_masked: bool):
    config = small(**T5, tie_embeddings=tie_embeddings)
    model = scrambled(config)
    hidden = {"attention_mask": IS_SOURCE, "decoder_attention_mask": IS_TARGET}
    with torch.no_grad():
        theirs = hugging_face_t5(config, model)
        given_masks = hidden if is_masked else {}
        expected = theirs(input_ids=SOURCE, decoder_input_ids=TARGET, **given_masks).logits
    mask = MASK if is_masked else None
    for keep in (None, ()):
        assert_near(record(model, IDS, mask=mask, keep=keep).output, expected)


def test_the_learned_bias_is_that_of_t5_at_any_distance():
    config = small(**T5)
    model = scrambled(config)
    theirs = hugging_face_t5(config, model)
    for name in ("encoder", "decoder"):
        attention = theirs.get_submodule(f"{name}.block.0.layer.0.SelfAttention")
        ours = model.get_submodule(f"{name}.relative_bias")
        assert torch.equal(ours(300, 300), attention.compute_bias(300, 300)[0])
        assert torch.equal(ours(2, 300), ours(300, 300)[:, -2:])


CONFIGS = st.fixed_dictionaries(
    {
        "n_layers": st.integers(1, 2),
        "n_decoder_layers": st.none() | st.integers(1, 3),
        "tie_embeddings": st.booleans(),
        "share_embeddings": st.booleans(),
        "embedding_norm": st.booleans(),
        "relative_bias": st.booleans(),
        "attention_only": st.booleans(),
        "qk_norm": st.booleans(),
        "n_kv_heads": st.sampled_from([None, 1, 2]),
        "n_experts": st.sampled_from([1, 1, 3]),
        "norm_kind": st.sampled_from(NormKind),
        "norm_placement": st.sampled_from(["pre", "post", "sandwich"]),
        "position_kind": st.sampled_from(PositionKind),
    }
)


@settings(max_examples=30)
@given(CONFIGS, st.sampled_from([(1, 1, 1, 1), (3, 1), (4,), (2, 2)]))
def test_cached_is_uncached_and_cross_is_computed_once(changes: dict[str, Any], sizes):
    config = small(**changes)
    model, cache = scrambled(config, 0.5), KVCache(config)
    with torch.no_grad():
        whole = model(IDS, SourceTargetMask(MASK.source, None, MASK.cross))
        memory = model.encode(SOURCE, MASK.source)
        chunks = []
        for chunk in TARGET.split(list(sizes), dim=1):
            cross = cross_padding(chunk.shape[1], IS_SOURCE)
            chunks.append(model.decode(chunk, memory, memory_mask=cross, cache=cache))
            first = first if len(chunks) > 1 else cache.cross[0].keys  # noqa: F821
            assert cache.cross[0].keys is first
    assert_near(torch.cat(chunks, dim=1), whole)
    n_cross = SOURCE.numel() * kv_cache_bytes_per_token(config, 4)
    assert cache.nbytes() == TARGET.numel() * kv_cache_bytes_per_token(config, 4) + n_cross


@settings(max_examples=30)
@given(CONFIGS, st.integers(1, 4), st.integers(1, 3))
def test_padding_changes_nothing(changes: dict[str, Any], more_source: int, more_target: int):
    model = build(small(**changes))
    source, target = SOURCE[:1, :4], TARGET[:1, :3]
    is_source = torch.arange(4 + more_source)[None] < 4
    is_target = torch.arange(3 + more_target)[None] < 3
    longer = SourceTarget(
        torch.cat((source, torch.zeros(1, more_source, dtype=torch.long)), dim=1),
        torch.cat((target, torch.zeros(1, more_target, dtype=torch.long)), dim=1),
    )
    mask = source_target_mask(is_source, is_target)
    with torch.no_grad():
        alone = model(SourceTarget(source, target))
        padded = model(longer, mask)
    assert_near(padded[:, :3], alone)


def test_a_source_of_padding_alone_is_read_as_nothing():
    model = scrambled(small())
    mask = source_target_mask(torch.zeros_like(IS_SOURCE), IS_TARGET)
    seen = record(model, IDS, mask=mask)
    assert seen.output.isfinite().all()
    assert seen.tensor("cross_pattern", stack="decoder").eq(0).all()


@pytest.mark.parametrize("placement", ["pre", "post", "sandwich"])
def test_the_target_knows_the_source_and_what_came_before(placement: str):
    model = build(small(norm_placement=placement))
    later, other = TARGET.clone(), SOURCE.clone()
    later[:, -1] = other[:, 2] = 8
    before = record(model, IDS, keep=()).output
    after = record(model, SourceTarget(SOURCE, later), keep=()).output
    assert torch.equal(before[:, :-1], after[:, :-1])
    assert not torch.equal(before[:, -1], after[:, -1])
    elsewhere = record(model, SourceTarget(other, TARGET), keep=()).output
    assert (before != elsewhere).any(dim=-1).all()


def test_every_tensor_of_cross_attention_can_be_seen_and_replaced():
    model, n_heads = build(small()), 4
    seen = record(model, IDS, mask=MASK)
    assert seen.pattern(1, stack="encoder").shape == (2, n_heads, 6, 6)
    assert seen.pattern(2, stack="decoder").shape == (2, n_heads, 4, 4)
    shapes = {
        "cross_q": (2, n_heads, 4, 4),
        "cross_k": (2, n_heads, 6, 4),
        "cross_v": (2, n_heads, 6, 4),
        "cross_scores": (2, n_heads, 4, 6),
        "cross_pattern": (2, n_heads, 4, 6),
        "cross_head_out": (2, n_heads, 4, 4),
        "cross_attention_out": (2, 4, 16),
        "resid_cross": (2, 4, 16),
    }
    for name, shape in shapes.items():
        assert seen.tensor(name, 2, stack="decoder").shape == shape
    cross = seen.tensor("cross_pattern", 2, stack="decoder")
    assert_near(cross.sum(-1), torch.ones(2, n_heads, 4))
    assert cross[1, :, :, 4:].eq(0).all()
    kept = record(model, IDS, keep={"cross_pattern"}).tensors
    assert kept.keys() == {f"decoder.layers.{i}.cross_pattern" for i in range(3)}
    path = "decoder.layers.0.cross_attention_out"
    assert not torch.equal(record(model, IDS, replace={path: torch.zeros_like}).output, seen.output)


def test_the_flow_says_in_which_half_a_stage_lies():
    flow = record(build(small()), IDS).flow()
    assert list(flow.columns[:3]) == ["stack", "layer", "stage"]
    n_layers = flow.groupby("stack")["layer"].max() + 1
    assert n_layers.to_dict() == {"encoder": 2, "decoder": 3}
    assert flow["stack"].is_monotonic_decreasing  # the encoder first


def test_tables_are_shared_as_the_configuration_says():
    names = {
        (share, tie): {
            name
            for name, _ in build(
                small(share_embeddings=share, tie_embeddings=tie)
            ).named_parameters()
            if "embed" in name
        }
        for share in (True, False)
        for tie in (True, False)
    }
    assert names[True, True] == {"embed.weight"}
    assert names[False, True] == {"embed.weight", "source_embed.weight"}
    assert names[True, False] == {"embed.weight", "unembed.weight"}
    assert names[False, False] == names[False, True] | names[True, False]


def test_weights_travel_and_all_of_them_learn():
    config = small(relative_bias=True, embedding_norm=True, share_embeddings=False)
    model, other = build(config, seed=1), build(config, seed=2)
    load_weights(other, read_weights(model))
    assert torch.equal(model(IDS), other(IDS))
    model(IDS).logsumexp(-1).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_the_normal_scheme_divides_by_the_number_of_writes():
    config = small(d_model=128, d_ff=256, initialization="normal")
    model = build(config)
    for stack, n_writes in ((model.encoder, 2 * 2), (model.decoder, 3 * 3)):
        write = stack.layers[0].attention.out_proj.weight
        assert write.std().item() == pytest.approx(0.02 / n_writes**0.5, rel=0.05)
    assert isinstance(model.decoder.layers[0], DecoderLayer)
