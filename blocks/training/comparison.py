"""What two trainings differ in."""

from typing import Any

from blocks.training.spec import TrainingSpec

LONGEST = 40


def differences(a: TrainingSpec, b: TrainingSpec) -> dict[str, tuple[Any, Any]]:
    """The fields that differ, with both values; a long text stands as its length.

    None where one of them has no such field: no teacher.
    """
    left, right = _flat(a), _flat(b)
    both = {name: (left.get(name), right.get(name)) for name in left | right}
    return {
        name: (_short(one), _short(other)) for name, (one, other) in both.items() if one != other
    }


def _flat(spec: TrainingSpec) -> dict[str, Any]:
    plain = spec.plain()
    taught = {name: each for name, each in plain.get("teaching", {}).items() if name != "config"}
    parts = (plain["config"], plain["recipe"], plain["task"], taught)
    flat = {name: value for part in parts for name, value in part.items()}
    origin = spec.origin.name if spec.origin else None
    return {**flat, "origin": origin, "seed": plain["seed"], "device": plain["device"]}


def _short(value: Any) -> Any:
    is_long = isinstance(value, str) and len(value) > LONGEST
    return len(value) if is_long else value
