"""Tokens along an axis: as many names as there is room for, and all of them under the cursor."""

from collections.abc import Callable, Sequence
from typing import Any

from pages.figures import marks
from pages.figures.theme import WIDE, token_label

CLOSE, CROWDED = 16, 24  # so many names get smaller, so that they stand apart on a phone


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
    step = -(-len(tokens) // at_most)
    shown = range(0, len(tokens), step)
    size = 12 if len(tokens) <= CLOSE else 10 if len(tokens) <= CROWDED else 9
    return {
        "tickmode": "array",
        "tickvals": list(shown),
        "ticktext": [label(tokens[i]) for i in shown],
        "tickfont": {"size": size},
        "showgrid": False,
        "zeroline": False,
    }


def slanted(
    tokens: Sequence[str], at_most: int, *, angle: int = -55, **more: Any
) -> dict[str, Any]:
    """Tokens from left to right, in margins that leave their names room (see `label_room`)."""
    return {**token_ticks(tokens, at_most), "tickangle": angle, "automargin": False, **more}


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
