"""FLOPs by formula against those that torch counts in eager matrix products."""

from contextlib import contextmanager
from functools import partial

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from toy import toy

from blocks import PRESETS, build
from blocks.cost.flops import (
    Pass,
    count_decoder_flops,
    count_encoder_flops,
    count_flops,
    task_flops,
)
from blocks.cost.passes import PassKind, operations, total_flops
from blocks.model.kv_cache import KVCache
from blocks.model.probe import listening
from blocks.observe.recording import Recorder

SOURCE, TARGET = 5, 4
SHAPES = [
    {},
    {"n_kv_heads": 1},
    {"activation": "swiglu", "attention_bias": False, "feed_forward_bias": False},
    {"attention_only": True},
    {"norm_placement": "post", "tie_embeddings": False},
    {"n_experts": 3, "n_active_experts": 2},
    {"d_kv_latent": 6, "d_q_latent": 5, "d_value": 3, "position_kind": "rope"},
    {
        "n_experts": 3,
        "n_shared_experts": 2,
        "shared_expert_gate": True,
        "d_expert": 6,
        "n_dense_layers": 1,
    },
    {"prediction_head": True, "unembed_bias": True},
]
ids = partial(torch.zeros, dtype=torch.long)


@contextmanager
def eager():
    """Attention in steps: what is fused, torch does not count on a CPU."""
    with torch.no_grad(), listening(Recorder({"pattern", "cross_pattern"}, {})):
        yield


def counted(work) -> int:
    with eager(), FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def total(table) -> int:
    return int(table["flops"].sum())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("architecture", ["encoder", "gpt"])
def test_a_model_of_one_text(architecture: str, shape: dict):
    config = toy(architecture=architecture, n_layers=2, vocab_size=11, **shape)
    model = build(config)
    by_formula = total(count_flops(config, Pass(SOURCE, SOURCE, SOURCE)))
    assert counted(lambda: model(ids(1, SOURCE))) == by_formula


@pytest.mark.parametrize("shape", SHAPES)
def test_a_token_after_a_cache(shape: dict):
    config = toy(architecture="gpt", n_layers=2, vocab_size=11, **shape)
    model, cache = build(config), KVCache(config)
    with eager():
        model(ids(1, SOURCE), cache=cache)
    by_formula = total(count_flops(config, Pass(1, SOURCE + 1, 1)))
    assert counted(lambda: model(ids(1, 1), cache=cache)) == by_formula


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if "d_kv_latent" not in shape])
@pytest.mark.thinned
def test_both_halves_of_an_encoder_decoder(shape: dict):
    sizes = {"n_layers": 2, "n_decoder_layers": 3, "vocab_size": 11, **shape}
    config = toy(architecture="encoder-decoder", **sizes)
    model, cache, memory = build(config), KVCache(config), []
    read = counted(lambda: memory.append(model.encode(ids(1, SOURCE))))
    steps = [
        counted(lambda: model.decode(ids(1, 1), memory[0], cache=cache)) for _ in range(TARGET)
    ]
    cross = count_encoder_flops(config, SOURCE)
    is_cross = cross["group"] == "cross_attention"
    assert read == total(cross[~is_cross])
    assert steps[0] == total(count_decoder_flops(config, Pass(1, 1, 1), SOURCE)) + total(
        cross[is_cross]
    )
    assert (read + sum(steps)) == sum(
        [task_flops(config, SOURCE, TARGET)[0], *task_flops(config, SOURCE, TARGET)[1]]
    )


def test_a_prompt_is_read_and_gives_the_first_token():
    config = toy(architecture="gpt", n_layers=2, vocab_size=11)
    read, steps = task_flops(config, SOURCE, TARGET)
    assert len(steps) == TARGET
    assert read + steps[0] == total(count_flops(config, Pass(SOURCE, SOURCE, 1)))
    assert steps[1] == total(count_flops(config, Pass(1, SOURCE + 1, 1)))


def test_the_rule_of_two_flops_a_parameter():
    config = toy(architecture="gpt", n_layers=4, vocab_size=11, attention_bias=False)
    table = count_flops(config, Pass(1, 1, 1))
    products = table[~table["part"].isin(["scores", "values"])]
    weights = 4 * 16 * 16 + 2 * 16 * 32
    assert total(products) == 2 * (4 * weights + 16 * 11)


def pairs(table) -> int:
    return total(table[table["part"].isin(["scores", "values"])])


@pytest.mark.parametrize(("architecture", "met"), [("gpt", 3), ("encoder", 5), ("block", 5)])
def test_each_token_of_a_local_layer_meets_its_window_alone(architecture: str, met: int):
    """Two local layers and a global one: 2 products of 2·n·keys·d_model each."""
    local = {"local_window": 3, "global_every": 3, "n_layers": 3}
    config = toy(architecture=architecture, vocab_size=11, **local)
    n = 9
    assert pairs(count_flops(config, Pass(n, n))) == 2 * 2 * n * config.d_model * (2 * met + n)
    short = 2
    assert pairs(count_flops(config, Pass(short, short))) == 2 * 2 * short * 16 * 3 * short


@pytest.mark.parametrize("architecture", ["encoder", "gpt"])
def test_what_runs_computes_masked_pairs_too(architecture: str):
    config = toy(architecture=architecture, vocab_size=11, local_window=2)
    model, tokens = build(config), Pass(SOURCE, SOURCE, SOURCE)
    masked = Pass(SOURCE, SOURCE, SOURCE, computes_masked=True)
    run = counted(lambda: model(ids(1, SOURCE)))
    assert run == total(count_flops(config, masked)) > total(count_flops(config, tokens))


def test_a_prompt_of_gemma_by_hand():
    """22 layers of 26 see 512 tokens, 4 all of them; 4 heads of 256 have a score for each."""
    config, n = PRESETS["gemma-3-1b"], 32_768
    matrices = 26 * (2 * 1152 * 1024 + 2 * 1152 * 256 + 3 * 1152 * 6912)
    per_token = 2 * matrices + 4 * 4 * 256 * (22 * 512 + 4 * n)
    read = total_flops(operations(config, PassKind.PREFILL, n=n))
    assert read == n * per_token + 2 * 1152 * 262_144
    assert read / n == pytest.approx(2.0e9, rel=0.05)
    masked = operations(config, PassKind.PREFILL, n=n, computes_masked=True)
    assert total_flops(masked) == read + 4 * 4 * 256 * 22 * (n - 512) * n
