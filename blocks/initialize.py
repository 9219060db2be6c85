"""How weights are drawn before any training, each from its own generator."""

import math

import torch
from torch import Tensor, nn

from blocks.kinds import Initialization
from blocks.randomness import generator

GPT2_STD = 0.02
RESIDUAL_WRITES = ("out_proj.weight", "down_proj.weight")


def initialize(model: nn.Module, scheme: Initialization, seed: int, n_layers: int) -> None:
    """Fill every parameter and buffer of a model whose memory holds nothing yet."""
    for module_name, module in model.named_modules():
        for name, buffer in module.named_buffers(recurse=False):
            buffer.fill_(1.0 if name == "running_var" else 0.0)
        for name, parameter in module.named_parameters(recurse=False):
            path = f"{module_name}.{name}"
            values = _draw(parameter, module, path, scheme, generator(seed, path), n_layers)
            with torch.no_grad():
                parameter.copy_(values)


def _draw(
    parameter: Tensor,
    module: nn.Module,
    path: str,
    scheme: Initialization,
    random: torch.Generator,
    n_layers: int,
) -> Tensor:
    values = torch.empty(parameter.shape)
    if isinstance(module, nn.Linear):
        return _draw_linear(values, module.in_features, path, scheme, random, n_layers)
    if parameter.dim() == 2:  # an embedding table: of positions
        return values.normal_(0, GPT2_STD, generator=random)
    return values.fill_(1.0 if path.endswith("weight") else 0.0)  # norms


def _draw_linear(
    values: Tensor,
    fan_in: int,
    path: str,
    scheme: Initialization,
    random: torch.Generator,
    n_layers: int,
) -> Tensor:
    """PyTorch: U(±1/√fan_in). Xavier: U(±√(6/(fan_in+fan_out))). Normal: N(0, 0.02²), as GPT-2.

    GPT-2 divides what writes to the residual stream by √(2·n_layers), the number of writes.
    """
    is_bias = path.endswith("bias")
    match scheme:
        case Initialization.PYTORCH:
            bound = 1 / math.sqrt(fan_in)
            return values.uniform_(-bound, bound, generator=random)
        case _ if is_bias:
            return values.zero_()
        case Initialization.XAVIER_UNIFORM:
            return nn.init.xavier_uniform_(values, generator=random)
        case Initialization.NORMAL:
            writes = 2 * n_layers if path.endswith(RESIDUAL_WRITES) else 1
            return values.normal_(0, GPT2_STD / math.sqrt(writes), generator=random)
