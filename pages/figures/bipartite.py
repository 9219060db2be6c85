"""Attention as lines: tokens left and right, a line for each weight that is large.

Lines are paths of the layout: one path holds all lines of a level, however many there are.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pages.figures import marks, palette
from pages.figures.axes import BARE
from pages.figures.described import SAID
from pages.figures.theme import TITLE, Picture, Translate, faint, figure
from pages.figures.token_axis import token_ticks

LEVELS = 8
LEAST = 0.02
LABELS = 64


class Keys(NamedTuple):
    """The tokens that are read where they are those of another text.

    `first`: the number of the first that is drawn; `pinned`: the one whose readers stand out.
    """

    tokens: Sequence[str]
    first: int = 0
    pinned: int | None = None


def edges(
    weights: np.ndarray, most: int, pinned: int | None, pinned_key: int | None = None
) -> np.ndarray:
    """The `most` largest weights of each query: (n, 2), query and key.

    Those under 0.02 are left out, but for the `pinned` query; all of the `pinned_key` from there
    on are drawn. `weights`: (query, key), NaN where masked.
    """
    found = np.nan_to_num(weights)
    largest = np.argsort(-found, axis=1, kind="stable")[:, :most]
    query = np.repeat(np.arange(len(found)), largest.shape[1])
    key = largest.ravel()
    is_drawn = (found[query, key] >= LEAST) | ((query == pinned) & (found[query, key] > 0))
    drawn = np.stack((query[is_drawn], key[is_drawn]), axis=1)
    if pinned_key is None:
        return drawn
    readers = np.flatnonzero(found[:, pinned_key] >= LEAST)
    arriving = np.stack((readers, np.full(len(readers), pinned_key)), axis=1)
    return np.concatenate((drawn[drawn[:, 1] != pinned_key], arriving))


def lines(
    weights: np.ndarray,
    tokens: Sequence[str],
    *,
    most: int,
    pinned: int | None,
    first: int = 0,
    keys: Keys | None = None,
    title: str,
    _: Translate,
) -> Picture:
    """Tokens that read on the left, tokens that are read on the right.

    A line is as strong as its weight, in eight levels, one path each; those of the `pinned` query
    have the colour of what is pinned. Of a long text tokens from `first` on are drawn; `pinned` is
    counted within them. Without `keys` a text reads itself. A click on a token returns its number
    in its text, and 1 if it stands on the right.
    """
    keys = Keys(tokens, first) if keys is None else keys
    found = edges(weights, most, pinned, keys.pinned)
    is_pinned = (found[:, 0] == pinned) | (found[:, 1] == keys.pinned)
    n = max(len(tokens), len(keys.tokens))
    shift = (len(tokens) - len(keys.tokens)) / 2  # how far down keys stand: middles are level
    return figure(
        _ends(weights, tokens, pinned, first, keys, _),
        title=title,
        height=TITLE + 30 + max(240, min(1000, (26 if n <= 24 else 15) * n)),
        margin=(TITLE + 22, 8),
        xaxis={"range": [-0.02, 1.02], "showticklabels": False, **BARE},
        yaxis=_side(tokens, n),
        yaxis2={**_side(keys.tokens, n), "side": "right", "overlaying": "y"},
        shapes=[
            *_levels(weights, found[~is_pinned], palette.ATTENTION, shift),
            *_levels(weights, found[is_pinned], palette.PINNED, shift),
        ],
        annotations=[
            _column(_("query (attends)"), 0, "left"),
            _column(_("key (attended to)"), 1, "right"),
        ],
    )


def _side(tokens: Sequence[str], n: int) -> dict[str, Any]:
    """A column of tokens in a picture with room for `n`: a shorter one is centred."""
    spare = (n - len(tokens)) / 2
    return {**token_ticks(tokens, LABELS), "range": [len(tokens) - 0.5 + spare, -0.5 - spare]}


def _column(text: str, x: float, anchor: str) -> dict[str, Any]:
    place = {"x": x, "xref": "paper", "y": 1, "yref": "paper", "xanchor": anchor}
    return {**place, "yanchor": "bottom", "text": text, "font": {"size": 11}}


def _levels(
    weights: np.ndarray, found: np.ndarray, color: str, shift: float
) -> list[dict[str, Any]]:
    """One path a level: faint ones first, so that strong ones lie on top."""
    level = np.minimum((weights[found[:, 0], found[:, 1]] * LEVELS).astype(int), LEVELS - 1)
    return [
        _level(
            found[level == i], faint(color, 0.12 + 0.88 * (i + 0.5) / LEVELS), 0.8 + 0.55 * i, shift
        )
        for i in range(LEVELS)
        if (level == i).any()
    ]


def _level(found: np.ndarray, color: str, width: float, shift: float) -> dict[str, Any]:
    """Curves that leave and arrive level, so that each can be followed."""
    ends = ((query, key + shift) for query, key in found.tolist())
    curves = (f"M 0,{query} C 0.4,{query} 0.6,{key:g} 1,{key:g}" for query, key in ends)
    line = {"color": color, "width": width}
    return {"type": "path", "path": " ".join(curves), "line": line, "layer": "below"}


def _ends(
    weights: np.ndarray,
    tokens: Sequence[str],
    pinned: int | None,
    first: int,
    keys: Keys,
    _: Translate,
) -> list[dict[str, Any]]:
    """What is clicked and hovered: each token on the left, and each on the right."""
    n, n_keys = len(tokens), len(keys.tokens)
    found = np.nan_to_num(weights)
    most, received = found.argmax(axis=1), found.sum(axis=0)
    names, key_names = (token_ticks(each, len(each))["ticktext"] for each in (tokens, keys.tokens))
    reads = _("attends most to {key}: {weight:.3f}")
    left = [
        f"{names[i]}<br>{reads.format(key=key_names[most[i]], weight=found[i, most[i]])}"
        for i in range(n)
    ]
    right = [
        f"{key_names[i]}<br>{_is_read(found, pinned, i, received[i], _)}" for i in range(n_keys)
    ]
    return [
        _dots(0, left, _colors(n, pinned), range(first, first + n)),
        _dots(1, right, _colors(n_keys, keys.pinned), range(keys.first, keys.first + n_keys)),
    ]


def _is_read(found: np.ndarray, pinned: int | None, key: int, total: float, _: Translate) -> str:
    if pinned is None:
        return _("receives a weight of {total:.2f} from all queries").format(total=total)
    text = _(
        "receives a weight of {weight:.3f} from the pinned token, {total:.2f} from all queries"
    )
    return text.format(weight=found[pinned, key], total=total)


def _colors(n: int, pinned: int | None) -> list[str]:
    return [palette.PINNED if i == pinned else palette.ATTENTION for i in range(n)]


def _dots(x: int, hovers: list[str], colors: list[str], numbers: range) -> dict[str, Any]:
    n = len(numbers)
    return marks.dots(
        [x] * n,
        range(n),
        yaxis="y2" if x else "y",
        customdata=[[i, x] for i in numbers],
        **marks.told(hovers),
        marker={"size": 8 if n <= 64 else 4, "color": colors},
        **marks.steady(),
        meta={SAID: [] if x else hovers},
    )
