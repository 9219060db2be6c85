"""The weights of a model made ready for fast decoding; values are unchanged."""

from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.model.models import Encoder, EncoderDecoder

M = TypeVar("M", bound=nn.Module)


def decoding_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`F.linear`, with the product of a single row left to oneDNN where there are several threads.

    With one token at a time it is a matrix times a vector, bound by how fast the matrix is read.
    torch hands that to a float32 kernel which may read with one thread only; oneDNN's reads with
    all of them, but one of its threads at half the speed of that kernel (AVX-512, matrices as
    `pack_weights_for_decoding` lays them). Shapes: (..., in), (out, in), (out) to (..., out).
    """
    if is_decoding(x) and torch.get_num_threads() > 1:
        return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return F.linear(x, weight, bias)


def is_decoding(x: Tensor) -> bool:
    """Whether this (..., in) is a single row, and nothing learns from it."""
    return x.numel() == x.shape[-1] and not torch.is_grad_enabled()


class DecodingLinear(nn.Linear):
    """A linear layer whose product is `decoding_linear`."""

    def forward(self, x: Tensor) -> Tensor:
        """The rows times the matrix, and the bias: (..., in) to (..., out)."""
        return decoding_linear(x, self.weight, self.bias)


def pack_weights_for_decoding(model: M) -> M:
    """Make a float32 model on a CPU quick at one token at a time, in place, before it is shared.

    Weights are stored as (in, out), along which a matrix times a vector is read faster, and linear
    layers become `DecodingLinear` where torch has oneDNN. Models in bfloat16 and on other devices
    stay as they are. With many tokens at a time nothing is slower. No memory is allocated.
    """
    if not all(map(_is_float32_on_cpu, model.parameters())):
        return model
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            module.weight.data = module.weight.data.T.contiguous().T
    if torch.backends.mkldnn.is_available():
        _decode_by_onednn(model)
    return model


def _decode_by_onednn(model: nn.Module) -> None:
    if isinstance(model, Encoder | EncoderDecoder) and model.linear is F.linear:
        model.linear = decoding_linear
    for layer in model.modules():
        if type(layer) is nn.Linear:
            layer.__class__ = DecodingLinear  # to make another one around its weights takes long


def _is_float32_on_cpu(weight: Tensor) -> bool:
    return weight.dtype is torch.float32 and weight.device.type == "cpu"
