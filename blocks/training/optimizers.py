"""Which optimizer steps which parameter, and with which rate."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from blocks.model import devices
from blocks.training.muon import Muon
from blocks.training.recipe import OptimizerKind, Recipe
from blocks.training.uncompiled import SGD, AdamW

FUSED_DEVICES = ("cpu", "cuda", "mps", "xpu")
Named = dict[str, nn.Parameter]


def build_optimizers(model: nn.Module, recipe: Recipe, *beside: nn.Module) -> tuple[Optimizer, ...]:
    """One optimizer, or with Muon two: Muon for the matrices of the layers, AdamW for the rest.

    What learns `beside` the model has other names than its parameters.

    Only matrices that multiply (weights of `nn.Linear`) decay. A table of embeddings does not: its
    rows are looked up one by one, and decay would shrink the rows of tokens that a batch lacks.
    Biases and norms do not either (Loshchilov and Hutter 2017; the habit of GPT-2 and nanoGPT).
    """
    learned = (each for module in (model, *beside) for each in module.named_parameters())
    parameters, share = dict(learned), matrix_rate_share(model, recipe)
    matrices = {path: parameters[path] for path in matrix_paths(model) if path in parameters}
    match recipe.optimizer:
        case OptimizerKind.SGD:
            return (_sgd(_groups(parameters, matrices, recipe, share), recipe),)
        case OptimizerKind.ADAMW:
            return (_adamw(_groups(parameters, matrices, recipe, share), recipe),)
        case OptimizerKind.MUON:
            inner = {path: matrix for path, matrix in matrices.items() if _is_inner(path)}
            outer = {path: each for path, each in parameters.items() if path not in inner}
            return _muon(inner, recipe), _adamw(_groups(outer, matrices, recipe, share), recipe)


def matrix_rate_share(model: nn.Module, recipe: Recipe) -> float:
    """The rate of matrices over that of all else under AdamW: 1, or as `base_width` asks.

    A step of Adam moves each weight by about its rate, and a product sums over d_model of them.
    """
    config: Any = model.config
    return float(recipe.base_width / config.d_model) if recipe.base_width else 1.0


def set_rate_factor(optimizers: Iterable[Optimizer], factor: float) -> None:
    """Give every group its peak rate times `factor`; a rate on the device stays where it is."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            rate = factor * group["initial_lr"]
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate


def count_states(recipe: Recipe) -> int:
    """Numbers of its own that the optimizer keeps for each weight, at most."""
    if recipe.optimizer is OptimizerKind.SGD:
        return 1 if recipe.momentum else 0
    return 2


def weight_dtype(recipe: Recipe, device: str) -> torch.dtype:
    """The recipe's number format where the device computes in it, else float32."""
    can = recipe.dtype in devices.available_dtypes(device)
    return devices.DTYPES[recipe.dtype] if can else torch.float32


def matrix_paths(model: nn.Module) -> list[str]:
    """The weights of linear layers, in the order in which they are built."""
    modules = model.named_modules()
    return [f"{path}.weight" for path, module in modules if isinstance(module, nn.Linear)]


def _is_inner(path: str) -> bool:
    return path.startswith(("layers.", "encoder.layers.", "decoder.layers.", "mtp."))


def _groups(
    parameters: Named, matrices: Named, recipe: Recipe, share: float
) -> list[dict[str, object]]:
    decayed = [each for path, each in parameters.items() if path in matrices]
    others = [each for path, each in parameters.items() if path not in matrices]
    groups = ((decayed, recipe.weight_decay, share), (others, 0.0, 1.0))
    return [
        {
            "params": params,
            "weight_decay": decay,
            "initial_lr": recipe.learning_rate * share,
            "lr": _rate(recipe.learning_rate * share, params[0].device),  # on CUDA one of its own
        }
        for params, decay, share in groups
        if params
    ]


def _adamw(groups: Sequence[dict[str, object]], recipe: Recipe) -> Optimizer:
    return AdamW(
        groups,
        lr=_rate(recipe.learning_rate, _device_of(groups)),
        betas=(recipe.beta1, recipe.beta2),
        fused=_is_fused(groups),
        capturable=_device_of(groups).type == "cuda",
    )


def _sgd(groups: Sequence[dict[str, object]], recipe: Recipe) -> Optimizer:
    rate, momentum = _rate(recipe.learning_rate, _device_of(groups)), recipe.momentum
    return SGD(groups, lr=rate, momentum=momentum, fused=_is_fused(groups))


def _muon(matrices: Named, recipe: Recipe) -> Optimizer:
    """Momentum, made orthogonal by five Newton–Schulz steps (Jordan 2024)."""
    group = {"params": list(matrices.values()), "initial_lr": recipe.muon_learning_rate}
    return Muon(
        [group],
        lr=_rate(recipe.muon_learning_rate, _device_of([group])),
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
        dtype=weight_dtype(recipe, str(_device_of([group]))),
    )


def _is_fused(groups: Sequence[dict[str, object]]) -> bool:
    """One kernel for all parameters, where torch has one for the device."""
    return _device_of(groups).type in FUSED_DEVICES


def _rate(rate: float, device: torch.device) -> float | Tensor:
    """Where a step may be a graph the rate is a number of the device, which the graph reads."""
    return torch.tensor(rate, device=device) if device.type == "cuda" else rate


def _device_of(groups: Sequence[dict[str, object]]) -> torch.device:
    params: list[nn.Parameter] = groups[0]["params"]  # type: ignore[assignment]
    return params[0].device
