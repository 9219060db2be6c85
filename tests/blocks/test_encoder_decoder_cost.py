"""What an encoder–decoder costs: parameters counted by formula, memory from above."""

from math import prod
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cost_parameters import evaluate, sizes_of
from toy import toy

from blocks import ConfigError, ModelConfig, build, count_parameters, record
from blocks.cost.memory import estimate_memory
from blocks.cost.parameters import active_parameters
from blocks.cost.peak_memory import TensorMemory
from blocks.model.kinds import Activation, NormKind, PositionKind
from blocks.model.models import count_built
from blocks.model.source_target import SourceTarget
from blocks.observe.recording import probed
from blocks.observe.run import PATTERNS

CHOICES = {
    "n_layers": st.integers(1, 3),
    "n_decoder_layers": st.none() | st.integers(1, 3),
    "vocab_size": st.integers(2, 40),
    "tie_embeddings": st.booleans(),
    "share_embeddings": st.booleans(),
    "embedding_norm": st.booleans(),
    "relative_bias": st.booleans(),
    "attention_only": st.booleans(),
    "n_kv_heads": st.sampled_from([None, 1, 2]),
    "attention_bias": st.booleans(),
    "feed_forward_bias": st.booleans(),
    "activation": st.sampled_from(Activation),
    "n_experts": st.sampled_from([1, 1, 3]),
    "norm_kind": st.sampled_from(NormKind),
    "norm_placement": st.sampled_from(["pre", "post", "sandwich"]),
    "norm_affine": st.booleans(),
    "position_kind": st.sampled_from(PositionKind),
}
LOOSENESS = 8
STAGES = {
    f"{sublayer}{suffix}"
    for sublayer in ("attention", "cross_attention", "feed_forward")
    for suffix in ("_norm", "_out", "_out_norm")
} | {"embedding", "resid_pre", "resid_mid", "resid_cross", "resid_post", "final_norm"}
CONFIGS = st.fixed_dictionaries(CHOICES)


def small(**changes: Any) -> ModelConfig:
    return toy(**{"architecture": "encoder-decoder", "vocab_size": 11, **changes})


@settings(max_examples=30)
@given(CONFIGS)
def test_formulas_count_what_is_built(changes: dict[str, Any]):
    config = small(**changes)
    table = count_parameters(config)
    assert table["count"].sum() == count_built(config)
    assert table["part"].is_unique
    sizes = sizes_of(config) | {"n_decoder_layers": config.n_decoder_layers}
    for row in table.itertuples():
        assert evaluate(row.numbers) == evaluate(row.formula, sizes) == row.count


def test_groups_add_up_to_the_submodules():
    config = small(n_layers=2, n_decoder_layers=3, n_kv_heads=2, norm_placement="sandwich")
    model = build(config)

    def numel(*names: str) -> int:
        found = [p for name, p in model.named_parameters() if any(n in name for n in names)]
        return sum(prod(p.shape) for p in found)

    groups = count_parameters(config).groupby("group")["count"].sum()
    assert groups["cross_attention"] == numel(".cross_attention.")
    assert groups["attention"] == numel(".attention.")
    assert groups["feed_forward"] == numel(".feed_forward.")
    assert groups["norm"] == numel("norm.")


def test_a_token_meets_its_own_experts_alone():
    config = small(n_experts=5, n_active_experts=2, n_layers=2, n_decoder_layers=3)
    expert = build(config).decoder.layers[0].feed_forward.experts[0]
    one = sum(parameter.numel() for parameter in expert.parameters())
    total = count_parameters(config)["count"].sum()
    assert active_parameters(config) == total - (2 + 3) * (5 - 2) * one


DTYPES = [torch.float32, torch.bfloat16, torch.float64]
LENGTHS = [(5, 5), (16, 128), (128, 16), (128, 128)]
PAIRS = [  # any two of lengths, a mode and a format meet
    (lengths, (i + k) % 2 or None, dtype)
    for i, lengths in enumerate(LENGTHS)
    for k, dtype in enumerate(DTYPES)
]


@pytest.mark.parametrize(("lengths", "training_seed", "dtype"), PAIRS, ids=str)
@pytest.mark.thinned
def test_a_recording_takes_no_more_than_estimated(lengths, training_seed, dtype):
    rich = {"n_kv_heads": 1, "norm_placement": "sandwich", "activation": "swiglu"}
    odd = {"n_layers": 1, "n_decoder_layers": 4, "n_heads": 8, "relative_bias": True}
    ids = SourceTarget(*(torch.zeros(2, n, dtype=torch.long) for n in lengths))
    for changes in ({}, rich, odd, {"n_experts": 4, "n_active_experts": 2, "n_layers": 2}):
        config = small(d_ff=16, max_seq_len=128, **changes)
        model = build(config, dtype=dtype)
        weights = sum(parameter.nbytes for parameter in model.parameters())
        with TensorMemory() as memory:
            seen = record(
                model, ids, keep=probed(model, STAGES), later=PATTERNS, training_seed=training_seed
            )
            parts = {f"decoder.layers.0.{name}" for name in ("scores", "pattern")}
            assert record(model, ids, keep=parts).tensors.keys() == parts
        assert {path.rpartition(".")[2] for path in seen.stages} <= STAGES
        need = weights + memory.peak_bytes
        estimate = estimate_memory(config, batch=2, seq_len=max(lengths), dtype=dtype)
        assert need <= estimate.total, changes
        if lengths == (128, 128) and "n_experts" not in changes:
            assert estimate.total <= LOOSENESS * need, changes


def test_three_sub_layers_cannot_be_parallel():
    with pytest.raises(ConfigError, match="use “pre”"):
        small(norm_placement="parallel")
    config, (fault,) = toy().nearest(architecture="encoder-decoder", norm_placement="parallel")
    assert fault.mend == {"norm_placement": "pre"} and config.norm.norm_placement == "pre"
