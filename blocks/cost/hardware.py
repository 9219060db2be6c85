"""Devices that models are trained and served on: memory, speed and bandwidth, with sources."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

HERE = "here"
GB, TB, TERA = 10**9, 10**12, 10**12


@dataclass(frozen=True)
class Hardware:
    """One device as its maker states it.

    `memory` in bytes (as on the sheet, GB = 10⁹ bytes: drivers and the decimal point take the
    rest), `bandwidth` in bytes per second, `peak` the dense FLOP/s of matrix products by number
    format, added up in float32; what a sheet gives for sparse matrices is left out.
    """

    title: str
    memory: int
    bandwidth: int
    peak: Mapping[str, float]
    source: str


def _device(
    title: str, memory_gb: int, gb_a_second: int, tera: tuple[float, float, float], source: str
) -> Hardware:
    names = ("float32", "bfloat16", "float16")
    peak = {name: rate * TERA for name, rate in zip(names, tera, strict=True) if rate}
    return Hardware(title, memory_gb * GB, gb_a_second * GB, peak, source)


# fmt: off
# name: title, memory in GB, bandwidth in GB/s, peak in TFLOP/s (float32, bfloat16, float16; 0:
# none), source. float32 is that of the plain units, not of TF32.
HARDWARE: dict[str, Hardware] = {
    "t4": _device(
        "NVIDIA T4", 16, 300, (8.1, 0, 65), "NVIDIA T4 data sheet"),
    "v100-sxm-32gb": _device(
        "NVIDIA V100 SXM2 32GB", 32, 900, (15.7, 0, 125), "NVIDIA V100 data sheet"),
    "rtx-3090": _device(
        "NVIDIA RTX 3090", 24, 936, (35.6, 71, 71),
        "NVIDIA Ampere GA102 white paper, appendix A"),
    "rtx-4090": _device(
        "NVIDIA RTX 4090", 24, 1008, (82.6, 165.2, 165.2),
        "NVIDIA Ada GPU architecture white paper, appendix A"),
    "l4": _device(
        "NVIDIA L4", 24, 300, (30.3, 121, 121), "NVIDIA L4 data sheet; half of the sparse"),
    "l40s": _device(
        "NVIDIA L40S", 48, 864, (91.6, 362.05, 362.05), "NVIDIA L40S data sheet"),
    "a100-sxm-80gb": _device(
        "NVIDIA A100 SXM 80GB", 80, 2039, (19.5, 312, 312), "NVIDIA A100 data sheet"),
    "h100-sxm": _device(
        "NVIDIA H100 SXM", 80, 3350, (67, 989.4, 989.4),
        "NVIDIA H100 data sheet; half of the sparse"),
    "h200-sxm": _device(
        "NVIDIA H200 SXM", 141, 4800, (67, 989.4, 989.4),
        "NVIDIA H200 data sheet; half of the sparse"),
    "mi300x": _device(
        "AMD Instinct MI300X", 192, 5300, (163.4, 1307.4, 1307.4),
        "AMD Instinct MI300X data sheet"),
    "tpu-v5e": _device(
        "Google TPU v5e", 16, 819, (0, 197, 0), "Google Cloud TPU v5e documentation"),
    "tpu-v5p": _device(
        "Google TPU v5p", 95, 2765, (0, 459, 0), "Google Cloud TPU v5p documentation"),
}
# fmt: on


@cache
def memory_here(device: str) -> int:
    """Bytes of memory of the device in front of you: all of it, free or not.

    Of a CPU what the machine has, or less where this process is allowed less.
    """
    if device == "cuda":
        return int(torch.cuda.get_device_properties(0).total_memory)
    if device == "xpu":
        return int(torch.xpu.get_device_properties(0).total_memory)
    if not hasattr(os, "sysconf"):
        return 0  # this system does not say
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = Path("/sys/fs/cgroup/memory.max")
    allowed = limit.read_text().strip() if limit.exists() else "max"
    return min(machine, int(allowed)) if allowed.isdigit() else machine


def usable_memories(here: str, usable: float, n_devices: int = 1) -> dict[str, int]:
    """The share of each device's memory that may be used; of a single device, of the one here too.

    That one is called `HERE` and stands first.
    """
    own = memory_here(here) if n_devices == 1 else 0
    known = ({HERE: own} if own else {}) | {name: each.memory for name, each in HARDWARE.items()}
    return {name: int(usable * memory) for name, memory in known.items()}


def told_apart(memories: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Devices by ascending memory; of several with as much, the first."""
    first = {size: name for name, size in reversed([*memories.items()])}
    return tuple((name, size) for size, name in sorted(first.items()))
