"""The cells that share their statistics, a grid for each norm."""

from typing import Any

import numpy as np

from blocks.inspection.norm_compared import NormInput
from pages.figures import marks, palette
from pages.figures.theme import HIDDEN_AXIS, Picture, Translate, faint, figure, token_label
from pages.figures.weights import outline

MOST_FEATURES, MOST_SEQUENCES = 10, 3
MOST_TOKENS, MOST_TOKENS_OF_SEVERAL = 16, 6
AXES_GAP, SEQUENCE_GAP = 1.6, 0.7
ROW, TOP, BOTTOM = 21, 108, 30
OTHER, SHARED = 1, 2
NORMS, PER_TOKEN = ("LayerNorm", "RMSNorm", "BatchNorm"), ("LayerNorm", "RMSNorm")
COLORS = {OTHER: faint(palette.RESIDUAL, 0.24), SHARED: faint(palette.NORM, 0.85)}


def shared_cells(facts: NormInput, *, pinned: int, _: Translate) -> Picture:
    """A grid for each norm: sequences above each other, tokens down, features across.

    Coloured are the cells that share their statistics with the first feature of the pinned token
    of the first sequence; as many are drawn as there is room for, the pinned token among them.
    """
    most = MOST_TOKENS if facts.batch == 1 else MOST_TOKENS_OF_SEVERAL
    shown = shown_tokens(facts.seq_len, pinned, most)
    n_sequences = min(facts.batch, MOST_SEQUENCES)
    n_features = min(facts.d_model, MOST_FEATURES)
    width, height = n_features + AXES_GAP, len(shown) + SEQUENCE_GAP
    rows = [[i * height + j for j in range(len(shown))] for i in range(n_sequences)]
    pinned_row, lefts = shown.index(pinned), [i * width for i in range(len(NORMS))]
    cells = [
        _cells(left, rows, n_features, pinned_row if norm in PER_TOKEN else None)
        for left, norm in zip(lefts, NORMS, strict=True)
    ]
    total = (len(NORMS) * width - AXES_GAP, n_sequences * height - SEQUENCE_GAP)
    return figure(
        [trace for pair in cells for trace in pair],
        title=_("Values that are normalized together"),
        height=int(TOP + BOTTOM + ROW * total[1]),
        margin=(TOP, BOTTOM),
        barmode="overlay",
        xaxis={**HIDDEN_AXIS, "range": [-0.6, total[0] - 0.4]},
        yaxis={
            "range": [total[1] - 0.4, -0.6],
            "showgrid": False,
            "zeroline": False,
            "tickvals": [row for sequence in rows for row in sequence],
            "ticktext": [token_label(facts.labels[i], 10) for i in shown] * n_sequences,
        },
        shapes=[outline(left - 0.5, pinned_row - 0.5, n_features, 1) for left in lefts],
        annotations=[
            *(_above(left, norm, facts, _) for left, norm in zip(lefts, NORMS, strict=True)),
            _below(n_features, len(shown), facts, _),
        ],
    )


def shown_tokens(n_tokens: int, pinned: int, most: int) -> list[int]:
    return list(range(min(n_tokens, most))) if pinned < most else [*range(most - 1), pinned]


def _cells(
    left: float, rows: list[list[float]], n_features: int, pinned: int | None
) -> list[dict[str, Any]]:
    """Squares in two colours: those that share, and the rest."""
    places: dict[int, list[tuple[float, float]]] = {OTHER: [], SHARED: []}
    for i, sequence in enumerate(rows):
        for j, y in enumerate(sequence):
            for feature in range(n_features):
                is_row = i == 0 and j == pinned
                is_shared = feature == 0 if pinned is None else is_row
                places[SHARED if is_shared else OTHER].append((left + feature, y))
    return [_squares(np.array(found or [(np.nan, np.nan)]), kind) for kind, found in places.items()]


def _squares(places: np.ndarray, kind: int) -> dict[str, Any]:
    """As bars, since these keep their size relative to the axes."""
    return marks.lying(
        np.full(len(places), 0.9, dtype=np.float32),
        places[:, 1].astype(np.float32),
        base=(places[:, 0] - 0.45).astype(np.float32),
        width=0.9,
        marker={"color": COLORS[kind], "line": {"width": 0}},
        hoverinfo="skip",
    )


def _above(left: float, norm: str, facts: NormInput, _: Translate) -> dict[str, Any]:
    """What a norm takes: which statistics, how many of them, each over how many numbers."""
    n_groups, size = facts.d_model, facts.n_tokens
    if norm in PER_TOKEN:
        n_groups, size = size, n_groups
    statistics = _("mean square") if norm == "RMSNorm" else _("mean, variance")
    said = _("groups: {n_groups}, values in each: {size}").format(n_groups=n_groups, size=size)
    place = {"x": left - 0.5, "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom"}
    look = {"align": "left", "font": {"size": 12}}
    return {**place, "text": f"<b>{norm}</b><br>{statistics}<br>{said}", **look}


def _below(n_features: int, n_tokens: int, facts: NormInput, _: Translate) -> dict[str, Any]:
    """Which features are drawn, and how many tokens where not all are."""
    place = {"x": -0.5, "xanchor": "left", "y": 0, "yref": "paper", "yanchor": "top"}
    text = _("features 1 to {shown} of {d_model}")
    if n_tokens < facts.seq_len:
        text = _("features 1 to {shown} of {d_model} · {n_tokens} of {seq_len} tokens")
    numbers = {"d_model": facts.d_model, "n_tokens": n_tokens, "seq_len": facts.seq_len}
    return {**place, "text": f"→ {text.format(shown=n_features, **numbers)}", "font": {"size": 12}}
