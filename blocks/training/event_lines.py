"""Events as lines of JSON, and back: how a process tells another one of its training."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from blocks.model.faults import Fault
from blocks.training.events import (
    Answer,
    Ended,
    Evaluation,
    Event,
    Reason,
    Sample,
    SnapshotTaken,
    Step,
)

KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (Step, Evaluation, Sample, SnapshotTaken, Ended)
}


def to_line(event: Event) -> str:
    """One line; numbers that are none stay what they are, other objects become their text."""
    return json.dumps([type(event).__name__, asdict(event)], default=str)


def from_line(line: str) -> Event:
    """What `to_line` has written. Raises `ValueError`, `KeyError` or `TypeError` for others."""
    name, values = json.loads(line)
    event: Event = KINDS[name](**{key: _read(key, value) for key, value in values.items()})
    return event


def _read(name: str, value: Any) -> Any:
    match name:
        case "layer_gradient_norms":
            return tuple(value)
        case "answers":
            return tuple(Answer(**answer) for answer in value)
        case "reason":
            return Reason(value)
        case "fault":
            return None if value is None else _fault(value)
        case _:
            return value


def _fault(values: Mapping[str, Any]) -> Fault:
    return Fault(values["text"], values["values"], values["mend"])
