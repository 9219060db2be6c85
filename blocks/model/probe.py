"""Probes: where a model can be observed without touching its maths.

A `Probe` is an identity with a name, put at every tensor worth seeing. What listens to them is
set for one thread (`listening`); other threads that share the model see nothing of it.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from torch import Tensor, nn

Replacement = Callable[[Tensor], Tensor]
PLACE = re.compile(r"((encoder|decoder)\.)?((layers|mtp)\.\d+\.)?")  # may be empty


class Listener(Protocol):
    """What `listening` lets see the tensors that pass."""

    def wants(self, probe: "Probe") -> bool:
        """Whether this probe's tensor is kept or replaced."""

    def see(self, probe: "Probe", x: Tensor) -> Tensor:
        """Take note of what passes and return what shall pass."""

    def offered(self, probe: "Probe", later: Callable[[], Any]) -> None:
        """Keep what makes attention weights later, if they are wanted so."""


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let this listener see what passes in this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class Probe(nn.Module):
    """An identity with a name; where one listens, it sees (and may replace) what passes."""

    def __init__(self, name: str):
        super().__init__()
        self.path = name

    @property
    def is_observed(self) -> bool:
        """Whether someone in this thread wants what passes here."""
        listener = _listener.get()
        return listener is not None and listener.wants(self)

    def forward(self, x: Tensor) -> Tensor:
        """Return `x`, or what the listener puts in its place; any shape."""
        listener = _listener.get()
        return x if listener is None else listener.see(self, x)


class PatternProbe(Probe):
    """A probe at attention weights, which can also be had later, of what makes them."""

    def offer(self, later: Callable[[], Any]) -> None:
        """Let who listens take what makes the weights, in place of the weights."""
        listener = _listener.get()
        if listener is not None:
            listener.offered(self, later)


class Stage(Probe):
    """A probe on the path that information takes; its values are summed up as they pass."""


def name_probes(model: nn.Module) -> None:
    """Give every probe inside `model.layers` its layer: `pattern` becomes `layers.0.pattern`.

    In an encoder–decoder it becomes `encoder.layers.0.pattern` or `decoder.layers.0.pattern`; in a
    module that predicts further ahead `mtp.0.pattern`.
    """
    for path, module in model.named_modules():
        place = PLACE.match(path)
        if isinstance(module, Probe) and place is not None:
            module.path = place[0] + module.path
