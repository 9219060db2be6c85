"""What the pictures of a step share: how large they are, and what rows and columns are called."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pages.figures.large import GROWTH
from pages.figures.matrix import NUMBERS_UP_TO, Matrix, Place, Returns, numbered
from pages.figures.theme import PRESENTED, Picture, Translate
from pages.figures.token_axis import label_room, label_width, slanted, token_ticks
from pages.panels.attention.matrices import MOST_TOKENS, SQUARES

KEYS_NAMED, SYMBOL, BAR = 12, 40, 60  # keys; pixels of a symbol, and of a scale below a matrix
GAP = 0.03  # of the width, between two matrices
NARROW = 280  # pixels between the edges of a picture on a phone
FEW, WIDEST = 6, 16  # tokens and features whose numbers are all shown
WRITTEN = 20  # pixels of the numbers of few
ON_A_PHONE, HIGH_THERE = 10, 380  # tokens whose numbers have room; pixels of a matrix
IN_FULL, LOW, HIGH, BESIDE = 1180, 385, 445, (680, 540)  # pixels of a projector's screen


class Chosen(NamedTuple):
    """The cell that is written out, counted within what is drawn; None: not drawn."""

    query: int
    key: int | None
    feature: int | None


class Size(NamedTuple):
    """How wide and high a picture is in pixels where it is presented; (0, 0): as its page has it.

    Presented, all texts and the room for them are larger by `GROWTH`. `is_narrow`: on a phone,
    where a step on scores shows what comes out alone, every key named.
    """

    width: int = 0
    height: int = 0
    is_narrow: bool = False

    @property
    def growth(self) -> float:
        return GROWTH if self.width else 1

    @property
    def room_for_title(self) -> int:
        """Pixels above the symbols of the matrices, as they are before they grow."""
        return 4 if self.width else 26

    @property
    def is_in_full(self) -> bool:
        return self.width == IN_FULL

    def given_to(self, picture: Picture) -> Picture:
        """The picture with this size."""
        if not self.width:
            return picture
        return picture.with_layout(height=self.height, meta={PRESENTED: self.width})


def size_of(n_tokens: int, n_features: int, *, is_high: bool) -> Size:
    """Of a step that is presented: few tokens have the whole width, others that of a column.

    `is_high`: a matrix in it has a row for each feature of the model.
    """
    if n_tokens > FEW or n_features > WIDEST:
        return Size(*BESIDE)
    return Size(IN_FULL, HIGH if is_high else LOW)


def returns(matrix: Matrix, tokens: Sequence[int]) -> Returns:
    """What a click on a cell of this matrix gives (see `cells`); `tokens`: those drawn."""
    is_square = matrix.name in SQUARES
    return tokens, tokens if is_square else range(matrix.values.shape[1]), int(is_square)


def written(matrix: Matrix, size: Size) -> dict[str, Any]:
    """The numbers in the cells of a matrix that is read, where all can be shown."""
    if not size.is_in_full:
        return {}
    font = {"textfont": {"size": WRITTEN}} if matrix.values.shape[1] <= FEW else {}
    return {**numbered(matrix.values, WIDEST), **font}


def written_result(matrix: Matrix, size: Size) -> dict[str, Any]:
    """The numbers in the cells of what a step gives, where they can be read."""
    most = ON_A_PHONE if size.is_narrow else NUMBERS_UP_TO
    return {**numbered(matrix.values, most), **written(matrix, size)}


def named_scale(matrix: Matrix, bar: dict[str, Any], _: Translate) -> dict[str, Any]:
    """The scale of scores is called so, since a head has values, too."""
    if matrix.is_weights or matrix.name not in SQUARES:
        return bar
    return {**bar, "title": {**bar.get("title", {}), "text": _("scores")}}


def height_of(n_rows: int, size: Size) -> int:
    """Pixels of a matrix with so many rows, on a page or a phone."""
    return max(260, min(HIGH_THERE if size.is_narrow else 560, 24 * n_rows + 20))


def query_names(tokens: Sequence[str], is_shown: bool) -> dict[str, Any]:
    shown = {"showticklabels": True, "automargin": True}
    return {**token_ticks(tokens, MOST_TOKENS), **shown} if is_shown else {}


def key_names(matrix: Matrix, place: Place, size: Size) -> dict[str, Any]:
    """The tokens over a matrix of scores: upright where each has room, else slanted."""
    if matrix.name not in SQUARES:
        return {}
    if size.is_narrow and place.x[0] == 0:
        names = slanted(matrix.columns, MOST_TOKENS, side="top")
        return {**names, "showticklabels": True}
    names = token_ticks(matrix.columns, KEYS_NAMED)
    angle = 0 if are_upright(matrix.columns, place, size) else -55
    shown = {"showticklabels": True, "side": "top", "tickangle": angle, "automargin": False}
    return {**names, **shown}


def are_upright(tokens: Sequence[str], place: Place, size: Size) -> bool:
    """Whether names of tokens stand side by side over a matrix without touching."""
    n_named = len(tokens[:: -(-len(tokens) // KEYS_NAMED)])
    room = (size.width or NARROW) * (place.x[1] - place.x[0]) / n_named
    return size.growth * max(map(label_width, tokens)) + 4 <= room


def room_above(matrix: Matrix, place: Place, size: Size) -> int:
    """Pixels for the symbol of a matrix and the names of its columns."""
    if matrix.name == "concat":
        return SYMBOL + 18
    if matrix.name not in SQUARES:
        return SYMBOL
    is_upright = are_upright(matrix.columns, place, size)
    return SYMBOL + (18 if is_upright else label_room(matrix.columns))


def row_sums(matrix: Matrix) -> dict[str, Any]:
    """What the weights of each query come to, as names of the rows at the right."""
    if not matrix.is_weights:
        return {}
    sums = [f"Σ {total:.3f}" for total in np.nansum(matrix.values, axis=1)]
    names = {**token_ticks(sums, MOST_TOKENS), "tickfont": {"size": 10}, "automargin": False}
    return {**names, "showticklabels": True, "side": "right"}
