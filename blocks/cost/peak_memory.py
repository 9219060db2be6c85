"""Measure the memory that a pass takes."""

import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode


def peak_memory(device: torch.device) -> "AllocatedMemory | TensorMemory":
    """Choose what measures on this device: its allocator where it counts, else tensor by tensor.

    After the `with`, `peak_bytes` is the most that was alive at once, beyond what was there
    before (weights, input).
    """
    return AllocatedMemory() if device.type in ("cuda", "xpu") else TensorMemory()


class AllocatedMemory:
    """Asks the accelerator's own allocator; one run at a time, since it counts for all."""

    peak_bytes = 0

    def __enter__(self) -> Self:
        torch.accelerator.memory.reset_peak_memory_stats()
        self.before = torch.accelerator.memory.memory_allocated()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.peak_bytes = torch.accelerator.memory.max_memory_allocated() - self.before


class TensorMemory(TorchDispatchMode):
    """Counts the bytes of every tensor made inside the `with`, while it is alive.

    For this thread alone; what a kernel uses inside itself is not seen. A tensor on the meta
    device takes no memory.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.alive: dict[int, weakref.ref[torch.UntypedStorage]] = {}
        self.alive_bytes = 0
        self.peak_bytes = 0

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run the operation and note what it made."""
        out = func(*args, **(kwargs or {}))
        if func.is_view or func._schema.is_mutable:  # no new memory
            return out
        for tensor in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(tensor, torch.Tensor) and not tensor.is_meta:
                self._note(tensor.untyped_storage())
        return out

    def _note(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self.alive:
            return

        def forget(_: object) -> None:
            if self.alive.pop(key, None) is not None:
                self.alive_bytes -= size

        self.alive[key] = weakref.ref(storage, forget)
        self.alive_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.alive_bytes)
