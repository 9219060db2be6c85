"""The memory layout of weights for fast decoding; values are unchanged."""

from typing import TypeVar

import torch
from torch import nn

M = TypeVar("M", bound=nn.Module)


def pack_weights_for_decoding(model: M) -> M:
    """Store each float32 weight as (in, out), in place; only for a model that is not shared yet.

    With one token at a time a linear layer is a matrix times a vector, and the processor's
    float32 kernel for that is faster along the other side of the matrix; bfloat16's is not. With
    many tokens at a time neither is slower. No memory is allocated.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding) and _is_read_faster(module.weight):
            module.weight.data = module.weight.data.T.contiguous().T
    return model


def _is_read_faster(weight: torch.Tensor) -> bool:
    return weight.dtype is torch.float32 and weight.device.type == "cpu"
