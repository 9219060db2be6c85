"""JSON of files that others wrote."""

import json
from typing import Any


def read_json(text: str) -> Any:
    """The value of a JSON text.

    Raises `ValueError` where it is none, or has half a surrogate pair (`"\\ud800"`), which is no
    character and cannot be written; `RecursionError` where it is nested too deeply.
    """
    value = json.loads(text)
    check_characters(value)
    return value


def check_characters(value: Any) -> None:
    """Raise `UnicodeEncodeError` where a text in this value cannot be written as UTF-8."""
    json.dumps(value, ensure_ascii=False).encode()
