"""Three norms side by side: what each brings to one scale, and what its output depends on."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import D_MODEL, assert_near, draw

from blocks import ModelConfig
from blocks.inspection.norm_compared import (
    EVALUATION,
    INPUT,
    TRAINING,
    UPDATES,
    Surroundings,
    dependence,
    norm_facts,
    norm_input,
    norm_stages,
    normalised,
    outputs,
    per_feature,
    per_token,
    plain_norm,
    running,
    surroundings,
)
from blocks.model.kinds import NormKind
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, PaddingSide, Run

EPS = 1e-5


def around(n_tokens: int = 5, seed: int = 0) -> Surroundings:
    x, others = 3 * draw(1, n_tokens, D_MODEL, seed=seed) + 1, draw(2, n_tokens, D_MODEL, seed=7)
    return Surroundings(x, others, draw(1, 3, D_MODEL, seed=8), (True, True))


def test_each_norm_brings_its_own_axis_to_one_scale():
    seen = outputs(3 * draw(2, 6, D_MODEL) + 1, EPS)
    tokens, features = per_token(seen).set_index("norm"), per_feature(seen).set_index("norm")
    layernorm, rmsnorm = str(NormKind.LAYER_NORM), str(NormKind.RMS_NORM)
    assert tokens.loc[layernorm, "mean"].abs().max() < 1e-5  # of a std of 1
    assert tokens.loc[layernorm, "std"].sub(1).abs().max() < 1e-4
    assert tokens.loc[rmsnorm, "rms"].sub(1).abs().max() < 1e-4
    assert tokens.loc[rmsnorm, "mean"].abs().max() > 0.01
    assert features.loc[TRAINING, "mean"].abs().max() < 1e-5
    assert features.loc[TRAINING, "std"].sub(1).abs().max() < 1e-4
    assert_near(seen[EVALUATION], seen[INPUT] / (1 + EPS) ** 0.5)


@pytest.mark.parametrize("kind", [NormKind.LAYER_NORM, NormKind.RMS_NORM, NormKind.BATCH_NORM])
def test_they_agree_with_torch(kind: NormKind):
    x = 3 * draw(2, 6, D_MODEL) + 1
    ours = normalised(plain_norm(kind, D_MODEL, EPS, x.device), x, training=True)
    theirs = {
        NormKind.LAYER_NORM: torch.nn.LayerNorm(D_MODEL, EPS, elementwise_affine=False),
        NormKind.RMS_NORM: torch.nn.RMSNorm(D_MODEL, EPS, elementwise_affine=False),
        NormKind.BATCH_NORM: torch.nn.BatchNorm1d(D_MODEL, EPS, affine=False),
    }[kind]
    expected = theirs(x.flatten(0, 1)).unflatten(0, (2, 6))
    assert_near(ours, expected)


@settings(max_examples=20)
@given(st.integers(1, 9), st.integers(0, 99))
def test_layernorm_and_rmsnorm_do_not_see_what_is_around_a_token(n_tokens: int, seed: int):
    found = dependence(around(n_tokens, seed), EPS).set_index("norm")
    assert (found.loc[["layernorm", "rmsnorm"]] == 0).all(axis=None)
    assert (found.loc[TRAINING] > 0).all()
    assert (found.loc[EVALUATION, ["batch", "padding"]] == 0).all()


def test_running_statistics_come_near_those_of_the_batch_but_for_the_sample():
    x = 3 * draw(1, 6, D_MODEL) + 1
    found = running(x, EPS)
    assert tuple(found["updates"]) == UPDATES
    assert found["change"].is_monotonic_decreasing
    in_training = normalised(
        plain_norm(NormKind.BATCH_NORM, D_MODEL, EPS, x.device), x, training=True
    )
    sample = float(in_training.abs().max()) * (1 - (5 / 6) ** 0.5)
    assert found["change"].iloc[-1] == pytest.approx(sample, rel=0.02)


def test_a_sequence_alone_gets_company_from_the_same_model():
    config = ModelConfig.from_flat({"d_model": D_MODEL, "n_heads": 4, "position_kind": "none"})
    run = Run(config=config, input=Input(tokens=("a", "b", "c", "d")), mask=MaskConfig())
    path = "layers.0.resid_pre"
    seen = run.record(run.build()).tensor("resid_pre")
    found = surroundings(run, run.build(), seen, path)
    assert found.is_own == (False, False)
    assert torch.equal(found.x, seen)
    assert torch.equal(found.others, seen[:, [2, 3, 2, 3]])
    assert found.padding.shape == (1, 4, D_MODEL)
    assert torch.equal(found.padding[0, 0], found.padding[0, 3])


def test_a_batch_with_padding_is_its_own_company():
    config = ModelConfig.from_flat({"d_model": D_MODEL, "n_heads": 4})
    given = Input(batch=3, seq_len=5, n_padding=2, padding_side=PaddingSide.LEFT)
    run = Run(config=config, input=given, mask=MaskConfig())
    seen = run.record(run.build()).tensor("resid_pre")
    found = surroundings(run, run.build(), seen, "layers.0.resid_pre")
    assert found.is_own == (True, True)
    assert torch.equal(found.x, seen[:1, 2:]) and torch.equal(found.others, seen[1:, 2:])
    assert torch.equal(found.padding, seen[:1, :2])


def test_the_facts_of_a_run_are_the_measures_of_what_its_norm_reads():
    config = ModelConfig(d_model=D_MODEL, n_heads=2)
    run = Run(config=config, input=Input(seq_len=5, batch=2), mask=MaskConfig())
    model = run.build()
    seen = run.record(model)
    assert norm_stages(run, 0) == ("resid_pre", "resid_mid")
    facts = norm_facts(run, model, seen, 0, "resid_mid")
    layernorm = outputs(seen.tensor("resid_mid", 0), config.norm.norm_eps)[NormKind.LAYER_NORM][0]
    stds = layernorm.std(dim=-1, correction=0)
    assert facts.token_stds("layernorm") == pytest.approx(
        (stds.min().item(), stds.max().item()), rel=1e-5
    )
    assert facts.largest_mean(INPUT) > 100 * facts.largest_mean("layernorm")
    assert facts.feature_stds(TRAINING) == pytest.approx((1, 1), rel=1e-3)
    assert facts.change_per_token < 1e-3 < facts.change_in_batch["batch"]
    assert (facts.has_others, facts.has_padding) == (True, False)
    assert norm_input(run).n_tokens == 10 and norm_input(run).n_padding == 0
