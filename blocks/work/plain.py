"""Values of ours as one line of JSON, and back: what a process tells another one.

Frozen dataclasses, named tuples, enums, tables, arrays and paths carry their name, so that the
line says all that is needed to read it. Only classes of `blocks` are made, from their fields.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

KIND = "is a"
TABLE, ARRAY, PATH = "table", "array", "path"


def to_line(value: object) -> str:
    """One line; numbers that are none stay what they are, unknown objects become their text."""
    return json.dumps(_plain(value), default=str)


def from_line(line: str) -> Any:
    """What `to_line` has written; lists are tuples. Raises `ValueError` for anything else."""
    try:
        return _value(json.loads(line))
    except (KeyError, TypeError, AttributeError, ImportError) as error:
        raise ValueError(f"no value of ours: {line[:100]}") from error


def _plain(value: object) -> object:
    match value:
        case Enum():
            return {KIND: _name(type(value)), "value": value.value}
        case tuple() if hasattr(value, "_asdict"):
            return {KIND: _name(type(value)), **_all_plain(value._asdict())}
        case tuple() | list():
            return [_plain(each) for each in value]
        case Mapping():
            return _all_plain(value)
        case pd.DataFrame():
            return {KIND: TABLE, "columns": {name: [*value[name]] for name in value}}
        case np.ndarray():
            text = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
            return {KIND: ARRAY, "dtype": value.dtype.str, "shape": value.shape, "bytes": text}
        case Path():
            return {KIND: PATH, "path": str(value)}
        case _ if is_dataclass(value):
            each = {field.name: getattr(value, field.name) for field in fields(value)}
            return {KIND: _name(type(value)), **_all_plain(each)}
        case np.generic():
            return value.item()
        case _:
            return value


def _all_plain(values: Mapping[str, object]) -> dict[str, object]:
    return {name: _plain(value) for name, value in values.items()}


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return tuple(map(_value, plain))
    if not isinstance(plain, dict):
        return plain
    if KIND not in plain:
        return {name: _value(each) for name, each in plain.items()}
    values = {name: each for name, each in plain.items() if name != KIND}
    match plain[KIND]:
        case "table":
            return pd.DataFrame(values["columns"])
        case "array":
            flat = np.frombuffer(base64.b64decode(values["bytes"]), np.dtype(values["dtype"]))
            return flat.reshape(values["shape"]).copy()
        case "path":
            return Path(values["path"])
        case name:
            return _class(name)(**{each: _value(value) for each, value in values.items()})


@lru_cache(maxsize=256)
def _class(name: str) -> type[Any]:
    """A dataclass, a named tuple or an enum of ours."""
    module, _colon, path = name.partition(":")
    found: Any = getattr(import_module(module), path) if module.startswith("blocks.") else None
    is_ours = isinstance(found, type) and (
        is_dataclass(found) or hasattr(found, "_fields") or issubclass(found, Enum)
    )
    if not is_ours:
        raise ValueError(f"no value of ours: {name}")
    return cast("type[Any]", found)
