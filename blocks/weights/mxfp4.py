"""Weights of 4 bits, as in the files of gpt-oss: blocks of FP4 numbers that share an exponent.

OCP Microscaling Formats (MX) Specification 1.0, section 5: FP4 (E2M1), 32 numbers to a scale
(E8M0). OpenAI 2025 (gpt-oss), section 2.1. As bfloat16 they are exactly what they were.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from blocks.model.faults import N_
from blocks.weights.folder import Stored

BLOCKS, SCALES = "_blocks", "_scales"
MXFP4, E8M0, BYTE = "MXFP4", "E8M0", "U8"
BLOCK_BYTES, PER_BYTE, BIAS = 16, 2, 127
MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
VALUES = (*MAGNITUDES, *(-each for each in MAGNITUDES))  # by code: the first of its bits is a sign
EXPONENTS = N_("exponents for the matching blocks")


@dataclass(frozen=True, eq=False)
class Packed(Stored):
    """Blocks in a file and their scales, as the matrices that they mean: (expert, in, out)."""

    scales: Stored

    def tensor(self) -> Tensor:
        """The numbers, in memory of their own; one expert at a time is unpacked."""
        blocks, scales = self.opened.get_tensor(self.key), self.scales.tensor()
        n_experts, n_in, n_out = self.shape
        whole = torch.empty(n_experts, n_out, n_in, dtype=torch.bfloat16)
        for each, block, scale in zip(whole, blocks, scales, strict=True):
            each.copy_(unpacked_numbers(block, scale))
        return whole.mT


def unpacked_numbers(blocks: Tensor, scales: Tensor) -> Tensor:
    """(…, block, 16) bytes and (…, block) exponents to (…, 32 · blocks) numbers in bfloat16.

    value · 2^(scale − 127); of the two codes in a byte that of the low bits comes first.
    """
    codes = torch.stack((blocks & 15, blocks >> 4), dim=-1).flatten(-2)
    numbers = torch.tensor(VALUES)[codes.int()]
    return torch.ldexp(numbers, scales.int()[..., None] - BIAS).flatten(-2).bfloat16()


def joined(found: Mapping[str, Stored]) -> dict[str, Stored]:
    """The tensors of some files; blocks that have scales are the numbers that both mean."""
    return {key: _with_scales(each, found) for key, each in found.items()}


def _with_scales(each: Stored, found: Mapping[str, Stored]) -> Stored:
    scales = found.get(each.key.removesuffix(BLOCKS) + SCALES)
    if scales is None or not each.key.endswith(BLOCKS) or not _are_pair(each, scales):
        return each
    n_experts, n_out, n_blocks, _width = each.shape
    shape = n_experts, PER_BYTE * BLOCK_BYTES * n_blocks, n_out
    return Packed(each.key, each.file, MXFP4, shape, each.opened, scales)


def _are_pair(blocks: Stored, scales: Stored) -> bool:
    is_whole = len(blocks.shape) == 4 and blocks.shape[3] == BLOCK_BYTES
    are_bytes = blocks.dtype == scales.dtype == BYTE
    return is_whole and are_bytes and blocks.shape[:3] == scales.shape
