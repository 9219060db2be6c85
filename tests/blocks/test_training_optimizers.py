"""Who steps which parameter, and torch's own arithmetic behind it."""

import sys

import pytest
import torch
from torch import Tensor, nn
from toy import draw
from training_toy import toy_config, toy_spec

from blocks import build
from blocks.training.muon import Muon, orthogonal
from blocks.training.optimizer_state import read_optimizers
from blocks.training.optimizers import (
    build_optimizers,
    count_states,
    matrix_paths,
    set_rate_factor,
    weight_dtype,
)
from blocks.training.recipe import OptimizerKind, Recipe

RATE, MUON_RATE = 0.01, 0.02


def model_of(**changes: object) -> nn.Module:
    return build(toy_config(tie_embeddings=False, position_kind="learned", **changes))


def with_gradients(model: nn.Module) -> dict[str, Tensor]:
    """Give each parameter a gradient; returns what the parameters were."""
    for seed, parameter in enumerate(model.parameters()):
        parameter.grad = draw(*parameter.shape, seed=seed).to(parameter.dtype)
    return {name: each.detach().clone() for name, each in model.named_parameters()}


def groups(model: nn.Module, recipe: Recipe) -> dict[str, tuple[str, float, float]]:
    """Optimizer, weight decay and peak rate of each parameter."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return {
        names[id(parameter)]: (type(each).__name__, group["weight_decay"], group["lr"])
        for each in build_optimizers(model, recipe)
        for group in each.param_groups
        for parameter in group["params"]
    }


@pytest.mark.parametrize("optimizer", OptimizerKind)
@pytest.mark.parametrize("tied", [True, False])
def test_each_parameter_is_stepped_by_one_optimizer(optimizer: OptimizerKind, tied: bool):
    model = build(toy_config(tie_embeddings=tied))
    optimizers = build_optimizers(model, Recipe(optimizer=optimizer))
    stepped = [
        id(parameter)
        for each in optimizers
        for group in each.param_groups
        for parameter in group["params"]
    ]
    assert sorted(stepped) == sorted(map(id, model.parameters()))


def test_only_matrices_that_multiply_decay():
    model = model_of()
    decay = {name: group[1] for name, group in groups(model, Recipe(weight_decay=0.1)).items()}
    linear = {
        f"{path}.weight" for path, each in model.named_modules() if isinstance(each, nn.Linear)
    }
    assert {name for name, value in decay.items() if value} == linear
    assert {"embed.weight", "position.weight", "final_norm.weight"} <= decay.keys() - linear
    assert "unembed.weight" in linear


def test_muon_steps_the_matrices_of_the_layers_and_adamw_the_rest():
    model = model_of()
    recipe = Recipe(optimizer=OptimizerKind.MUON, learning_rate=RATE, muon_learning_rate=MUON_RATE)
    for name, (optimizer, _, rate) in groups(model, recipe).items():
        is_inner = name.startswith("layers.") and name.endswith("proj.weight")
        assert (optimizer, rate) == (("Muon", MUON_RATE) if is_inner else ("AdamW", RATE))


@pytest.mark.parametrize(
    ("changes", "stacks"),
    [
        ({"n_mtp_modules": 1}, {"layers", "mtp"}),
        ({"architecture": "encoder"}, {"layers"}),
        ({"architecture": "encoder-decoder"}, {"encoder", "decoder"}),
    ],
)
def test_muon_steps_every_matrix_but_those_of_tokens(changes: dict[str, object], stacks: set[str]):
    model = model_of(**changes)
    found = groups(model, Recipe(optimizer=OptimizerKind.MUON))
    modules = model.named_modules()
    linear = {f"{path}.weight" for path, each in modules if isinstance(each, nn.Linear)}
    inner = {name for name, (optimizer, *_rest) in found.items() if optimizer == "Muon"}
    assert inner == {name for name in linear if "embed" not in name}
    assert {name.partition(".")[0] for name in inner} == stacks


def orthogonalized(matrix: Tensor) -> Tensor:
    """Five quintic Newton-Schulz steps (Jordan 2024), written out."""
    x = matrix / matrix.norm()
    x = x.mT if matrix.shape[0] > matrix.shape[1] else x
    for _ in range(5):
        gram = x @ x.mT
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.mT if matrix.shape[0] > matrix.shape[1] else x


SHAPES = [(16, 16), (16, 24), (16, 64), (64, 16), (24, 16), (1, 5), (5, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_matrices_become_orthogonal_together_as_each_would_alone(shape: tuple[int, int]):
    matrices = draw(3, min(shape), max(shape)).double()
    for ours, matrix in zip(orthogonal(matrices), matrices, strict=True):
        torch.testing.assert_close(ours, orthogonalized(matrix), rtol=1e-9, atol=1e-12)
        singular = torch.linalg.svdvals(ours)
        assert singular.max() < 1.3 and singular.median() > 0.6


@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 0.03), (torch.bfloat16, 0.25)])
def test_muon_steps_as_torchs_own(dtype: torch.dtype, near: float):
    """As far as bfloat16 goes: of torch's steps, or of the weights that are moved."""
    values = {"lr": MUON_RATE, "momentum": 0.8, "weight_decay": 0.1}
    pairs = [[nn.Parameter(draw(*shape).to(dtype)) for _ in "ab"] for shape in SHAPES * 2]
    ours, theirs = zip(*pairs, strict=True)
    optimizers = (Muon(ours, **values), torch.optim.Muon(theirs, **values))
    for step in range(3):
        for i, pair in enumerate(pairs):
            for parameter in pair:
                parameter.grad = draw(*parameter.shape, seed=100 * step + i).to(dtype)
        for optimizer in optimizers:
            optimizer.step()
    for mine, other in pairs:
        moved, expected = (each.detach().float() - draw(*each.shape) for each in (mine, other))
        assert torch.linalg.norm(moved - expected) <= near * torch.linalg.norm(expected)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_muon_is_its_formula_to_the_last_digit(shape: tuple[int, int]):
    """W ← (1 − lr · decay) W − lr · √max(1, out/in) · O(Nesterov mean), as torch says, in float64.

    The order matters by lr² · decay of an orthogonal matrix.
    """
    rate, momentum, decay = 0.5, 0.8, 0.25
    matrix = draw(*shape).double()
    ours, mean = nn.Parameter(matrix.clone()), torch.zeros(shape, dtype=torch.float64)
    muon = Muon([ours], lr=rate, momentum=momentum, weight_decay=decay)
    for step in range(3):
        gradient = draw(*shape, seed=step + 1).double()
        mean = momentum * mean + (1 - momentum) * gradient
        ahead = momentum * mean + (1 - momentum) * gradient
        stretched = rate * max(1, shape[0] / shape[1]) ** 0.5
        matrix = (1 - rate * decay) * matrix - stretched * orthogonalized(ahead)
        ours.grad = gradient
        muon.step()
    torch.testing.assert_close(ours.detach(), matrix, rtol=1e-9, atol=1e-12)


