"""Text that grows: with and without a cache, beyond the context, and as `transformers` does."""

import pytest
import torch
from kernels import Kernels
from references import hugging_face_llama
from toy import assert_near, scramble, toy

from blocks import build, record
from blocks.model.attention import Attention
from blocks.model.layout import pack_weights_for_decoding
from blocks.model.models import GPT
from blocks.text.generation import Generation, context_start
from blocks.text.sampling import SamplingConfig

GREEDY, WARM = SamplingConfig(temperature=0), SamplingConfig(temperature=1.0, top_k=5)
PROMPT = [1, 5, 0]


def gpt_config(**changes):
    sizes = {"n_layers": 2, "vocab_size": 11, "max_seq_len": 8}
    return toy(architecture="gpt", **sizes, **changes)


def grown(config, n_tokens: int = 20, sampling=WARM, **more) -> Generation:
    generation = Generation(scramble(build(config)), config, PROMPT, sampling, **more)
    generation.advance(n_tokens)
    return generation


@pytest.mark.parametrize("window_size", [None, 3])
@pytest.mark.parametrize("position_kind", ["learned", "rope", "alibi", "sinusoidal", "none"])
def test_the_cache_changes_no_token_even_beyond_the_context(position_kind: str, window_size):
    config = gpt_config(position_kind=position_kind, n_kv_heads=2)
    cached, anew = (
        grown(config, use_cache=use, window_size=window_size, is_observed=not use)
        for use in (True, False)
    )
    assert cached.token_ids == anew.token_ids
    for ours, theirs in zip(cached.new_tokens, anew.new_tokens, strict=True):
        assert_near(ours.logits, theirs.logits, tolerance=1e-4)
        assert ours.cache_bytes > 0 == theirs.cache_bytes
        assert theirs.pattern.shape[:2] == (2, 4) and ours.pattern is None


def test_what_is_seen_while_it_grows_changes_no_token():
    config = gpt_config()
    seen, unseen = (grown(config, is_observed=is_observed) for is_observed in (True, False))
    assert seen.token_ids == unseen.token_ids
    for i, token in enumerate(seen.new_tokens):
        n_keys = len(PROMPT) + i - token.context_start
        assert token.pattern.shape == (2, 4, n_keys)
        assert_near(token.pattern.sum(-1), torch.ones(2, 4))


@pytest.mark.parametrize("changes", [{"position_kind": "alibi"}, {"local_window": 2}])
def test_of_a_prompt_the_weights_of_the_last_query_alone_are_made(changes, monkeypatch):
    config = gpt_config(**changes)
    whole = record(scramble(build(config)), torch.tensor([PROMPT]))
    expected = torch.stack([whole.pattern(layer)[0, :, -1] for layer in range(2)])
    made, step_by_step = [], Attention.attend_in_steps
    monkeypatch.setattr(
        Attention,
        "attend_in_steps",
        lambda self, q, *rest: made.append(q.shape[2]) or step_by_step(self, q, *rest),
    )
    found = grown(config, 2, is_observed=True).new_tokens[0].pattern
    assert_near(found, expected)
    assert made == [1, 1]  # of the second token: the first has no steps


@pytest.mark.parametrize("is_observed", [False, True])
def test_of_a_prompt_the_last_token_alone_is_unembedded(is_observed: bool, monkeypatch):
    sizes, whole = [], GPT.unembed_logits
    monkeypatch.setattr(
        GPT, "unembed_logits", lambda self, x: sizes.append(x.shape[1]) or whole(self, x)
    )
    grown(gpt_config(), 3, is_observed=is_observed)
    assert sizes == [1, 1, 1]


def test_a_seed_gives_a_text_and_step_by_step_gives_the_same():
    config = gpt_config()
    at_once, stepwise = grown(config, seed=7), grown(config, 0, seed=7)
    for n in range(21):
        stepwise.advance(n)
    assert at_once.token_ids == stepwise.token_ids != grown(config, seed=8).token_ids


def test_greedy_is_the_greedy_of_transformers():
    config = gpt_config(
        norm_kind="rmsnorm",
        activation="swiglu",
        position_kind="rope",
        attention_bias=False,
        feed_forward_bias=False,
    ).replace(max_seq_len=32)
    model = scramble(build(config))
    theirs = hugging_face_llama(config, model).generate(
        torch.tensor([PROMPT]),
        do_sample=False,
        max_new_tokens=12,
        pad_token_id=0,
        eos_token_id=None,
    )
    assert grown(config, 12, GREEDY).token_ids == theirs[0].tolist()


@pytest.mark.parametrize("most", [1, 2, 7, 8])
def test_the_context_moves_by_half_and_is_never_too_long(most: int):
    for n in range(1, 60):
        start = context_start(n, most)
        assert 1 <= n - start <= most
        assert (start == 0) is (n <= most)
        assert start >= context_start(n - 1, most)


def test_another_layout_in_memory_computes_the_same():
    config = gpt_config()
    model = scramble(build(config))
    ids = torch.tensor([PROMPT])
    before = model(ids)
    assert_near(pack_weights_for_decoding(model)(ids), before)
    assert model.layers[0].attention.q_proj.weight.stride() == (1, config.d_model)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("tied", [True, False])
def test_one_token_at_a_time_computes_the_same_packed(tied: bool, n_threads: int, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: n_threads)
    config = gpt_config().replace(tie_embeddings=tied, attention_bias=True)
    model = scramble(build(config))
    keys = list(model.state_dict())
    with torch.inference_mode():
        before = model(torch.tensor([PROMPT[:1]]))
        packed = pack_weights_for_decoding(model)
        with Kernels() as kernels:
            assert_near(packed(torch.tensor([PROMPT[:1]])), before)
    assert list(packed.state_dict()) == keys
    n_products = 6 * config.n_layers + 1
    assert kernels.counts["_linear_pointwise"] == (n_products if n_threads > 1 else 0)


@pytest.mark.parametrize("ids", [PROMPT[:1], PROMPT])
def test_a_packed_model_is_recorded_and_learns_as_it_did(ids: list[int]):
    config = gpt_config().replace(attention_bias=True)
    plain, packed = (scramble(build(config)) for _ in range(2))
    pack_weights_for_decoding(packed)
    seen, also = (record(model, torch.tensor([ids])) for model in (plain, packed))
    assert list(also.tensors) == list(seen.tensors)
    for path, tensor in seen.tensors.items():
        assert_near(also.tensors[path], tensor)
    for model in (plain, packed):
        model(torch.tensor([ids])).square().sum().backward()
    ours, theirs = (
        torch.cat([p.grad.flatten() for p in model.parameters()]) for model in (packed, plain)
    )
    assert_near(ours, theirs)  # the gradient of a key's bias is 0 but for rounding


def test_a_layout_that_would_slow_bfloat16_down_is_left_alone():
    model = pack_weights_for_decoding(build(gpt_config(), dtype=torch.bfloat16))
    assert model.layers[0].attention.q_proj.weight.is_contiguous()
