"""How the weights of a model lie in memory: the same numbers, read faster."""

from typing import TypeVar

import torch
from torch import nn

M = TypeVar("M", bound=nn.Module)


def laid_out_for_reading(model: M) -> M:
    """The same model with each float32 weight stored (in, out); for one that nobody shares yet.

    With one token at a time a linear layer is a matrix times a vector, and the processor's
    float32 kernel for that is faster along the other side of the matrix; bfloat16's is not. With
    many tokens at a time neither is slower. Changed in place, so no memory is taken.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding) and _is_read_faster(module.weight):
            module.weight.data = module.weight.data.T.contiguous().T
    return model


def _is_read_faster(weight: torch.Tensor) -> bool:
    return weight.dtype is torch.float32 and weight.device.type == "cpu"
