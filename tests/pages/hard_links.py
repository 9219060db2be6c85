"""Links that nobody hopes for, generated over every declared field."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from pages.server.readers import FLAGS, Between, OneOf, flag
from pages.state.fields import CONFIG, FIELDS
from pages.state.link_fields.compare import Kept, text_of

GARBAGE = {
    "empty": "",
    "white": " \t\n ",
    "nul": "a\x00b",
    "escaped nul": "%00",
    "path": "../../../../etc/passwd",
    "another path": "..\\..\\file:///C:/boot.ini",
    "javascript": "javascript:alert(1)",
    "data": "data:text/html,<script>alert(1)</script>",
    "html": "<img src=x onerror=alert(1)><b>b</b>",
    "markdown": "**x** $y$ :material/home: [a](javascript:x) `b`",
    "template": "{0}{name} %s %(x)d ${x} %{y}",
    "quotes": "'\"\\&amp;#&=?+",
    "unicode": "Ω≈ç√∫ Z̸͎͛a̷ ﷽",
    "right to left": "مرحبا \u202eשלום",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈",
    "lone surrogate": "%ED%A0%80\ufffd",
    "digits of Arabic": "١٢٣",
    "10,000 characters": "x" * 10_000,
    "400 digits": "9" * 400,
    "less than 400 digits": "-" + "9" * 400,
    "1e308": "1e308",
    "-1e308": "-1e308",
    "5e-324": "5e-324",
    "overflow": "1e400",
    "nan": "nan",
    "inf": "inf",
    "-inf": "-inf",
    "-1": "-1",
    "0": "0",
    "1": "1",
    "2": "2",
    "0.5": "0.5",
    "hexadecimal": "0x10",
    "true": "true",
    "false": "false",
    "none": "none",
    "None": "None",
    "list": "[]",
    "numbers": "1.2.3",
    "names": "a,b,c",
    "a query": "A=d_model%3D8&B=x",
}
# Of a configuration, sizes that are run in no time, and some that cannot be.
SIZES = ("1", "2", "3", "8", "64", "1000000000")
SHARES = ("0", "0.01", "0.5", "0.99", "1", "1000000")
# What a link is not asked for at random: another run, another language than the reader's.
LEFT_ALONE = {"run", "compare"}


class Link(NamedTuple):
    """A try: its kind, and what the address says."""

    kind: str
    query: dict[str, str]


def garbage(name: str) -> Link:
    """Every field of this one value."""
    return Link(name, dict.fromkeys(FIELDS, GARBAGE[name]))


def at_the_end(end: str) -> Link:
    """Every bounded field at its least, or at its most."""
    readers = {name: field.read for name, field in FIELDS.items() if name not in CONFIG}
    bounded = {name: read for name, read in readers.items() if isinstance(read, Between)}
    return Link(f"at its {end}", {name: str(getattr(bounded[name], end)) for name in bounded})


def legal(seed: int, n: int = 40) -> Link:
    """Some fields, each at one of its extremes."""
    draw = random.Random(seed)
    names = draw.sample([name for name in FIELDS if name not in LEFT_ALONE], n)
    return Link("extremes together", {name: draw.choice(extremes(name)) for name in names})


def beside(seed: int) -> Link:
    """A and B, each of other extremes."""
    draw = random.Random(seed)
    query = legal(seed, n=12).query
    kept = [
        Kept(draw.choice([*GARBAGE.values()])[:40], tuple(_of_a_model(draw).items()))
        for _ in range(draw.randint(1, 3))
    ]
    return Link("A and B", {**query, **_of_a_model(draw), "kept": text_of(tuple(kept))})


def _of_a_model(draw: random.Random) -> dict[str, str]:
    names = draw.sample([*CONFIG], draw.randint(0, 3))
    found = {name: draw.choice(extremes(name)) for name in names}
    start = {"preset": draw.choice(("course", "stories-en-zh", "masked-words", "translator"))}
    return found | (start if draw.random() < 0.7 else {})


def trained_and_not() -> tuple[Link, ...]:
    """A as it was trained and B changed, and the other way round."""
    start = {"preset": "stories-en-zh"}
    changed = {**start, "d_ff": "64", "dropout": "0.3"}
    return tuple(
        Link(kind, {**b, "kept": text_of((Kept("A", tuple(a.items())),))})
        for kind, a, b in (("A trained", start, changed), ("B trained", changed, start))
    )


def texts() -> Iterator[Link]:
    """Every kind of garbage as the texts that are read."""
    for name, value in GARBAGE.items():
        yield Link(f"text: {name}", {"text": value, "other_text": value})


def extremes(name: str) -> tuple[str, ...]:
    """What a field may be at most and at least, and every word that it may be."""
    read = FIELDS[name].read
    if read is flag:
        return FLAGS
    if isinstance(read, OneOf):
        return read.options
    if name in CONFIG:
        return SIZES if isinstance(read, Between) else SHARES
    return (str(read.least), str(read.most)) if isinstance(read, Between) else ("", "0", "a b")
