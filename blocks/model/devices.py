"""Devices of this machine, their number formats and speed limits."""

import gc
import os
import platform
import reprlib
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch

from blocks.model.faults import N_, ConfigError, Fault

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}
MOST_THREADS = 4
NEW_OBJECTS = 10_000  # until the garbage collector looks for some among them (Python: 700)


class DeviceMemory(NamedTuple):
    """Bytes that nobody uses now, and all; 0 where the device does not say."""

    free: int
    total: int


def check_dtype(dtype: object) -> None:
    """Raise `ConfigError` for what is no number format of weights, such as its name."""
    meant = getattr(torch, dtype, None) if isinstance(dtype, str) else None
    mend = meant if isinstance(meant, torch.dtype) else torch.float32
    values = {"value": reprlib.repr(dtype), "mend": mend}
    if not isinstance(dtype, torch.dtype):
        raise ConfigError([Fault(N_("{value} is not a torch.dtype: use {mend}"), values)])
    if not dtype.is_floating_point:
        raise ConfigError([Fault(N_("{value} is not a weight format: use {mend}"), values)])


def available_devices() -> tuple[str, ...]:
    """Names of the devices that models can run on here, the fastest first."""
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return ("cpu",) if accelerator is None else (accelerator.type, "cpu")


def available_dtypes(device: str) -> tuple[str, ...]:
    """Number formats that this device computes in."""
    return tuple(name for name in DTYPES if not (device == "mps" and name == "float64"))


@cache
def device_name(device: str) -> str:
    """Return what its maker calls the device."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    return _processor() if device == "cpu" else device.upper()


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def synchronize(device: torch.device) -> None:
    """Wait until the device has done what this thread asked of it.

    Not for all that it does: while another thread captures a graph, CUDA permits that to none.
    """
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()
    elif device.type != "cpu":
        torch.accelerator.synchronize(device)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device, the CPU included, had no memory left."""
    says_so = "can't allocate memory" in str(error)  # the CPU has no error class of its own
    return isinstance(error, torch.OutOfMemoryError) or says_so


def free_memory() -> None:
    """Give back what is no longer used; while a graph is captured the device keeps it."""
    gc.collect()
    if len(available_devices()) > 1:
        with suppress(RuntimeError):
            torch.accelerator.memory.empty_cache()


def prepare_process() -> None:
    """Once, before the first model: as many threads as a pass may have, unless told otherwise.

    Each reader has a thread, and that cuBLAS takes the device's context in it is no news.
    """
    warnings.filterwarnings("ignore", "Attempting to run cuBLAS", UserWarning)
    if not os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(threads_of_a_pass())


def threads_of_a_pass() -> int:
    """Half of the CPUs that we may use, so that two passes, or a pass and a page, go on at once.

    Threads of one pass wait for each other without a rest: where a neighbour was at work, a
    training step took 0.2 s in one thread on two CPUs, and 1.5 s in two.
    """
    return max(1, min(MOST_THREADS, available_cpus() // 2))


def passes_at_once(device: str) -> int:
    """Passes that go on side by side: on a CPU as many as there are threads for, else one."""
    return max(1, available_cpus() // threads_of_a_pass()) if device == "cpu" else 1


def settle_process() -> None:
    """Take all that lives now out of the garbage collector's sight.

    With torch and pandas imported, going through what stays anyway takes longer than a rerun.
    What is new it looks through every dozen reruns, which make a thousand objects each, and all
    that readers hold every thousand: that stops all of them for longer than a rerun takes.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(max(NEW_OBJECTS, gc.get_threshold()[0]))


def memory_of(device: str) -> DeviceMemory:
    """The memory of the device in front of you; the machine counts as free, as it gives way."""
    if device == "cpu":
        machine = memory_of_machine()
        return DeviceMemory(machine, machine)
    if device == "mps":  # which shares the machine's
        most = torch.mps.recommended_max_memory()
        return DeviceMemory(max(0, most - torch.mps.driver_allocated_memory()), most)
    return DeviceMemory(*torch.accelerator.get_memory_info())


def memory_of_machine() -> int:
    """Bytes of memory of this machine, or of the container that runs here; 0 where nobody tells."""
    names = ("SC_PAGE_SIZE", "SC_PHYS_PAGES")
    told = hasattr(os, "sysconf") and all(name in os.sysconf_names for name in names)
    machine = os.sysconf(names[0]) * os.sysconf(names[1]) if told else 0
    limit = _limit_of_container()
    return min(machine, limit) if limit else machine


def _limit_of_container() -> int:
    """The bytes that its control group allows; 0 for no limit."""
    try:
        found = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return 0
    return int(found) if found.isdecimal() else 0


def available_cpus() -> int:
    """CPUs that this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
