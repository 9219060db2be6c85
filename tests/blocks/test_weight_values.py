"""How weights are spread, by kind: against torch on all values at once, and next to no memory."""

import numpy as np
import pytest
import torch
from toy import scramble, toy

from blocks import ModelConfig, build
from blocks.cost.breakdown import count_kinds
from blocks.cost.peak_memory import TensorMemory
from blocks.inspection import weight_values as measures
from blocks.inspection.weight_values import (
    N_BINS,
    REACH,
    kind_of_parameter,
    values_by_kind,
    weight_values,
)
from blocks.model.models import parameter_names

RICH = {
    "architecture": "encoder-decoder",
    "n_layers": 2,
    "vocab_size": 19,
    "qk_norm": True,
    "qk_norm_scale": True,
    "position_kind": "learned",
    "relative_bias": True,
    "embedding_norm": True,
    "n_experts": 3,
    "tie_embeddings": False,
    "share_embeddings": False,
}
CONFIGS = [
    toy(),
    toy(**RICH),
    toy(architecture="encoder", pooler=True, n_segments=2, vocab_size=7, norm_kind="batchnorm"),
    toy(architecture="gpt", norm_placement="parallel", parallel_norms=2, vocab_size=7),
    toy(norm_kind="none", attention_only=True),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_kinds_are_those_of_the_formulas(config: ModelConfig):
    moments = weight_values(build(config)).moments
    counted = {str(kind): count for kind, count in count_kinds(config).items()}
    assert dict(zip(moments["kind"], moments["count"], strict=True)) == counted


@pytest.mark.parametrize("piece", [7, 2**22])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_moments_are_those_of_all_values_at_once(
    piece: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(measures, "PIECE", piece)
    model = scramble(build(toy(), dtype=dtype))
    found = weight_values(model)
    for row in found.moments.itertuples():
        values = torch.cat(
            [p.flatten() for n, p in model.named_parameters() if kind_of_parameter(n) == row.kind]
        ).double()
        assert row.mean == pytest.approx(values.mean().item(), rel=1e-5, abs=1e-7)
        assert row.std == pytest.approx(values.std(correction=0).item(), rel=1e-5)
        assert (row.min, row.max) == (values.min().item(), values.max().item())


def test_bins_hold_every_value_but_those_far_out():
    model = build(toy())
    with torch.no_grad():
        model.layers[0].attention.q_proj.weight[0, 0] = 1000.0
    found = weight_values(model)
    for row in found.moments.itertuples():
        bins = found.bins[found.bins["kind"] == row.kind]
        assert len(bins) == N_BINS
        assert bins["share"].sum() == pytest.approx(1 - row.outside / row.count)
        assert bins["value"].max() <= row.mean + REACH * row.std + 0.5
    outside = found.moments.set_index("kind")["outside"]
    assert outside["attention"] == 1
    others = found.moments[found.moments["kind"] != "norm"]
    assert found.n_outside == others["outside"].sum()
    assert found.share_outside == found.n_outside / others["count"].sum()
    assert found.by_width["kind"].iloc[-1] == "attention"


def test_values_that_are_all_alike_have_one_bin():
    found = weight_values(build(toy(norm_kind="rmsnorm")))
    norm = found.bins[found.bins["kind"] == "norm"]
    assert (norm["share"] > 0).sum() == 1
    assert norm["value"].to_numpy()[norm["share"].to_numpy().argmax()] == pytest.approx(1)
    assert np.isfinite(found.bins["value"]).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_little_memory_is_needed_beyond_the_weights(dtype: torch.dtype):
    config = toy(architecture="gpt", d_model=512, n_heads=8, d_ff=2048, vocab_size=20_000)
    model = build(config, dtype=dtype)
    with TensorMemory() as memory:
        weight_values(model)
    assert memory.peak_bytes < 50 * 2**20


def test_weights_that_are_no_numbers_are_shown_as_such():
    model = build(toy())
    with torch.no_grad():
        model.layers[0].attention.q_proj.weight[0, 0] = float("nan")
    found = weight_values(model)
    of_attention = found.moments.set_index("kind").loc["attention"]
    assert np.isnan(of_attention["mean"])
    assert found.bins.loc[found.bins["kind"] == "attention", "share"].sum() == 0
    assert np.isfinite(found.bins[["value", "share"]].to_numpy()).all()


@pytest.mark.parametrize("config", CONFIGS)
def test_a_file_is_spread_as_its_model(config: ModelConfig):
    model = scramble(build(config))
    names = parameter_names(config)
    found = values_by_kind((name, model.state_dict()[name]) for name in names)
    assert found.moments.equals(weight_values(model).moments)
