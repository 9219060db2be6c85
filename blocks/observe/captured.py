"""What runs again and again on the same tensors: on CUDA one graph, elsewhere call by call.

The one place that knows the difference. A graph replays what the device did, without Python; it
reads and writes the same addresses each time, so whatever it reads has to stay where it is.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakTensorKeyDictionary

from blocks.model.config import ModelConfig


def can_capture(config: ModelConfig, device: torch.device | str) -> bool:
    """Whether a pass can be a graph: on CUDA, and where no shape is decided by values.

    How many tokens an expert reads, the router says while the pass runs; nothing else asks.
    """
    return torch.device(device).type == "cuda" and config.n_experts == 1


def reserved_bytes(device: torch.device) -> int:
    """What the allocator has of the device, graphs included; 0 where there are none."""
    return torch.cuda.memory_reserved(device) if device.type == "cuda" else 0


def captured(work: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """`work`, to be called any number of times; it is run before this returns.

    It must leave what it finds in tensors that its owner can reach. Raises RuntimeError where the
    device cannot hold it as a graph, and nothing is lost by that.
    """
    if device.type != "cuda":
        work()
        return work
    side, read = torch.cuda.Stream(device), ReadFromOutside()
    side.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(side):
        work()  # kernels are loaded, and what later passes share is made: now it is from outside
        with read:
            work()
    torch.cuda.current_stream(device).wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):  # others go on
        work()
    kept = [each for each in read.tensors if not isinstance(each, nn.Parameter)]
    return Replayed(graph, kept)


class Replayed:
    """A graph, and what it reads beside weights: what a cache lets go of would be overwritten."""

    def __init__(self, graph: "torch.cuda.CUDAGraph", read: list[Tensor]):
        self.graph, self.read = graph, read

    def __call__(self) -> None:
        """Do again what was captured."""
        self.graph.replay()


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
