"""The values of one stage: how they are spread, and one token's, before and after."""

from typing import Any

import pandas as pd

from pages.figures import marks, palette
from pages.figures.marks import dashed, upright
from pages.figures.theme import (
    EDGE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
    plain,
    token_label,
)


def spread(histogram: pd.DataFrame, stage: pd.Series, *, _: Translate) -> Picture:
    """Share of values per bin, with mean and mean ± std marked.

    `histogram`: value (bin centre), share; `stage`: part, mean, std.
    """
    mean, std = stage["mean"], stage["std"]
    bars = marks.bars(
        histogram["value"].tolist(),
        histogram["share"].tolist(),
        marker={"color": palette.PART_COLORS[stage["part"]]},
        hovertemplate=_("about {value}: {share} of all values").format(
            value="%{x:.3f}", share="%{y:.2%}"
        )
        + "<extra></extra>",
    )
    return figure(
        [bars],
        title=_("Distribution of values: {stage}").format(stage=plain(stage["label"])),
        height=330,
        bargap=0,
        margin=(TITLE_AND_LEGEND, EDGE),
        xaxis={"title": _("value")},
        yaxis={"title": _("share of values"), "tickformat": ".0%"},
        shapes=[_mark(mean, "solid"), _mark(mean - std, "dot"), _mark(mean + std, "dot")],
        annotations=[
            _mark_label(mean, _("mean")),
            _mark_label(mean - std, "− std"),
            _mark_label(mean + std, "+ std"),
        ],
    )


def _mark(x: float, dash: str) -> dict[str, Any]:
    return upright(x, line=dashed(dash=dash))


def _mark_label(x: float, text: str) -> dict[str, Any]:
    place = {"x": x, "y": 1, "yref": "paper", "yanchor": "bottom"}
    return {**place, "text": text, "font": {"size": 11}}


def before_after(
    values: pd.DataFrame,
    *,
    part: str,
    token: str,
    names: tuple[str, str],
    _: Translate,
) -> Picture:
    """One token's first features before and after a stage, side by side.

    `values`: dimension, before, after; `names`: what the two are called;
    `token`: the token's text.
    """
    shown = zip(
        ("before", "after"),
        names,
        (faint(palette.BEFORE, 0.7), palette.PART_COLORS[part]),
        strict=True,
    )
    traces = [
        marks.bars(
            values["dimension"].tolist(),
            values[column].tolist(),
            name=name,
            marker={"color": color},
            hovertemplate=_("feature {feature}: {value}").format(feature="%{x}", value="%{y:.3f}"),
        )
        for column, name, color in shown
    ]
    return figure(
        traces,
        title=_("One token, before and after: {token}").format(token=token_label(token)),
        height=330,
        barmode="group",
        **legend(),
        margin=(TITLE_AND_LEGEND, EDGE),
        xaxis={"title": _("feature of the token's vector")},
        yaxis={"title": _("value")},
    )
