"""Encoder and GPT against torch and `transformers`, by copying weights."""

import pytest
import torch
from references import hugging_face_gpt2, hugging_face_llama, torch_encoder
from toy import SEQ_LEN, assert_near, scramble, toy

from blocks import ConfigError, build, record
from blocks.model.kinds import NormPlacement, PositionKind
from blocks.model.masks import padding
from blocks.model.positions import sinusoidal_table

VOCAB_SIZE, N_LAYERS = 11, 3
TOKEN_IDS = torch.tensor([[1, 5, 0, 10, 7], [3, 3, 9, 2, 0]])
IS_TOKEN = torch.tensor([[True] * SEQ_LEN, [True] * 3 + [False] * 2])


def whole(architecture: str, **changes):
    return toy(architecture=architecture, n_layers=N_LAYERS, vocab_size=VOCAB_SIZE, **changes)


@pytest.mark.parametrize("is_padded", [False, True])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_encoder_is_the_one_of_torch(placement: str, is_padded: bool):
    config = whole("encoder", norm_placement=placement)
    model = scramble(build(config))
    scaled = config.d_model**0.5 * model.embed(TOKEN_IDS)
    x = scaled + sinusoidal_table(SEQ_LEN, config.d_model)
    hidden = ~IS_TOKEN if is_padded else None
    expected = torch_encoder(config, model)(x, src_key_padding_mask=hidden)
    mask = padding(IS_TOKEN) if is_padded else None
    assert_near(model.encode(TOKEN_IDS, mask), expected)
    assert_near(model(TOKEN_IDS, mask), expected @ model.embed.weight.T, tolerance=2e-5)


def test_gpt_is_the_gpt2_of_transformers():
    config = whole("gpt", position_kind="learned", activation="gelu_tanh")
    model = scramble(build(config))
    with torch.no_grad():
        expected = hugging_face_gpt2(config, model)(TOKEN_IDS).logits
    assert_near(record(model, TOKEN_IDS).output, expected)
    assert_near(record(model, TOKEN_IDS, keep=()).output, expected)


@pytest.mark.parametrize("tie_embeddings", [True, False])
def test_gpt_is_the_llama_of_transformers(tie_embeddings: bool):
    config = whole(
        "gpt",
        norm_kind="rmsnorm",
        activation="swiglu",
        position_kind="rope",
        n_kv_heads=2,
        attention_bias=False,
        feed_forward_bias=False,
        tie_embeddings=tie_embeddings,
    )
    model = scramble(build(config))
    with torch.no_grad():
        expected = hugging_face_llama(config, model)(TOKEN_IDS).logits
    assert_near(record(model, TOKEN_IDS).output, expected)


def test_a_gpt_without_a_mask_sees_nothing_of_what_comes():
    model, other = build(whole("gpt")), TOKEN_IDS.clone()
    other[:, -1] = (other[:, -1] + 1) % VOCAB_SIZE
    before, after = (record(model, ids, keep=()).output for ids in (TOKEN_IDS, other))
    assert torch.equal(before[:, :-1], after[:, :-1])
    assert not torch.equal(before[:, -1], after[:, -1])


@pytest.mark.parametrize("placement", NormPlacement)
def test_stages_stand_in_the_order_of_the_layers(placement: str):
    seen = record(build(whole("encoder", norm_placement=placement)), TOKEN_IDS)
    layers = [int(path.split(".")[1]) for path in seen.stages if path.startswith("layers.")]
    assert seen.stages[0] == "embedding"
    assert layers == sorted(layers) and set(layers) == set(range(N_LAYERS))
    assert (seen.stages[-1] == "final_norm") is (placement != "post")
    assert seen.tensor("logits").shape == (2, SEQ_LEN, VOCAB_SIZE)
    for layer in range(N_LAYERS):
        assert seen.pattern(layer).sum(-1).allclose(torch.ones(1))


def test_zero_writes_start_as_the_identity_and_know_nothing():
    config = whole("gpt", initialization="zero_writes", tie_embeddings=False, position_kind="rope")
    model = build(config)
    seen = record(model, TOKEN_IDS)
    assert torch.equal(seen.tensor("resid_post", N_LAYERS - 1), model.embed(TOKEN_IDS))
    assert torch.equal(seen.output, torch.zeros(2, SEQ_LEN, VOCAB_SIZE))


def test_the_embedding_of_an_encoder_is_scaled_to_about_one():
    seen = record(build(whole("encoder", d_model=128, initialization="xavier_uniform")), TOKEN_IDS)
    assert 0.7 < seen.flow().iloc[0]["rms"] < 1.3


def test_attention_alone_writes_once_a_layer():
    seen = record(build(whole("gpt", attention_only=True)), TOKEN_IDS)
    assert not any("feed_forward" in path or "resid_mid" in path for path in seen.stages)
    with pytest.raises(ConfigError, match="use “pre”"):
        whole("gpt", attention_only=True, norm_placement="parallel")


def test_queries_and_keys_of_rms_one():
    seen = record(build(whole("gpt", qk_norm=True, position_kind=PositionKind.ROPE)), TOKEN_IDS)
    for name in ("q", "k"):
        rms = seen.tensor(name, 1).square().mean(-1).sqrt()
        assert_near(rms, torch.ones_like(rms), tolerance=1e-3)
