"""What a mask does to a head, three pictures on the same axes; and a row that may see no key."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pages.figures.axes import row_names
from pages.figures.signed import signed_bar, signed_map
from pages.figures.theme import EDGE, TITLE, Picture, Translate, figure
from pages.figures.token_axis import label_room, slanted, token_ticks
from pages.figures.token_matrix import COLUMNS_NAMED, Names, cell_marks, hatching, token_matrix
from pages.figures.weights import CODES, MASKED_CODE, codes, weight_map

NUMBERS_UP_TO = 14
LEAST_SHOWN = 5e-4  # of a weight, in three decimals


def mask_map(
    is_open: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    pinned: int | None = None,
    can_paint: bool = False,
    _: Translate,
) -> Picture:
    """Who may see whom, (query, key); a click on a cell returns [query, key, 1 where allowed]."""
    z = np.where(is_open, CODES, MASKED_CODE).astype(np.uint8)
    to_change = " · " + _("click to change") if can_paint else ""
    return token_matrix(
        weight_map(z, _, showscale=False, xgap=1, ygap=1),
        [
            cell_marks(is_open, is_open, _("allowed") + to_change),
            hatching(~is_open, is_open, _("forbidden") + to_change),
        ],
        _names(_("Mask: allowed and forbidden cells"), rows, columns, _),
        is_clicked=can_paint,
        pinned=pinned,
        is_narrow=True,
    )


def score_map(
    scores: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    pinned: int | None = None,
    _: Translate,
) -> Picture:
    """Scores before any mask, (query, key); a click returns [query, key, score]."""
    finite = np.where(np.isfinite(scores), scores, np.nan)
    return token_matrix(
        signed_map(finite, showscale=True, colorbar=signed_bar(finite, _("scores"))),
        [cell_marks(np.ones_like(scores, dtype=bool), scores, _said(_("score {x}"), ".3f"))],
        _names(_("Scores before the mask"), rows, columns, _),
        is_clicked=False,
        pinned=pinned,
        is_narrow=True,
    )


def pattern_map(
    pattern: np.ndarray,
    is_open: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str = "",
    pinned: int | None = None,
    _: Translate,
) -> Picture:
    """The pattern after the mask, (query, key); a click returns [query, key, weight].

    A weight in a forbidden cell, which only faulty code makes, is drawn and not hidden.
    """
    is_number = np.isfinite(pattern)
    shown = is_number & (is_open | (pattern > 0))
    z = np.where(shown, codes(np.clip(np.nan_to_num(pattern), 0, 1)), MASKED_CODE)
    return token_matrix(
        weight_map(z.astype(np.uint8), _),
        [
            cell_marks(shown, pattern, _said(_("weight {x}"), ".4f")),
            hatching(is_number & ~shown, pattern, _("forbidden: weight 0")),
            hatching(~is_number, pattern, _("NaN")),
        ],
        _names(title or _("Attention weights after the mask"), rows, columns, _),
        is_clicked=False,
        pinned=pinned,
        is_narrow=True,
    )


def _names(title: str, rows: Sequence[str], columns: Sequence[str], _: Translate) -> Names:
    return Names(title, _("query (attends)"), _("key (attended to)"), rows, columns)


def _said(template: str, digits: str) -> str:
    return template.format(x=f"%{{customdata[2]:{digits}}}")


def blind_row(
    weights: np.ndarray, names: Sequence[str], tokens: Sequence[str], *, title: str, _: Translate
) -> Picture:
    """The weights of one query by each treatment, (treatment, key); NaN is said, never coloured."""
    is_number = np.isfinite(weights).all(axis=1)
    z = np.where(is_number[:, None], codes(np.nan_to_num(weights)), 0).astype(np.uint8)
    n = len(tokens)
    numbers = {"text": _texts(weights), "texttemplate": "%{text}"} if n <= NUMBERS_UP_TO else {}
    hover = {"hoverinfo": "text", "hovertext": _hovers(weights, names, tokens, _)}
    return figure(
        [weight_map(z, _, xgap=1, ygap=4, **hover, **numbers)],
        title=title,
        height=TITLE + label_room(tokens) + 44 * len(names) + 30,
        margin=(TITLE + label_room(tokens), EDGE),
        xaxis=slanted(tokens, COLUMNS_NAMED, side="top"),
        yaxis=row_names(names, showgrid=False, zeroline=False),
        annotations=_said_of_rows(weights, _),
    )


def _said_of_rows(weights: np.ndarray, _: Translate) -> list[dict[str, Any]]:
    """That a row has no number; and of many cells, none of which has room for one, what all are."""
    n, even = weights.shape[1], _("each key: {weight}")
    texts = [
        _("NaN")
        if not np.isfinite(row).all()
        else even.format(weight=f"{row[0]:.3f}" if row[0] else 0)
        if n > NUMBERS_UP_TO and np.ptp(row) < LEAST_SHOWN
        else ""
        for row in weights
    ]
    place = {"x": (n - 1) / 2, "font": {"size": 14}}
    return [{**place, "y": i, "text": f"<b>{text}</b>"} for i, text in enumerate(texts) if text]


def _texts(weights: np.ndarray) -> list[list[str]]:
    """The weights in their cells."""
    return [
        [f"{x:.2f}".removeprefix("0") if x else "0" for x in row]
        if np.isfinite(row).all()
        else [""] * len(row)
        for row in weights
    ]


def _hovers(
    weights: np.ndarray, names: Sequence[str], tokens: Sequence[str], _: Translate
) -> list[list[str]]:
    labels = token_ticks(tokens, len(tokens))["ticktext"]
    no_number = _("NaN")
    return [
        [
            f"{name}<br>{label}: {x:.4f}" if np.isfinite(x) else f"{name}<br>{label}: {no_number}"
            for x, label in zip(row, labels, strict=True)
        ]
        for row, name in zip(weights, names, strict=True)
    ]
