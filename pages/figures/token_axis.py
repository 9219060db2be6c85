"""Tokens along an axis: as many names as there is room for, and all of them under the cursor."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pages.figures import marks
from pages.figures.theme import WIDE, token_label

CLOSE, CROWDED = 16, 24  # so many names get smaller, so that they stand apart on a phone
FULL, ACROSS = 12, 240  # pixels of few names, and of all of them from left to right on a phone
NARROW = 170  # pixels of names that are not small: three pictures side by side, each with its scale
FEW_CHARACTERS = 36  # pixels


def label_room(tokens: Sequence[str]) -> int:
    """Pixels that slanted token labels need; Chinese characters are twice as wide."""
    return max(38, max(map(label_width, tokens)) + 20)  # of the shortest, their height counts


def label_width(token: str) -> int:
    """Pixels that the label of a token is wide."""
    return text_width(token_label(token))


def text_width(text: str) -> int:
    """Pixels that small text is wide, whole."""
    return 6 * sum(2 if ord(c) > WIDE else 1 for c in text)


def token_ticks(
    tokens: Sequence[str], at_most: int, label: Callable[[str], str] = token_label
) -> dict[str, Any]:
    """As many tokens as there is room for; `label` writes what stands there, of other names too."""
    return _ticks(tokens, -(-len(tokens) // at_most), label)


def _ticks(tokens: Sequence[str], step: int, label: Callable[[str], str]) -> dict[str, Any]:
    shown = range(0, len(tokens), step)
    return {
        "tickmode": "array",
        "tickvals": list(shown),
        "ticktext": [label(tokens[i]) for i in shown],
        "tickfont": {"size": _size(len(tokens))},
        "showgrid": False,
        "zeroline": False,
    }


def _size(n: int) -> int:
    """Pixels of so many names."""
    return FULL if n <= CLOSE else 10 if n <= CROWDED else 9


def slanted(
    tokens: Sequence[str], at_most: int, *, angle: int = -55, is_narrow: bool = False, **more: Any
) -> dict[str, Any]:
    """Tokens from left to right, in margins that leave their names room (see `label_room`).

    Upright where two lines have room for them, and where they are short and Chinese, which nobody
    reads aslant; otherwise slanted, no more than `at_most`. `is_narrow`: of three pictures side by
    side.
    """
    lines = partial(_lines, tokens, is_narrow=is_narrow)
    step = max(1, -(-lines(1) // 2))  # every which of them has room upright, in two lines
    if step > 1 and not _are_characters(tokens):
        return {**token_ticks(tokens, at_most), "tickangle": angle, "automargin": False, **more}
    ticks = _ticks(tokens, step, token_label)
    if lines(step) > 1:
        ticks["ticktext"] = in_two_lines(ticks["ticktext"], is_above=more.get("side") == "top")
    return {**ticks, "tickangle": 0, "automargin": False, **more}


def in_two_lines(labels: Sequence[str], *, is_above: bool = False) -> list[str]:
    """Every second label a line further from the axis, so that none touches the next."""
    further = "{}<br>\u00a0" if is_above else "\u00a0<br>{}"
    return [further.format(label) if i % 2 else label for i, label in enumerate(labels)]


def _are_characters(tokens: Sequence[str]) -> bool:
    """Whether there is Chinese among them, and none is longer than a few characters."""
    is_wide = any(ord(sign) > WIDE for token in tokens for sign in token)
    return is_wide and max(map(label_width, tokens)) <= FEW_CHARACTERS


def _lines(tokens: Sequence[str], step: int, *, is_narrow: bool) -> int:
    """In how many lines so many of them have room upright on a phone, or in a third of a page."""
    across = NARROW if is_narrow else ACROSS * FULL / _size(len(tokens))
    widest = max(map(label_width, tokens), default=0)
    return math.ceil(widest * math.ceil(len(tokens) / step) / across)


def columns(hovers: Sequence[str], returns: Sequence[int], height: float) -> dict[str, Any]:
    """An invisible bar over each token, so that even a tiny one can be hovered and clicked."""
    return marks.bars(
        range(len(hovers)),
        [height] * len(hovers),
        customdata=[[value] for value in returns],
        **marks.told(hovers),
        showlegend=False,
        **marks.unseen(),
    )


def hover_names(tokens: Sequence[str], label: Callable[[str], str] = token_label) -> dict[str, Any]:
    """A second axis without labels, on which every token has its name under the cursor."""
    everyone = token_ticks(tokens, len(tokens), label)
    return {**everyone, "showticklabels": False, "ticks": "", "automargin": False}
