"""What two trainings differ in."""

from typing import Any

from blocks.training.spec import TrainingSpec

LONGEST = 40


def differences(one: TrainingSpec, other: TrainingSpec) -> dict[str, tuple[Any, Any]]:
    """The fields that differ, with both values; a long text stands as its length."""
    left, right = _flat(one), _flat(other)
    names = [name for name in left if left[name] != right[name]]
    return {name: (_short(left[name]), _short(right[name])) for name in names}


def _flat(spec: TrainingSpec) -> dict[str, Any]:
    plain = spec.plain()
    parts = (plain["config"], plain["recipe"], plain["task"])
    flat = {name: value for part in parts for name, value in part.items()}
    return {**flat, "seed": plain["seed"], "device": plain["device"]}


def _short(value: Any) -> Any:
    is_long = isinstance(value, str) and len(value) > LONGEST
    return len(value) if is_long else value
