"""What runs again and again on the same tensors: on CUDA one graph, elsewhere call by call.

The one place that knows the difference. A graph replays what the device did, without Python; it
reads and writes the same addresses each time, so whatever it reads has to stay where it is.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakTensorKeyDictionary

from blocks.model.config import ModelConfig

_FIRST_CALLS = Lock()  # of all graphs: what a capture stands for must not be waited for elsewhere


def can_capture(config: ModelConfig, device: torch.device | str) -> bool:
    """Whether a pass can be a graph: on CUDA, and where no shape is decided by values.

    How many tokens an expert reads, the router says while the pass runs; nothing else asks.
    """
    return torch.device(device).type == "cuda" and config.n_experts == 1


def reserved_bytes(device: torch.device) -> int:
    """What the allocator has of the device, graphs included; 0 where there are none."""
    return torch.cuda.memory_reserved(device) if device.type == "cuda" else 0


def captured(work: Callable[[], None], device: torch.device) -> "Again":
    """What does `work` again at every call; it is done before this returns.

    Raises RuntimeError where the device cannot hold it as a graph, and nothing is lost by that.
    """
    again = Again(device)
    again(work)
    while not again.is_held:
        again(work)
    return again


class UncapturedError(RuntimeError):
    """The device cannot hold this as a graph."""


class Again:
    """The same work, done once at every call: on CUDA from the third on as a graph.

    It must leave what it finds in tensors that its owner can reach. In the first call kernels are
    loaded, and what later passes share is made; in the second that is from outside, and noted: what
    a cache lets go of would be overwritten. `is_held`: nothing changes from here on.

    `holds`: it may become a graph; `draws`: random numbers that it draws, seeded before each call.
    """

    def __init__(
        self, device: torch.device, *, holds: bool = True, draws: torch.Generator | None = None
    ):
        self.device, self.draws = device, draws
        self.is_held = not holds or device.type != "cuda"
        self.read: list[Tensor] = []
        self._graph: torch.cuda.CUDAGraph | None = None
        self._n_calls = 0

    @property
    def is_graph(self) -> bool:
        """Whether no Python is left in it."""
        return self._graph is not None

    def __call__(self, work: Callable[[], None]) -> None:
        """Do it.

        Raises `UncapturedError` where it cannot become a graph: this time it was not done then, and
        from the next time on it is, as without one.
        """
        self._n_calls += 1
        if self._graph is not None:
            self._graph.replay()
        elif self.is_held:
            work()
        else:
            with _FIRST_CALLS:
                self._first_calls(work)

    def _first_calls(self, work: Callable[[], None]) -> None:
        if self._n_calls == 1:
            self._beside(work, nullcontext())
        elif self._n_calls == 2:
            read = ReadFromOutside()
            self._beside(work, read)
            self.read = [each for each in read.tensors if not isinstance(each, nn.Parameter)]
        else:
            self.is_held = True
            self._graph = self._captured(work)
            self._graph.replay()

    def _beside(self, work: Callable[[], None], watched: AbstractContextManager[Any]) -> None:
        """On a stream of its own, as a capture will be."""
        here, side = torch.cuda.current_stream(self.device), _side(self.device)
        side.wait_stream(here)
        with torch.cuda.stream(side), watched:
            work()
        here.wait_stream(side)

    def _captured(self, work: Callable[[], None]) -> "torch.cuda.CUDAGraph":
        graph = torch.cuda.CUDAGraph()
        try:
            if self.draws is not None:
                graph.register_generator_state(self.draws)
            how: dict[str, Any] = {"stream": _side(self.device)}
            with _no_garbage(), torch.cuda.graph(graph, capture_error_mode="thread_local", **how):
                work()  # nothing is done yet, and other threads go on
        except RuntimeError as error:
            if self.draws is not None:  # which still counts what a graph would draw
                self.draws.graphsafe_set_state(self.draws.clone_state())
            raise UncapturedError(str(error)) from error
        return graph


@cache
def _side(device: torch.device) -> "torch.cuda.Stream":
    """Where graphs are made, one at a time: torch has few streams, and gives them out in turn."""
    return torch.cuda.Stream(device)


@contextmanager
def _no_garbage() -> Iterator[None]:
    """No graph that nobody has is let go of meanwhile: in a capture that is not permitted."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def fill(there: Any, new: Any) -> None:
    """Write new values into tensors, or tuples of them, of the same shapes.

    It happens behind what is under way on the device, and nobody waits for that.
    """
    if isinstance(there, tuple):
        for each, other in zip(there, new, strict=True):
            fill(each, other)
    elif there is not None and there is not new:
        is_sent = there.is_cuda and new.is_cpu
        there.copy_(new.pin_memory() if is_sent else new, non_blocking=is_sent)


class ReadFromOutside(TorchDispatchMode):
    """Collects the tensors that operations read and that none of them made: weights, tables."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tensors: list[Tensor] = []
        self._known = WeakTensorKeyDictionary()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Note what goes in, then what comes out."""
        for each in tree_leaves((args, kwargs)):
            if isinstance(each, Tensor) and each not in self._known:
                self.tensors.append(each)
                self._known[each] = True
        out = func(*args, **(kwargs or {}))
        for each in tree_leaves(out):
            if isinstance(each, Tensor):
                self._known[each] = True
        return out
