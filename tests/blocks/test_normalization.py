"""Norms against torch's own."""

import pytest
import torch
from torch import Tensor, nn
from toy import D_MODEL, assert_near, draw, scramble, toy, toy_input

from blocks.model.dropout import training_mode
from blocks.model.kinds import NormKind
from blocks.model.normalization import BatchNorm, LayerNorm, RMSNorm, build_norm
from blocks.model.probe import Probe

EPS = 1e-3
TORCH_NORMS = {LayerNorm: nn.LayerNorm, RMSNorm: nn.RMSNorm, BatchNorm: nn.BatchNorm1d}


def norm_and_torchs(kind: type[nn.Module]) -> tuple[nn.Module, nn.Module]:
    """Both with the same weights and, in batch norm, the same running statistics."""
    ours, theirs = kind(D_MODEL, EPS, Probe("out")), TORCH_NORMS[kind](D_MODEL, eps=EPS)
    if kind is BatchNorm:
        ours.running_mean.copy_(draw(D_MODEL))
        ours.running_var.copy_(draw(D_MODEL).square() + EPS)
    theirs.load_state_dict(scramble(ours).state_dict(), strict=False)
    return ours, theirs


def features_last(norm: nn.Module, x: Tensor) -> Tensor:
    """torch's batch norm wants (batch, d_model, seq)."""
    return norm(x.mT).mT if isinstance(norm, nn.BatchNorm1d) else norm(x)


@pytest.mark.parametrize("kind", TORCH_NORMS)
def test_norm_is_the_one_of_torch(kind: type[nn.Module]):
    ours, theirs = norm_and_torchs(kind)
    x = 3 * toy_input() + 1
    assert_near(ours(x), features_last(theirs.eval(), x))


@pytest.mark.parametrize("kind", TORCH_NORMS)
def test_norm_in_training_is_the_one_of_torch(kind: type[nn.Module]):
    ours, theirs = norm_and_torchs(kind)
    x = 3 * toy_input() + 1
    with training_mode(torch.Generator()):
        assert_near(ours(x), features_last(theirs.train(), x))


@pytest.mark.parametrize("kind", TORCH_NORMS)
def test_norm_in_float64_is_as_exact_as_torchs(kind: type[nn.Module]):
    ours, theirs = (norm.double() for norm in norm_and_torchs(kind))
    x = 3 * toy_input().double() + 1
    with training_mode(torch.Generator()):
        assert_near(ours(x), features_last(theirs.train(), x), tolerance=1e-12)


@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
def test_norm_of_a_half_is_computed_in_float32(kind: type[nn.Module]):
    ours, theirs = (norm.to(torch.float16) for norm in norm_and_torchs(kind))
    x = (300 * toy_input()).to(torch.float16)  # its squares overflow float16
    assert_near(ours(x), theirs(x), tolerance=5e-3)


def test_batch_norm_of_a_training_pass_moves_no_running_statistics():
    ours, _ = norm_and_torchs(BatchNorm)
    before = {name: buffer.clone() for name, buffer in ours.named_buffers()}
    with training_mode(torch.Generator()):
        ours(toy_input())
    assert all(torch.equal(buffer, before[name]) for name, buffer in ours.named_buffers())


def test_rms_norm_ignores_scale_and_layer_norm_ignores_shift_too():
    x = toy_input()
    rms_norm, layer_norm = (norm_and_torchs(kind)[0] for kind in (RMSNorm, LayerNorm))
    rms_norm.eps = layer_norm.eps = 0
    assert_near(rms_norm(x), rms_norm(7 * x))
    assert_near(layer_norm(x), layer_norm(7 * x + 3))


@pytest.mark.parametrize("kind", NormKind)
def test_every_kind_is_built(kind: NormKind):
    norm = build_norm(toy(norm_kind=kind), Probe("out"))
    assert type(norm).__name__.lower() == kind or (kind is NormKind.NONE)
    assert isinstance(norm, nn.Identity) is (kind is NormKind.NONE)


def test_a_training_of_its_own_moves_the_running_statistics_as_torch_does():
    ours, theirs = norm_and_torchs(BatchNorm)
    for seed in range(3):
        x = 3 * toy_input(seed) + 1
        features_last(theirs.train(), x)
        with training_mode(torch.Generator(), updates_statistics=True):
            ours(x)
    assert_near(ours.running_mean, theirs.running_mean)
    assert_near(ours.running_var, theirs.running_var)


@pytest.mark.parametrize("kind", TORCH_NORMS)
def test_without_weights_a_norm_only_normalises(kind: type[nn.Module]):
    norm, x = kind(D_MODEL, EPS, Probe("out"), affine=False), toy_input()
    assert not list(norm.parameters())
    with training_mode(torch.Generator()):
        assert_near(norm(2 * x).square().mean(), torch.tensor(1.0), tolerance=1e-2)
