"""Where it was measured, then one line a measurement."""

import os

import torch

from blocks.model import devices

UNITS = {"avx2": "AVX2", "avx512_f": "AVX-512", "avx512_bf16": "AVX-512 BF16", "amx_bf16": "AMX"}
# By these a kernel library uses less of the processor than there is.
LIMITS = ("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "MKL_CBWR", "OMP_NUM_THREADS")


def report_machine() -> None:
    """A figure holds for the processor that it was measured on."""
    has = torch.cpu.get_capabilities()
    units = ", ".join(title for name, title in UNITS.items() if has.get(name)) or "no wide units"
    print(f"{devices.device_name('cpu')}: {units}; threads: {torch.get_num_threads()}")
    print(f"torch {torch.__version__}, devices: {', '.join(devices.available_devices())}")
    limits = [f"{name}={os.environ[name]}" for name in LIMITS if name in os.environ]
    print(f"limited by {', '.join(limits)}" if limits else "not limited by the environment")


def report(name: str, found: str, aim: str) -> None:
    """What was measured, and what is aimed at."""
    print(f"{name:<74} {found:<28} aim {aim}", flush=True)
