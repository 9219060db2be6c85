"""Names beside dots, where they cover neither one another nor other dots."""

from collections.abc import Sequence
from html import unescape
from typing import NamedTuple

from pages.figures.theme import WIDE

LATIN, CHINESE, NAME_LINE, OFF = 6.2, 11.5, 15, 6  # pixels
Box = tuple[float, float, float, float]  # left, right, bottom, top


class Name(NamedTuple):
    """A name and its dot in pixels from below left; `sides`: where it may stand, best first.

    `must_stand`: it is written even where it covers another.
    """

    text: str
    x: float
    y: float
    sides: Sequence[str]
    must_stand: bool = False


def names_apart(names: Sequence[Name], width: float) -> list[str | None]:
    """The side on which each is written, None where there is no room; who must stand is first.

    `sides` are those of Plotly, as "top left"; of those with room the one that covers the fewest
    dots is taken.
    """
    found: list[str | None] = [None] * len(names)
    taken: list[Box] = []
    for i in sorted(range(len(names)), key=lambda i: not names[i].must_stand):
        name = names[i]
        free = [side for side in name.sides if _is_free(_box(name, side), taken, width)]
        if not free and not name.must_stand:
            continue
        side = min(free or name.sides[:1], key=lambda side: _covered(_box(name, side), names))
        found[i] = side
        taken.append(_box(name, side))
    return found


def _box(name: Name, side: str) -> Box:
    vertical, across = side.split()
    long = sum(CHINESE if ord(c) > WIDE else LATIN for c in unescape(name.text))
    left = name.x + OFF if across == "right" else name.x - OFF - long
    low = name.y + {"top": OFF, "middle": -NAME_LINE / 2, "bottom": -OFF - NAME_LINE}[vertical]
    return left, left + long, low, low + NAME_LINE


def _is_free(box: Box, taken: Sequence[Box], width: float) -> bool:
    return box[0] >= 0 and box[1] <= width and not any(_overlap(box, each) for each in taken)


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def _covered(box: Box, names: Sequence[Name]) -> int:
    return sum(box[0] < each.x < box[1] and box[2] < each.y < box[3] for each in names)