def test_a_matrix_without_a_gradient_stays_where_it_is():
    still, moving = (nn.Parameter(draw(4, 4)) for _ in "ab")
    moving.grad = draw(4, 4, seed=1)
    Muon([still, moving], lr=MUON_RATE).step()
    assert torch.equal(still, draw(4, 4))
    assert not torch.equal(moving, draw(4, 4))


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_the_step_is_torchs_own(optimizer: str):
    ours, theirs = model_of(), model_of()
    recipe = Recipe(learning_rate=RATE, weight_decay=0.1, beta1=0.8, beta2=0.9, momentum=0.7)
    recipe = recipe.replace(optimizer=optimizer)
    decayed = [each.weight for each in theirs.modules() if isinstance(each, nn.Linear)]
    others = [each for each in theirs.parameters() if not any(each is one for one in decayed)]
    both = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    reference = (
        torch.optim.SGD(both, lr=RATE / 2, momentum=0.7)
        if optimizer == "sgd"
        else torch.optim.AdamW(both, lr=RATE / 2, betas=(0.8, 0.9))
    )
    (built,) = build_optimizers(ours, recipe)
    set_rate_factor([built], 0.5)
    for _ in range(3):
        with_gradients(ours)
        with_gradients(theirs)
        built.step()
        reference.step()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("optimizer", OptimizerKind)
def test_no_optimizer_loads_the_compiler_of_torch(
    optimizer: OptimizerKind, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)  # whoever imports it fails
    model = model_of()
    with_gradients(model)
    for built in build_optimizers(model, Recipe(optimizer=optimizer)):
        built.step()
        built.load_state_dict(built.state_dict())
        built.zero_grad()


def test_a_rate_factor_is_of_the_peak_however_often_it_is_set():
    recipe = Recipe(optimizer=OptimizerKind.MUON, learning_rate=RATE)
    optimizers = build_optimizers(model_of(), recipe)
    for factor in (0.1, 0.0, 0.5):
        set_rate_factor(optimizers, factor)
    rates = {group["lr"] for each in optimizers for group in each.param_groups}
    assert rates == {0.5 * RATE, 0.5 * recipe.muon_learning_rate}


@pytest.mark.parametrize("optimizer", OptimizerKind)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_optimizers_keep_no_more_than_is_counted(optimizer: OptimizerKind, momentum: float):
    model = model_of()
    recipe = Recipe(optimizer=optimizer, momentum=momentum)
    optimizers = build_optimizers(model, recipe)
    with_gradients(model)
    for each in optimizers:
        each.step()
    kept = read_optimizers(model, optimizers)
    n_kept = sum(tensor.numel() for name, tensor in kept.items() if not name.endswith(".step"))
    assert n_kept <= count_states(recipe) * sum(each.numel() for each in model.parameters())


def test_bfloat16_where_the_device_can():
    recipe = toy_spec(dtype="bfloat16").recipe
    assert weight_dtype(recipe, "cpu") is torch.bfloat16
    assert weight_dtype(Recipe(), "cpu") is torch.float32


def test_with_a_base_width_matrices_learn_as_in_a_model_so_wide():
    model = model_of()
    recipe = Recipe(learning_rate=RATE, base_width=4 * model.config.d_model)
    linear = set(matrix_paths(model))
    for name, (_optimizer, _decay, rate) in groups(model, recipe).items():
        assert rate == pytest.approx(4 * RATE if name in linear else RATE)
