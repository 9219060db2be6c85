"""How the numbers of a weight are drawn: one after the other, or each by its place.

One after the other they come from torch's own generator, on the CPU. Of a large model that takes
long, so there each number is looked up by a hash of its place in the weight: any part can be drawn
by itself, and whole numbers and tables give the same bits on a CPU and on an accelerator.
"""

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from blocks.model.randomness import generator

FIRST_FACTOR, SECOND_FACTOR = 0x85EBCA6B - 2**32, 0xC2B2AE35 - 2**32  # as signed numbers
CHUNK_ON_CPU, CHUNK = 2**18, 2**22  # words at once, powers of two: 1 MiB stays near a core
HALF_WORD = 2**16
UNIFORM_STEPS = 2**24


class Draws(Protocol):
    """The random numbers of one weight."""

    def empty(self, shape: torch.Size) -> Tensor:
        """A tensor of float32 where they are drawn."""
        ...

    def normal_(self, values: Tensor, std: float) -> Tensor:
        """Fill it from N(0, std²)."""
        ...

    def uniform_(self, values: Tensor, low: float, high: float) -> Tensor:
        """Fill it from U(low, high), the upper end excluded."""
        ...


class InTurn:
    """Drawn by torch's generator (Mersenne Twister), on the CPU."""

    def __init__(self, seed: int, path: str):
        self._random = generator(seed, path)

    def empty(self, shape: torch.Size) -> Tensor:
        """A tensor of float32 where they are drawn."""
        return torch.empty(shape, dtype=torch.float32, device="cpu")

    def normal_(self, values: Tensor, std: float) -> Tensor:
        """Fill it from N(0, std²)."""
        return values.normal_(0, std, generator=self._random)

    def uniform_(self, values: Tensor, low: float, high: float) -> Tensor:
        """Fill it from U(low, high), the upper end excluded."""
        return values.uniform_(low, high, generator=self._random)


class Key(NamedTuple):
    """Two 32-bit numbers that make one stream of words differ from all others."""

    first: int
    second: int


class ByPlace:
    """Drawn where the weight is to be: the n-th number of it comes from a hash of n.

    At most 2³² words a weight are different.
    """

    def __init__(self, seed: int, path: str, device: torch.device | str):
        text = "\0".join((str(seed), path)).encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(text).digest()
        self._key = Key(*(int.from_bytes(digest[i : i + 4], "big") for i in (0, 4)))
        self._device = torch.device(device)

    def empty(self, shape: torch.Size) -> Tensor:
        """A tensor of float32 where they are drawn."""
        return torch.empty(shape, dtype=torch.float32, device=self._device)

    def normal_(self, values: Tensor, std: float) -> Tensor:
        """Fill it from N(0, std²): half a word chooses among the 65,536 values of `normals`.

        The lower halves give the first half of the tensor, the upper ones the second.
        """
        flat, table = values.view(-1), normals().mul(std).to(values.device)
        middle = (flat.numel() + 1) // 2
        for start, words, spare in self._chunks(middle):
            stop = start + words.numel()
            low = torch.bitwise_and(words, HALF_WORD - 1, out=spare)
            torch.index_select(table, 0, low, out=flat[start:stop])
            high = words.bitwise_right_shift_(16).bitwise_and_(HALF_WORD - 1)
            rest = flat[middle + start : middle + stop]
            torch.index_select(table, 0, high[: rest.numel()], out=rest)
        return values

    def uniform_(self, values: Tensor, low: float, high: float) -> Tensor:
        """Fill it from U(low, high): 2²⁴ equally spaced numbers, the upper end excluded."""
        flat, step = values.view(-1), (high - low) / UNIFORM_STEPS
        for start, words, _spare in self._chunks(flat.numel()):
            words.bitwise_right_shift_(8).bitwise_and_(UNIFORM_STEPS - 1)
            flat[start : start + words.numel()].copy_(words).mul_(step).add_(low)
        return values

    def _chunks(self, n: int) -> Iterator[tuple[int, Tensor, Tensor]]:
        """Yield where each chunk starts, its words, and room for as many."""
        most = CHUNK_ON_CPU if self._device.type == "cpu" else CHUNK
        places = torch.arange(min(n, most), dtype=torch.int32, device=self._device)
        places.bitwise_xor_(places >> 16)
        words, spare = torch.empty_like(places), torch.empty_like(places)
        for start in range(0, n, most):
            size = min(most, n - start)
            yield start, hashed(places[:size], start, self._key, words, spare), spare[:size]


def hashed(shifted: Tensor, start: int, key: Key, words: Tensor, spare: Tensor) -> Tensor:
    """Hash the places start, start + 1, … to 32 random bits each, as signed numbers, into `words`.

    The finalizer of MurmurHash3_x86_32 (`fmix32`, Appleby 2011, github.com/aappleby/smhasher), with
    a key before it and another after its first product. `shifted` is its first step, x ⊕ (x >> 16),
    of the places 0, 1, …; `start` is a multiple of as many, so that ⊕ adds it, and a step that only
    shifts can be done of both apart. A shift of signed numbers copies the sign: the mask ends that.
    """
    words, spare = words[: shifted.numel()], spare[: shifted.numel()]
    begin = (start ^ key.first) % 2**32
    torch.bitwise_xor(shifted, _signed(begin ^ begin >> 16), out=words)
    words.mul_(FIRST_FACTOR).bitwise_xor_(_signed(key.second))
    torch.bitwise_right_shift(words, 13, out=spare)
    words.bitwise_xor_(spare.bitwise_and_(2**19 - 1)).mul_(SECOND_FACTOR)
    torch.bitwise_right_shift(words, 16, out=spare)
    return words.bitwise_xor_(spare.bitwise_and_(2**16 - 1))


@cache
def normals() -> Tensor:
    """65,536 values, each as likely as the others, that stand for N(0, 1): (65,536,), on the CPU.

    The middle of each of as many parts of the distribution, brought to a variance of 1; the largest
    is 4.3.
    """
    middles = (torch.arange(HALF_WORD, dtype=torch.float64) + 0.5) / HALF_WORD
    values = torch.special.ndtri(middles)
    return (values / values.square().mean().sqrt()).float()


def _signed(number: int) -> int:
    """Read 32 bits as a signed number."""
    return number - 2**32 if number >= 2**31 else number
