"""A bfloat16 model that writes one token at a time, beside copies of its matrices.

A row times a matrix is bound by how fast the matrix is read, and a layout of oneDNN's own is read
faster than a tensor is. Nothing but that layout can be read so, so it is a copy.
"""

import copy
from typing import TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.model.layout import is_decoding
from blocks.model.models import Encoder, EncoderDecoder

M = TypeVar("M", bound=Encoder | EncoderDecoder)
BLOCK = 64
"""Outputs that lie side by side, at most; the last block is filled up."""


class PackedProduct:
    """`F.linear` by a weight of which a copy is packed, for a single row without gradients.

    Shapes: (..., in), (out, in), (out) to (..., out). More rows, or a weight that another one
    took the place of, are left to torch.
    """

    def __init__(self, weight: Tensor):
        self.weight = weight
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), 1)

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """The rows times the matrix, and the bias."""
        if weight is self.weight and is_decoding(x):
            return torch.ops.mkldnn._linear_pointwise(x, self.packed, bias, "none", [], "")
        return F.linear(x, weight, bias)


class PackedLinear(nn.Linear):
    """A linear layer whose product is a `PackedProduct`."""

    product: PackedProduct

    def forward(self, x: Tensor) -> Tensor:
        """The rows times the matrix, and the bias: (..., in) to (..., out)."""
        return self.product(x, self.weight, self.bias)


def with_packed_rows(model: M) -> M:
    """Another model around the same weights, with packed copies; logits are the same."""
    shared = (*model.parameters(), *model.buffers())
    twin = copy.deepcopy(model, {id(each): each for each in shared})
    for layer in _packable_layers(twin):
        layer.__class__ = PackedLinear
        cast(PackedLinear, layer).product = PackedProduct(layer.weight)
    if (vocabulary := _vocabulary(twin)) is not None:
        twin.linear = PackedProduct(vocabulary)
    return twin


def packed_bytes(model: Encoder | EncoderDecoder) -> int:
    """Count the bytes of this model's copies, made or not; 0 where there are none to make."""
    vocabulary = _vocabulary(model)
    packed = [layer.weight for layer in _packable_layers(model)]
    packed += [] if vocabulary is None else [vocabulary]
    return sum(-(-len(weight) // BLOCK) * BLOCK * weight[0].nbytes for weight in packed)


def _packable_layers(model: Encoder | EncoderDecoder) -> list[nn.Linear]:
    """Yield the layers that multiply as torch does; what unembeds never runs as one."""
    layers = (layer for layer in model.modules() if layer is not model.unembed)
    linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
    plain = (layer for layer in linear if type(layer) in (nn.Linear, PackedLinear))
    return [layer for layer in plain if _is_packable(layer.weight)]


def _vocabulary(model: Encoder | EncoderDecoder) -> Tensor | None:
    weight = model.embed.weight if model.unembed is None else model.unembed.weight
    is_plain = model.linear is F.linear or isinstance(model.linear, PackedProduct)
    return weight if is_plain and _is_packable(weight) else None


def _is_packable(weight: Tensor) -> bool:
    return weight.dtype is torch.bfloat16 and weight.device.type == "cpu"
