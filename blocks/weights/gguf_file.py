"""A GGUF file as it lies on disk: its metadata and its tensors, each read when it is asked for.

The header is read here, since a file may lie: each count and length is held against the bytes that
are there before anything is taken from them. Rounded blocks of weights are unpacked by the `gguf`
package. Format: ggml, docs/gguf.md, version 3.
"""

import math
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from blocks.model.faults import N_, ConfigError
from blocks.weights.folder import GGUF, MOST_TENSORS, Stored, refusal

MAGIC, VERSIONS = b"GGUF", (2, 3)
MOST_HEADER = 2**25  # bytes; Gemma 3, with 262,144 tokens, takes 6 million
MOST_ENTRIES, MOST_NAME, MOST_AXES = 65_536, 65_535, 4
ALIGNMENT, USUAL_ALIGNMENT = "general.alignment", 32
CHUNK = 2**16  # numbers that are unpacked at a time: 256 KiB

STRING, LIST, FLAG = 8, 9, 7
NUMBERS = {  # types of metadata
    **dict(enumerate(("<u1", "<i1", "<u2", "<i2", "<u4", "<i4", "<f4", "<u1"))),
    **dict(enumerate(("<u8", "<i8", "<f8"), 10)),
}
ROUNDED = (
    *("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "IQ4_XS"),
    *("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"),
)
PLAIN = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


@dataclass(frozen=True, eq=False)
class GgufFile:
    """What a file says of its model, and its tensors by name; no weight has been read."""

    metadata: Mapping[str, Any]
    tensors: Mapping[str, Stored]


@dataclass(frozen=True, eq=False)
class Blocks(Stored):
    """A tensor of a GGUF file, as it lies or in rounded blocks; `opened`: its bytes."""

    def tensor(self) -> Tensor:
        """The numbers: F32, F16 and BF16 as they lie, every other format in float32.

        They are unpacked some at a time, so that what is at hand stays in the processor's cache.
        """
        if self.dtype in PLAIN:
            return torch.frombuffer(self.opened, dtype=PLAIN[self.dtype]).reshape(self.shape)
        from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
        from gguf.quants import dequantize

        kind = GGMLQuantizationType[self.dtype]
        per_block, block_bytes = GGML_QUANT_SIZES[kind]
        packed = np.frombuffer(self.opened, dtype=np.uint8).reshape(-1, block_bytes)
        whole, step = torch.empty(len(packed), per_block), max(1, CHUNK // per_block)
        for first in range(0, len(packed), step):
            part = packed[first : first + step].reshape(1, -1)  # as one row, which is not cut up
            with np.errstate(all="ignore"):  # a scale may be no number: told by who reads them all
                numbers = torch.from_numpy(dequantize(part, kind))
            whole[first : first + step] = numbers.reshape(-1, per_block)
        return whole.reshape(self.shape)


def read_gguf(path: Path) -> GgufFile:
    """Read the header of a GGUF file. Raises `ConfigError`."""
    name = ascii(path.name)[1:-1][:80]
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        return _read(mapped, name)
    except ConfigError:
        raise
    except (struct.error, UnicodeDecodeError, OverflowError, ValueError, OSError):
        text = N_("{name} is damaged or incomplete: fetch or save it again")
        raise refusal(text, name=name) from None


def _read(mapped: mmap.mmap, name: str) -> GgufFile:
    if mapped[:4] != MAGIC:
        raise refusal(N_("{name} is not a GGUF file"), name=name)
    header = _Header(mapped, 4)
    version = header.number("<u4")
    if version not in VERSIONS:
        text = N_(
            "{name} is in GGUF version {version}, but only versions 2 and 3 can be read: convert "
            "it again"
        )
        raise refusal(text, name=name, version=version)
    n_tensors, n_entries = header.number("<u8"), header.number("<u8")
    if n_tensors > MOST_TENSORS:
        raise refusal(N_("The files hold more than {most} tensors"), most=MOST_TENSORS)
    if n_entries > MOST_ENTRIES:
        raise ValueError
    metadata = header.entries(n_entries)
    rows = [header.tensor() for _ in range(n_tensors)]
    alignment = metadata.get(ALIGNMENT, USUAL_ALIGNMENT)
    if type(alignment) is not int or not 0 < alignment <= 2**16:
        raise ValueError
    start = -(-header.at // alignment) * alignment
    file = name.removesuffix(GGUF) + GGUF  # Ollama's files have no ending
    tensors = {row.name: row.stored(mapped, start, file) for row in rows}
    if len(tensors) < len(rows):
        raise refusal(
            N_("{name} contains two tensors with the same name: convert it again"), name=name
        )
    return GgufFile(metadata, tensors)


class _Header:
    """What stands at the beginning, one value after another.

    Raises `struct.error` or `ValueError` where the file ends before it does.
    """

    def __init__(self, mapped: mmap.mmap, at: int):
        self.mapped, self.at = mapped, at
        self.end = min(len(mapped), MOST_HEADER)

    def number(self, kind: str) -> Any:
        """One number; of 4 bytes, the shortest that means them (1e-05, not 9.9999997e-06)."""
        (found,) = self._many(kind, 1)
        return float(str(found)) if kind == "<f4" else found.item()

    def text(self, most: int = MOST_HEADER) -> str:
        """A string: its length, then UTF-8."""
        (length,) = struct.unpack_from("<Q", self.mapped, self.at)
        first, self.at = self.at + 8, self.at + 8 + length
        if length > most or self.at > self.end:
            raise ValueError
        return self.mapped[first : self.at].decode()

    def entries(self, n: int) -> dict[str, Any]:
        """The metadata by key."""
        found = {}
        for _ in range(n):
            key = self.text(MOST_NAME)
            found[key] = self._value(self.number("<u4"))
        return found

    def tensor(self) -> "_Row":
        """Where one tensor lies."""
        name, n_axes = self.text(MOST_NAME), self.number("<u4")
        if not 0 < n_axes <= MOST_AXES:
            raise ValueError
        shape = tuple(self._many("<u8", n_axes).tolist()[::-1])
        return _Row(name, shape, self.number("<u4"), self.number("<u8"))

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self.text()
        if kind == LIST:
            return self._list(self.number("<u4"), self.number("<u8"))
        value = self.number(NUMBERS.get(kind, ""))
        return bool(value) if kind == FLAG else value

    def _list(self, kind: int, n: int) -> list[Any]:
        if n > self.end:
            raise ValueError
        if kind == STRING:
            return [self.text() for _ in range(n)]
        return self._many(NUMBERS.get(kind, ""), n).tolist()

    def _many(self, kind: str, n: int) -> "np.ndarray[Any, Any]":
        if not kind:
            raise ValueError
        found = (
            np.frombuffer(self.mapped, dtype=kind, count=n, offset=self.at) if n else np.empty(0)
        )
        self.at += found.nbytes
        if self.at > self.end:
            raise ValueError
        return found


def rounded_bytes(kind: str, shape: tuple[int, ...]) -> int:
    """What a tensor takes in one of the formats of `ROUNDED`."""
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    per_block, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType[kind]]
    return math.prod(shape) // per_block * block_bytes


@dataclass(frozen=True)
class _Row:
    """A tensor as the header tells it; `kind`: the number of its format."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int

    def stored(self, mapped: mmap.mmap, start: int, file: str) -> Stored:
        """The tensor over the bytes of the file. Raises `ValueError` where they are not there."""
        from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

        if self.kind not in {each.value for each in GGMLQuantizationType}:
            text = N_(
                "{name} is stored in format {kind}, which is not supported here: convert it again"
            )
            raise refusal(text, name=self.name[:80], kind=self.kind)
        kind = GGMLQuantizationType(self.kind)
        per_block, block_bytes = GGML_QUANT_SIZES[kind]
        n, width = math.prod(self.shape), self.shape[-1]
        if not 0 < n < 2**48 or width % per_block:
            raise ValueError
        first, n_bytes = start + self.offset, n // per_block * block_bytes
        if first + n_bytes > len(mapped):
            raise ValueError
        part = memoryview(mapped)[first : first + n_bytes]
        return Blocks(self.name, file, kind.name, self.shape, part)
