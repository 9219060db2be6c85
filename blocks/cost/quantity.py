"""Numbers as people type them: 1e19, 300B, 1.5T, 80 GiB, 40%, 3000 亿."""

import math
import re
import unicodedata

from blocks.model.faults import N_, ConfigError, Fault

_TYPED = re.compile(r"([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([a-z%千万亿]*)(/s)?", re.IGNORECASE)
_NOUNS = re.compile(r"(flops?|tokens?|hours?|parameters?|params?|h)$", re.IGNORECASE)
_LETTERS = "kMGTPEZY"
_UNITS = {
    "": 1.0,
    "%": 0.01,
    "b": 1e9,  # 300B parameters or tokens; bytes are written with a prefix: GB
    "千": 1e3,
    "万": 1e4,
    "百万": 1e6,
    "亿": 1e8,
    "万亿": 1e12,
    **{letter.lower(): 1000.0**power for power, letter in enumerate(_LETTERS, 1)},
    **{f"{letter.lower()}b": 1000.0**power for power, letter in enumerate(_LETTERS, 1)},
    **{f"{letter.lower()}ib": 1024.0**power for power, letter in enumerate(_LETTERS, 1)},
}
_WRITTEN = ((1e12, "T"), (1e9, "B"), (1e6, "M"))


def quantity(text: str) -> float:
    """The number that is meant. Raises `ConfigError` for what is none."""
    plain = re.sub(r"[\s,_]", "", unicodedata.normalize("NFKC", text))
    found = _TYPED.fullmatch(plain)
    unit = _UNITS.get(_NOUNS.sub("", found[2]).lower()) if found else None
    if found is None or unit is None or not math.isfinite(value := float(found[1]) * unit):
        said = N_("“{text}” is not a number: write one such as 1e19, 300B, 1.5T, 80 GiB or 40%")
        raise ConfigError([Fault(said, {"text": text.strip()[:40]})])
    return value


def written(value: float) -> str:
    """Write it so that it can be typed again, without loss where it is whole: 300B, 1e19, 0.4."""
    if abs(value) >= 1e15:
        short = f"{value:g}"
        return (short if float(short) == value else repr(float(value))).replace("e+", "e")
    for size, letter in _WRITTEN:
        if value >= size and float(f"{value / size:g}") * size == value:
            return f"{value / size:g}{letter}"
    return f"{int(value):,}" if float(value).is_integer() else f"{value:g}"
