"""What the device in front of you can do at best: products of matrices, memory, and a start.

Measured, not taken from a sheet. Whatever else the machine does only adds time, so the roof is
made of the second fastest of many repeats, and not of their median.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import torch

from blocks.cost.operands import Operands
from blocks.cost.timing import Times, measure_times
from blocks.model import devices

MATRIX_SIZES = {"cpu": (128, 256, 512, 1024, 2048), "accelerator": (512, 1024, 2048, 4096, 8192)}
ARRAY_MB = (0.25, 1, 4, 16, 64, 128)
MB = 10**6
LONGEST_PRODUCT, REPEATS = 0.4, 25


class Traffic(StrEnum):
    """Ways to move bytes; how many arrays each reads and writes, see `ARRAYS_MOVED`."""

    COPY = "copy"
    TRIAD = "triad"
    READ = "read"


ARRAYS_MOVED = {Traffic.COPY: 2, Traffic.TRIAD: 3, Traffic.READ: 1}


@dataclass(frozen=True)
class MatmulRate:
    """A square product: 2·size³ FLOPs."""

    size: int
    times: Times

    @property
    def flops_per_s(self) -> float:
        """FLOPs per second of the second fastest repeat."""
        return 2 * self.size**3 / self.times.fast


@dataclass(frozen=True)
class Bandwidth:
    """Bytes moved between arrays of `array_bytes` each."""

    traffic: Traffic
    array_bytes: int
    times: Times

    @property
    def moved_bytes(self) -> int:
        """Read and written together, as in STREAM (McCalpin 1995)."""
        return ARRAYS_MOVED[self.traffic] * self.array_bytes

    @property
    def bytes_per_s(self) -> float:
        """Bytes per second of the second fastest repeat."""
        return self.moved_bytes / self.times.fast


@dataclass(frozen=True)
class DevicePeak:
    """The roof: FLOP/s, bytes per second from memory, and seconds to start one operation."""

    flops_per_s: float
    bytes_per_s: float
    start_seconds: float

    @property
    def ridge(self) -> float:
        """FLOPs per byte from which on an operation can be bound by arithmetic."""
        return self.flops_per_s / self.bytes_per_s


def matrix_sizes(device: str) -> tuple[int, ...]:
    """Squares that are tried, the smallest first."""
    return MATRIX_SIZES["cpu" if device == "cpu" else "accelerator"]


def measure_matmul(
    size: int, *, device: str, dtype: torch.dtype, smaller: MatmulRate | None = None
) -> MatmulRate | None:
    """A product of two squares; None where the `smaller` one says that it would take too long."""
    if smaller is not None and 2 * size**3 / smaller.flops_per_s > LONGEST_PRODUCT:
        return None
    draw = Operands(device, dtype)
    a, b = draw.tensor(size, size), draw.tensor(size, size)
    with torch.inference_mode():
        return MatmulRate(size, measure_times(lambda: a @ b, device, repeats=REPEATS))


def measure_bandwidth(traffic: Traffic, array_bytes: int, *, device: str) -> Bandwidth:
    """Move arrays of float32: a ← b (copy), a ← b + s·c (triad), or sum b (read)."""
    n = array_bytes // torch.float32.itemsize
    arrays = [torch.ones(n, device=device) for _ in range(ARRAYS_MOVED[traffic])]
    works: dict[Traffic, Callable[[], object]] = {
        Traffic.COPY: lambda: arrays[0].copy_(arrays[1]),
        Traffic.TRIAD: lambda: torch.add(arrays[0], arrays[1], alpha=0.5, out=arrays[2]),
        Traffic.READ: lambda: arrays[0].sum(),
    }
    with torch.inference_mode():
        return Bandwidth(
            traffic, array_bytes, measure_times(works[traffic], device, repeats=REPEATS)
        )


def measure_start(*, device: str, dtype: torch.dtype) -> Times:
    """The smallest product there is: what remains is the way to the kernel and back."""
    draw = Operands(device, dtype)
    x, weight = draw.tensor(1, 8), draw.tensor(8, 8)
    with torch.inference_mode():
        return measure_times(lambda: torch.nn.functional.linear(x, weight), device)


def device_peak(
    rates: Sequence[MatmulRate], bandwidths: Sequence[Bandwidth], start: Times
) -> DevicePeak:
    """The best product, the best traffic between arrays that no cache holds, the median start."""
    largest = max(each.array_bytes for each in bandwidths)
    from_memory = [each for each in bandwidths if each.array_bytes == largest]
    return DevicePeak(
        flops_per_s=max(each.flops_per_s for each in rates),
        bytes_per_s=max(each.bytes_per_s for each in from_memory),
        start_seconds=start.median,
    )


def traffics() -> tuple[tuple[Traffic, int], ...]:
    """Return the transfers to time: arrays of growing size, and from memory in every way."""
    growing = [(Traffic.TRIAD, int(mb * MB)) for mb in ARRAY_MB]
    largest = growing[-1][1]
    return (*growing, (Traffic.COPY, largest), (Traffic.READ, largest))


def threads(device: str) -> int:
    """Threads that compute here; an accelerator has its own."""
    return torch.get_num_threads() if device == "cpu" else 1


def load() -> float:
    """Return the programs that wanted to compute in the last minute, for each CPU that we may use.

    NaN where the system does not say.
    """
    return os.getloadavg()[0] / devices.available_cpus() if hasattr(os, "getloadavg") else math.nan
