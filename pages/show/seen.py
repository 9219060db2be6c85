"""What is put on the page, noted as it is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from streamlit.runtime.scriptrunner import get_script_run_ctx


@dataclass
class Node:
    """A place on the page: what stands there, or what is inside of it, in its order."""

    element: Any = None
    block: Any = None
    inside: dict[int, Node] = field(default_factory=dict)


@contextmanager
def noted(into: Node) -> Iterator[None]:
    """Note all that this script draws in between; what is drawn anew replaces what it was.

    Streamlit sends each element with its place. It is noted on its way, of this run of the script
    alone.
    """
    context = get_script_run_ctx()
    if context is None:
        yield
        return
    send = context.enqueue

    def note_and_send(message: Any) -> None:
        _note(into, message)
        send(message)

    context.enqueue = note_and_send  # type: ignore[method-assign, assignment]  # its own
    try:
        yield
    finally:
        del context.enqueue


def is_noted() -> bool:
    """Whether what is drawn goes into a file, where nothing opens under a pointer."""
    context = get_script_run_ctx()
    return context is not None and "enqueue" in vars(context)


def _note(root: Node, message: Any) -> None:
    if message.WhichOneof("type") != "delta":
        return
    kind = message.delta.WhichOneof("type")
    if kind not in ("new_element", "add_block"):
        return
    node = root
    for step in message.metadata.delta_path:
        node = node.inside.setdefault(step, Node())
    node.element = message.delta.new_element if kind == "new_element" else None
    node.block = message.delta.add_block if kind == "add_block" else None
    node.inside.clear()
