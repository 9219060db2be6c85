"""Devices that models are trained and served on: memory, speed and bandwidth, with sources."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from blocks.model import devices
from blocks.model.faults import N_, Table

HERE = "here"
GB, TB, TERA = 10**9, 10**12, 10**12


@dataclass(frozen=True)
class Hardware:
    """One device as its maker states it.

    `memory` in bytes (as on the sheet, GB = 10⁹ bytes: drivers and the decimal point take the
    rest), `bandwidth` in bytes per second, `peak` the dense FLOP/s of matrix products by number
    format, added up in float32; what a sheet gives for sparse matrices is left out. `link`: bytes
    per second that it sends to its neighbours, half of what sheets give for both directions; 0
    where it is not known. `driver_names`: what its driver calls it, whole, for its sisters are
    slower.
    """

    title: str
    memory: int
    bandwidth: float
    peak: Mapping[str, float]
    source: str
    driver_names: tuple[str, ...] = ()
    link: float = 0.0

    @property
    def fastest_training(self) -> float:
        """FLOP/s in the format in which a model is trained fastest here: bfloat16, else float32."""
        return self.peak.get("bfloat16") or self.peak.get("float32", 0.0)


class Rated(NamedTuple):
    """A device as somebody states or measured it: bytes, bytes and FLOPs per second, links."""

    memory: int
    bandwidth: float
    flops: float
    link: float = 0.0

    @classmethod
    def of_sheet(
        cls, gigabytes: float, gb_a_second: float, tera: float, link: float = 0.0
    ) -> "Rated":
        """The same from the units of data sheets: GB, GB/s, TFLOP/s, GB/s each way."""
        return cls(int(gigabytes * GB), gb_a_second * GB, tera * TERA, link * GB)

    def hardware(self, title: str) -> Hardware:
        """The same as a sheet: each number format computes as fast as the one that is stated."""
        peak = dict.fromkeys(FORMATS, self.flops)
        return Hardware(title, self.memory, self.bandwidth, peak, "", link=self.link)


FORMATS = ("float32", "bfloat16", "float16", "fp8")


def _device(
    title: str,
    memory_gb: int,
    gb_a_second: int,
    tera: tuple[float, float, float, float],
    link: float,
    source: str,
    *driver_names: str,
) -> Hardware:
    peak = {name: rate * TERA for name, rate in zip(FORMATS, tera, strict=True) if rate}
    sizes = memory_gb * GB, gb_a_second * GB
    return Hardware(title, *sizes, peak, source, driver_names, link * GB)


# fmt: off
# name: title, memory in GB, bandwidth in GB/s, peak in TFLOP/s (float32, bfloat16, float16, fp8; 0:
# none), GB/s to other devices in one direction, source. float32 is that of the plain units, not of
# TF32.
_SHEETS = {
    "t4": _device(
        "NVIDIA T4", 16, 300, (8.1, 0, 65, 0), 16, "NVIDIA T4 data sheet", "Tesla T4"),
    "v100-sxm-32gb": _device(
        "NVIDIA V100 SXM2 32GB", 32, 900, (15.7, 0, 125, 0), 150, "NVIDIA V100 data sheet",
        "Tesla V100-SXM2-32GB"),
    "rtx-3090": _device(
        "NVIDIA RTX 3090", 24, 936, (35.6, 71, 71, 0), 32,
        "NVIDIA Ampere GA102 white paper, appendix A; links by PCIe", "NVIDIA GeForce RTX 3090"),
    "rtx-4090": _device(
        "NVIDIA RTX 4090", 24, 1008, (82.6, 165.2, 165.2, 330.3), 32,
        "NVIDIA Ada GPU architecture white paper, appendix A; links by PCIe",
        "NVIDIA GeForce RTX 4090"),
    "rtx-5090": _device(
        "NVIDIA RTX 5090", 32, 1792, (104.8, 209.5, 209.5, 419), 64,
        "NVIDIA RTX Blackwell GPU architecture white paper, appendix A; links by PCIe",
        "NVIDIA GeForce RTX 5090"),
    "l4": _device(
        "NVIDIA L4", 24, 300, (30.3, 121, 121, 242.5), 32,
        "NVIDIA L4 data sheet; half of the sparse", "NVIDIA L4"),
    "l40s": _device(
        "NVIDIA L40S", 48, 864, (91.6, 362.05, 362.05, 733), 32, "NVIDIA L40S data sheet",
        "NVIDIA L40S"),
    "a100-sxm-80gb": _device(
        "NVIDIA A100 SXM 80GB", 80, 2039, (19.5, 312, 312, 0), 300, "NVIDIA A100 data sheet",
        "NVIDIA A100-SXM4-80GB"),
    "h100-pcie": _device(
        "NVIDIA H100 PCIe", 80, 2000, (51, 756.5, 756.5, 1513), 64,
        "NVIDIA H100 data sheet; half of the sparse; links by PCIe", "NVIDIA H100 PCIe"),
    "h100-sxm": _device(
        "NVIDIA H100 SXM", 80, 3350, (67, 989.4, 989.4, 1978.9), 450,
        "NVIDIA H100 data sheet; half of the sparse", "NVIDIA H100 80GB HBM3"),
    "h200-sxm": _device(
        "NVIDIA H200 SXM", 141, 4800, (67, 989.4, 989.4, 1978.9), 450,
        "NVIDIA H200 data sheet; half of the sparse", "NVIDIA H200"),
    "b200-sxm": _device(
        "NVIDIA B200 SXM", 180, 8000, (75, 2250, 2250, 4500), 900,
        "NVIDIA DGX B200 and HGX B200 data sheets, an eighth; half of the sparse", "NVIDIA B200"),
    "mi300x": _device(
        "AMD Instinct MI300X", 192, 5300, (163.4, 1307.4, 1307.4, 2614.9), 448,
        "AMD Instinct MI300X data sheet", "AMD Instinct MI300X"),
    "mi325x": _device(
        "AMD Instinct MI325X", 256, 6000, (163.4, 1307.4, 1307.4, 2614.9), 448,
        "AMD Instinct MI325X data sheet", "AMD Instinct MI325X"),
    "tpu-v5e": _device(
        "Google TPU v5e", 16, 819, (0, 197, 0, 0), 200, "Google Cloud TPU v5e documentation"),
    "tpu-v5p": _device(
        "Google TPU v5p", 95, 2765, (0, 459, 0, 0), 600, "Google Cloud TPU v5p documentation"),
}
# fmt: on

HARDWARE = Table(N_("There is no data sheet for {name}: the nearest names are {names}"), _SHEETS)


def data_sheet(name: str) -> Hardware | None:
    """Look up the data sheet of a device by what its driver calls it; None where we have none."""
    return next((each for each in HARDWARE.values() if name in each.driver_names), None)


def usable_memories(here: str, usable: float, n_devices: int = 1) -> dict[str, int]:
    """The share of each device's memory that may be used; of a single device, of the one here too.

    That one is called `HERE` and stands first.
    """
    own = devices.memory_of(here).total if n_devices == 1 else 0
    known = ({HERE: own} if own else {}) | {name: each.memory for name, each in HARDWARE.items()}
    return {name: int(usable * memory) for name, memory in known.items()}


def told_apart(memories: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Devices by ascending memory; of several with as much, the first."""
    first = {size: name for name, size in reversed([*memories.items()])}
    return tuple((name, size) for size, name in sorted(first.items()))
