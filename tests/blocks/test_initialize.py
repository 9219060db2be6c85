"""What is drawn before training: its distribution, and what it depends on."""

import pytest
import torch
from torch import Tensor
from toy import toy

from blocks import build
from blocks.model.kinds import Initialization, NormPlacement

WIDE = {"d_model": 128, "n_heads": 4, "d_ff": 256}
GPT2_STD = 0.02
STANDARD_ERRORS = 5
MATRICES = [
    "attention.q_proj",
    "attention.out_proj",
    "feed_forward.up_proj",
    "feed_forward.down_proj",
]


def linear(scheme: str, path: str):
    return build(toy(initialization=scheme, **WIDE)).layers[0].get_submodule(path)


def assert_std(values: Tensor, std: float) -> None:
    """Within 5 standard errors, of mean and of standard deviation."""
    error = STANDARD_ERRORS * std / values.numel() ** 0.5
    assert values.mean().item() == pytest.approx(0, abs=error)
    assert values.std().item() == pytest.approx(std, abs=error)


def assert_uniform(values: Tensor, bound: float) -> None:
    assert values.abs().max().item() <= bound
    assert values.abs().max().item() == pytest.approx(bound, rel=0.05)
    assert_std(values, bound / 3**0.5)


@pytest.mark.parametrize("path", MATRICES)
def test_pytorch_is_uniform_within_one_over_the_root_of_fan_in(path: str):
    module = linear("pytorch", path)
    bound = module.in_features**-0.5
    assert_uniform(module.weight, bound)
    assert_uniform(module.bias, bound)


@pytest.mark.parametrize("path", MATRICES)
def test_xavier_is_uniform_within_the_root_of_six_over_both_fans(path: str):
    module = linear("xavier_uniform", path)
    assert_uniform(module.weight, (6 / (module.in_features + module.out_features)) ** 0.5)
    assert module.bias.eq(0).all()


@pytest.mark.parametrize("path", MATRICES)
def test_normal_is_that_of_gpt2(path: str):
    module = linear("normal", path)
    n_writes = 2 if path.endswith(("out_proj", "down_proj")) else 1  # two in one layer
    assert_std(module.weight, GPT2_STD / n_writes**0.5)
    assert module.bias.eq(0).all()


@pytest.mark.parametrize("scheme", Initialization)
def test_norms_begin_as_the_identity_and_positions_small(scheme: str):
    changes = {"norm_kind": "batchnorm", "position_kind": "learned", "max_seq_len": 64}
    model = build(toy(initialization=scheme, **WIDE, **changes))
    norm = model.layers[0].attention_residual.norm
    assert norm.weight.eq(1).all() and norm.running_var.eq(1).all()
    assert norm.bias.eq(0).all() and norm.running_mean.eq(0).all()
    assert_std(model.position.weight, GPT2_STD)


def weights(*, seed: int = 0, **changes) -> dict[str, Tensor]:
    return build(toy(**changes), seed=seed).state_dict()


def assert_same_weights(one: dict[str, Tensor], other: dict[str, Tensor], part: str) -> None:
    names = [name for name in one if part in name]
    assert names
    assert all(torch.equal(one[name], other[name]) for name in names)


@pytest.mark.parametrize("scheme", Initialization)
def test_a_seed_means_the_same_weights(scheme: str):
    one, same, other = (weights(seed=seed, initialization=scheme) for seed in (7, 7, 8))
    assert_same_weights(one, same, "")
    assert not torch.equal(
        one["layers.0.attention.q_proj.weight"], other["layers.0.attention.q_proj.weight"]
    )


def test_no_two_matrices_are_alike():
    layer = build(toy(d_ff=16)).layers[0]
    drawn = [p.flatten().tolist() for p in layer.parameters() if p.dim() == 2]
    assert len({tuple(values) for values in drawn}) == len(drawn)


@pytest.mark.parametrize("scheme", Initialization)
def test_another_d_ff_leaves_the_weights_of_attention(scheme: str):
    one, other = (weights(d_ff=d_ff, initialization=scheme) for d_ff in (32, 48))
    assert_same_weights(one, other, "attention")


@pytest.mark.parametrize("placement", NormPlacement)
def test_another_placement_leaves_the_weights_of_both_sublayers(placement: str):
    one, other = weights(norm_placement=placement), weights(norm_placement="pre")
    assert_same_weights(one, other, ".attention.")
    assert_same_weights(one, other, ".feed_forward.")


def test_every_number_format_holds_the_same_weights_rounded():
    for name, values in build(toy(), dtype=torch.bfloat16).state_dict().items():
        assert torch.equal(values, weights()[name].to(torch.bfloat16))
