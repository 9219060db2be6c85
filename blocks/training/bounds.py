"""Whether plain values are of their field's type and inside its bounds."""

import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any, get_args

from blocks.model.faults import N_, Fault
from blocks.model.legal import type_fault

Bounds = Mapping[str, tuple[float, float]]


def bound_faults(
    values: Mapping[str, Any], defaults: Mapping[str, Any], bounds: Bounds
) -> Iterator[Fault]:
    """Return the faults of each value by itself; a field has the type of its default.

    Bounds are inclusive. The mend is the nearest bound, or the default where the type is wrong.
    """
    for name, value in values.items():
        if not _has_type_of(defaults[name], value):
            yield type_fault(name, value, defaults[name])
        elif name in bounds and not bounds[name][0] <= value <= bounds[name][1]:  # NaN is outside
            yield _range_fault(name, value, bounds[name], defaults[name])


def coerce(kind: Any, value: Any) -> Any:
    """A plain string as the enum it stands for, where a field's type is one, or one or None."""
    for each in get_args(kind) or (kind,):
        if isinstance(each, type) and issubclass(each, StrEnum) and value in list(each):
            return each(value)
    return value


def coerce_fields(instance: object, kinds: Mapping[str, Any]) -> None:
    """`coerce` every field of a frozen dataclass that is being made."""
    for name, kind in kinds.items():
        object.__setattr__(instance, name, coerce(kind, getattr(instance, name)))


def plain_fields(instance: Any) -> dict[str, Any]:
    """The fields of a dataclass, enums as the strings that `coerce_fields` reads."""
    values = asdict(instance).items()
    return {name: str(each) if isinstance(each, StrEnum) else each for name, each in values}


def _has_type_of(default: Any, value: Any) -> bool:
    if type(default) is float:
        return type(value) in (int, float)
    return type(value) is type(default)


def _range_fault(name: str, value: float, bounds: tuple[float, float], default: Any) -> Fault:
    least, most = bounds
    mend = default if value != value else type(default)(min(max(value, least), most))
    text = N_("{name} ({value}) must be from {least} to {most}: use {mend}")
    said = {"name": name, "value": reprlib.repr(value), "least": least, "most": most, "mend": mend}
    return Fault(text, said, {name: mend})
