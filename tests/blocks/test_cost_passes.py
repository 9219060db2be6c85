"""FLOPs of a step, forward and back, against those that torch counts in eager products."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from steps import steps
from torch.utils.flop_counter import FlopCounterMode
from toy import draw, toy

from blocks import ModelConfig, build
from blocks.cost.passes import PassKind, operations, pass_kinds, total_flops
from blocks.cost.peak_memory import TensorMemory
from blocks.model.kv_cache import KVCache
from blocks.model.probe import listening
from blocks.model.source_target import SourceTarget
from blocks.observe.recording import Recorder
from blocks.training.loss import cross_entropy

N, BATCH, VOCABULARY = 5, 2, 11


def ids(*shape: int) -> torch.Tensor:
    return torch.zeros(*shape, dtype=torch.long)


def values(config: ModelConfig, batch: int = BATCH) -> Any:
    if config.architecture == "block":
        return draw(batch, N, config.d_model)
    both = ids(batch, N)
    return SourceTarget(both, both) if config.architecture == "encoder-decoder" else both


def counted(config: ModelConfig) -> dict[PassKind, int]:
    """What torch counts, attention in steps: fused, it counts nothing on a CPU."""
    model, x = build(config), values(config)
    listens = listening(Recorder({"pattern", "cross_pattern"}, {}))
    with torch.enable_grad(), listens, FlopCounterMode(display=False) as counter:
        out = model(x)
        forward = counter.get_total_flops()
        is_block = config.architecture == "block"
        (out.sum() if is_block else cross_entropy(out, ids(BATCH, N))).backward()
    return {PassKind.FORWARD: forward, PassKind.TRAINING: counter.get_total_flops()}


def by_formula(config: ModelConfig) -> dict[PassKind, int]:
    kinds = PassKind.FORWARD, PassKind.TRAINING
    return {kind: total_flops(operations(config, kind, n=N, batch=BATCH)) for kind in kinds}


SHAPES = st.fixed_dictionaries(
    {
        "architecture": st.sampled_from(["block", "encoder", "gpt", "encoder-decoder"]),
        "n_layers": st.integers(1, 3),
        "n_heads": st.sampled_from([1, 2, 4]),
        "n_kv_heads": st.sampled_from([None, 1]),
        "d_head": st.sampled_from([None, 6]),
        "d_ff": st.integers(1, 24),
        "activation": st.sampled_from(["relu", "gelu", "swiglu"]),
        "attention_only": st.booleans(),
        "n_experts": st.sampled_from([1, 1, 3]),
        "n_shared_experts": st.integers(0, 1),
        "shared_expert_gate": st.booleans(),
        "d_kv_latent": st.sampled_from([0, 0, 5]),
        "d_q_latent": st.sampled_from([0, 6]),
        "n_dense_layers": st.integers(0, 1),
        "d_expert": st.sampled_from([None, 5]),
        "norm_placement": st.sampled_from(["pre", "post", "sandwich"]),
        "norm_kind": st.sampled_from(["layernorm", "rmsnorm", "none"]),
        "norm_affine": st.booleans(),
        "first_norm": st.booleans(),
        "position_kind": st.sampled_from(["none", "sinusoidal", "learned", "rope", "alibi"]),
        "tie_embeddings": st.booleans(),
        "qk_norm": st.booleans(),
    }
)


@settings(max_examples=20)
@given(shape=SHAPES)
def test_a_step_of_any_model_forward_and_back(shape: dict):
    config, _ = toy(vocab_size=VOCABULARY).nearest(**shape)
    assert counted(config) == by_formula(config)


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"norm_kind": "none", "position_kind": "none"},
        {"norm_affine": False, "n_layers": 2},
        {"position_kind": "learned", "norm_affine": False},
        {"norm_kind": "none", "activation": "swiglu", "n_experts": 2},
    ],
    ids=str,
)
def test_side_by_side_all_that_reads_a_fixed_input_is_spared(shape: dict):
    config = toy(norm_placement="parallel", **shape)
    assert counted(config) == by_formula(config)


def test_a_first_layer_without_a_norm_reads_what_needs_no_gradient():
    config = toy(n_layers=2, first_norm=False)
    assert counted(config) == by_formula(config) != by_formula(config.replace(first_norm=True))


@pytest.mark.parametrize("shape", [{}, {"n_kv_heads": 1, "activation": "swiglu"}])
def test_a_prompt_and_a_token_after_it(shape: dict):
    config = toy(architecture="gpt", n_layers=2, vocab_size=VOCABULARY, **shape)
    model, cache = build(config), KVCache(config)
    with torch.no_grad(), listening(Recorder({"pattern"}, {})):
        model(ids(1, N - 1), cache=cache)
        with FlopCounterMode(display=False) as counter:
            model(ids(1, 1), cache=cache)
    assert counter.get_total_flops() == total_flops(operations(config, PassKind.DECODE, n=N))
    read = total_flops(operations(config, PassKind.PREFILL, n=N))
    whole = total_flops(operations(config, PassKind.FORWARD, n=N))
    assert whole - read == 2 * (N - 1) * config.d_model * VOCABULARY


def test_of_an_encoder_decoder_reading_and_writing_are_told_apart():
    config = toy(architecture="encoder-decoder", vocab_size=VOCABULARY)
    kinds = {kind: operations(config, kind, n=N) for kind in pass_kinds(config)}
    assert {each.name.partition(".")[0] for each in kinds[PassKind.PREFILL]} == {"encoder"}
    writing = {each.name.partition(".")[0] for each in kinds[PassKind.DECODE]}
    assert writing == {"decoder", "unembed"}


def test_only_who_writes_has_a_prompt():
    both = {PassKind.TRAINING, PassKind.FORWARD}
    assert {*pass_kinds(toy(architecture="encoder"))} == both
    assert {*pass_kinds(toy())} == both
    assert {*pass_kinds(toy(architecture="gpt"))} == {*PassKind}


def test_what_is_not_kept_is_computed_again():
    config = toy(architecture="gpt", n_layers=2, vocab_size=VOCABULARY)
    plain = {each.name: each for each in operations(config, PassKind.TRAINING, n=N)}
    fused = operations(config, PassKind.TRAINING, n=N, fused=True)
    assert {each.name for each in fused if each.recomputed} == {"scores"}
    learned = toy(architecture="encoder-decoder", relative_bias=True, vocab_size=VOCABULARY)
    own = operations(learned, PassKind.TRAINING, n=N, fused=True)
    assert {each.name for each in own if each.recomputed} == {"decoder.cross_scores"}
    again = operations(config, PassKind.TRAINING, n=N, checkpointing=True)
    for each in again:
        expected = 0 if each.name == "unembed" else plain[each.name].forward
        assert each.recomputed == expected
    assert not any(
        each.recomputed for each in operations(config, PassKind.FORWARD, n=N, fused=True)
    )


def test_a_batch_is_so_many_texts():
    config = toy(architecture="gpt", n_layers=2, vocab_size=VOCABULARY)
    one, many = (operations(config, PassKind.TRAINING, n=N, batch=b) for b in (1, 7))
    assert total_flops(many) == 7 * total_flops(one)
    assert many[0].formula.startswith("batch · ")


def test_a_model_of_a_trillion_takes_no_more_steps_than_one_layer_and_nothing_allocated():
    sizes = {"n_layers": 128, "d_model": 25_600, "n_heads": 160, "vocab_size": 100_000}
    config = ModelConfig.from_flat({"architecture": "gpt", **sizes})
    one_layer = config.replace(n_layers=1)
    least = steps(lambda: operations(one_layer, PassKind.TRAINING, n=8192))
    assert steps(lambda: operations(config, PassKind.TRAINING, n=8192)) < 1.1 * least
    with TensorMemory() as memory:
        total = total_flops(operations(config, PassKind.TRAINING, n=8192))
    assert memory.peak_bytes == 0
    assert 6e12 * 8192 < total < 7e12 * 8192
