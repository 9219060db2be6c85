"""Products in int8 by torch's packed kernels, and whole models that run by them.

A packed kernel multiplies whole numbers of 8 bits and sums them in 32: four products where float32
has one, if the processor has an instruction for it (VNNI, AMX), on weights that are laid out for it
beforehand. Before each product the activations have to be rounded.
"""

from collections.abc import Iterable
from functools import lru_cache

import torch
from torch import Tensor

from blocks.efficiency.quantization import Quantization, quantize
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.models import Model
from blocks.weights.model_file import ModelFile
from blocks.weights.quantized import QuantizedMatrix, Rounded
from blocks.weights.rounded_inputs import ActivationGrid, RoundedInput, multiply_by

N_BITS = 8
MIDDLE, N_STEPS = 128, 255


class PackedProduct:
    """x Wᵀ in int8: W (out, in) on a grid per row, x (…, in) on the grids that `reads` lays."""

    def __init__(self, matrix: QuantizedMatrix, reads: RoundedInput):
        codes = (matrix.codes.reshape(matrix.shape).short() - MIDDLE).to(torch.int8)
        self.packed = torch.ops.onednn.qlinear_prepack(codes, None)
        self.scale = matrix.grid.scale.flatten().expand(len(codes)).contiguous()
        self.zero_point = torch.zeros(len(codes), dtype=torch.int64)
        self.reads = reads

    def rounded(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Codes of the activations, uint8, and the scale of their grids."""
        smoothed = self.reads.smoothed(x)
        scale = self.reads.scale(smoothed)
        codes = (smoothed * (1 / scale)).round_().add_(MIDDLE).clamp_(0, N_STEPS).to(torch.uint8)
        return codes, scale

    def of_codes(self, codes: Tensor, scale: Tensor) -> Tensor:
        """The product alone, float32: (…, in) to (…, out)."""
        grids = (1.0, MIDDLE, self.packed, self.scale, self.zero_point)
        product: Tensor = torch.ops.onednn.qlinear_pointwise(
            codes, *grids, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return product.mul_(scale)

    def __call__(
        self, x: Tensor, _weight: Tensor | None = None, bias: Tensor | None = None
    ) -> Tensor:
        """Round, then multiply, as a `Product`: its own matrix instead of that in float32."""
        product = self.of_codes(*self.rounded(x))
        return product if bias is None else product.add_(bias)


@lru_cache(maxsize=1)
def packed_fault() -> Fault | None:
    """Why no packed kernel is used here."""
    if not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.onednn, "qlinear_prepack"):
        return Fault(N_("This build of torch has no packed int8 kernel: use a build with oneDNN"))
    if not _sums_whole():
        text = N_(
            "The packed int8 kernel clips large sums on this processor: use a processor with VNNI"
        )
        return Fault(text)
    return None


def _sums_whole() -> bool:
    """Whether the largest of all sums is right: without VNNI two products may share 16 bits."""
    ones = torch.ones(1, 64)
    product = PackedProduct(
        quantize(ones, Quantization()), RoundedInput(N_BITS, ActivationGrid.TOKEN)
    )
    return abs(float(product(ones)) / 64 - 1) < 0.05


def packed_product(weight: Tensor) -> PackedProduct:
    """A matrix (out, in) on a grid per row, times activations on a grid per token.

    Raises `ConfigError` where there is no such kernel.
    """
    if fault := packed_fault():
        raise ConfigError([fault])
    reads = RoundedInput(N_BITS, ActivationGrid.TOKEN)
    return PackedProduct(quantize(weight, Quantization(n_bits=N_BITS)), reads)


def packed_names(file: ModelFile) -> tuple[str, ...]:
    """The matrices of a file that can run in int8 here: those of 8 bits that read 8 bits."""
    if packed_fault():
        return ()
    return tuple(
        name for name, reads in file.inputs.items() if is_int8(file.quantized[name], reads)
    )


def is_int8(matrix: Rounded, reads: RoundedInput) -> bool:
    """Whether both are codes of 8 bits around the middle, with one grid a row at most."""
    return (
        isinstance(matrix, QuantizedMatrix)
        and matrix.n_bits == reads.n_bits == N_BITS
        and matrix.codes.shape[1] == 1
        and matrix.is_symmetric
    )


def run_packed(model: Model, file: ModelFile, names: Iterable[str]) -> Model:
    """Let these matrices of the model of a file run in int8, in place, before it is shared.

    All else stays in float32: norms, the rows of a table that are looked up, products of queries,
    keys and values. Weights stay beside their codes for who reads them. On a CPU.
    """
    for name in names:
        matrix = file.quantized[name]
        assert isinstance(matrix, QuantizedMatrix)
        multiply_by(model, name, PackedProduct(matrix, file.inputs[name]))
    return model
