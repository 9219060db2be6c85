"""What comes out of each norm: mean, standard deviation and RMS, of every token or feature."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from blocks.inspection.norm_compared import NormFacts, NormInput
from pages.figures import marks, palette
from pages.figures.series import NORM_LINES
from pages.figures.theme import (
    HIDDEN_AXIS,
    TITLE,
    Picture,
    Translate,
    faint,
    figure,
    legend,
    plain,
    small,
    token_label,
)
from pages.figures.token_axis import token_ticks
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
    """The first tokens, and the pinned one if it comes later."""
    if pinned < most:
        return list(range(min(n_tokens, most)))
    return [*range(most - 1), pinned]


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


STATISTICS = ("mean", "std", "rms")
PANEL, GAP, LEGEND, MOST_TICKS = 120, 0.09, 66, 20


def of_tokens(facts: NormFacts, names: Mapping[str, str], *, pinned: int, _: Translate) -> Picture:
    """Over the features of each token."""
    labels = [plain(token) for token in facts.labels]
    pin = marks.upright(pinned, line={"color": palette.PINNED, "width": 2})
    return _panels(
        [
            _curve(found, str(norm), statistic, names[str(norm)], labels)
            for statistic in STATISTICS
            for norm, found in facts.per_token.groupby("norm", sort=False)
        ],
        title=_("Statistics of each token over its features"),
        axis={**token_ticks(facts.labels, MOST_TICKS), "tickangle": -45},
        shapes=[pin],
        _=_,
    )


def of_features(facts: NormFacts, names: Mapping[str, str], *, _: Translate) -> Picture:
    """Over all tokens, for each feature; features stand in the order of the input's own values."""
    table, label = facts.per_feature, _("feature {n}")
    labels = np.array([label.format(n=i + 1) for i in range(table["feature"].max() + 1)])
    of_input = table[table["norm"] == "input"]
    order = {name: of_input[name].to_numpy(float).argsort(kind="stable") for name in STATISTICS}
    title = _("feature, sorted by the same statistic of the input")
    return _panels(
        [
            _curve(
                found.iloc[order[statistic]],
                str(norm),
                statistic,
                names[str(norm)],
                labels[order[statistic]].tolist(),
            )
            for statistic in STATISTICS
            for norm, found in table.groupby("norm", sort=False)
        ],
        title=_("Statistics of each feature over all tokens"),
        axis={"title": title, "showticklabels": False},
        _=_,
    )


def _panels(
    traces: Sequence[dict[str, Any]],
    *,
    title: str,
    axis: dict[str, Any],
    _: Translate,
    **more: Any,
) -> Picture:
    """Three panels above each other on one axis."""
    titles = {"mean": _("mean"), "std": _("standard deviation"), "rms": "RMS"}
    height = (1 - 2 * GAP) / 3
    axes: dict[str, Any] = {
        f"yaxis{_number(statistic)}": {
            "domain": [max(0.0, 1 - (i + 1) * height - i * GAP), 1 - i * (height + GAP)],
            "title": titles[statistic],
            "zeroline": statistic == "mean",
            "rangemode": "normal" if statistic == "mean" else "tozero",
            "nticks": 5,
        }
        for i, statistic in enumerate(STATISTICS)
    }
    return figure(
        traces,
        title=title,
        height=3 * PANEL + TITLE + LEGEND + 60,
        margin=(TITLE + LEGEND, 4),
        **legend(),
        xaxis={**axis, "anchor": "y3"},
        **axes,
        **more,
    )


def _number(statistic: str) -> str:
    """The number of its axis; the first has none."""
    return ("", "2", "3")[STATISTICS.index(statistic)]


def _curve(
    found: pd.DataFrame, norm: str, statistic: str, name: str, labels: list[str]
) -> dict[str, Any]:
    look = NORM_LINES[norm]
    return marks.line(
        range(len(found)),
        small(found[statistic].to_numpy(float)),
        mode="lines" if len(found) > 1 else "markers",
        yaxis=f"y{_number(statistic)}",
        name=name,
        legendgroup=norm,
        showlegend=statistic == STATISTICS[0],
        line=look,
        marker={"size": 10, "color": look["color"]},
        text=labels,
        hovertemplate=f"{name}<br>%{{text}}: %{{y:.3f}}<extra></extra>",
    )
