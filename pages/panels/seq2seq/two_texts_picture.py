"""Attention between two texts, query down and key across: colours, cells and links."""

from typing import Any

import numpy as np

from pages.figures.theme import Translate
from pages.figures.token_matrix import cell_marks, hatching
from pages.figures.weights import MASKED_CODE, codes, weight_map

TOLD_FROM = 0.05


def colors(weights: np.ndarray, _: Translate) -> dict[str, Any]:
    """`weights`: (query, key), NaN where masked."""
    z = np.where(np.isnan(weights), MASKED_CODE, codes(np.nan_to_num(weights)))
    return weight_map(z.astype(np.uint8), _)


def told(weights: np.ndarray) -> np.ndarray:
    """What is written in the cells: small weights are colour alone."""
    return np.where(np.nan_to_num(weights) < TOLD_FROM, np.nan, weights)


def cells(weights: np.ndarray, first: tuple[int, int], _: Translate) -> list[dict[str, Any]]:
    """What is hovered and clicked; masked cells are hatched.

    A click returns query and key, counted in whole texts: the picture begins with the `first`.
    """
    is_masked = np.isnan(weights)
    said = _("weight {weight}").format(weight="%{customdata[2]:.3f}")
    masked = [hatching(is_masked, weights, _("masked"))] if is_masked.any() else []
    shift = np.array([*first, 0], dtype=np.float32)
    found = [cell_marks(~is_masked, weights, said), *masked]
    return [{**each, "customdata": each["customdata"] + shift} for each in found]
