"""What the values look like at each stage."""

from typing import Any

import pandas as pd

from pages.figures import marks, palette
from pages.figures.axes import row_range, stage_rows
from pages.figures.described import SAID
from pages.figures.numbers import mean_and_std
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture, Translate, figure, legend, plain

FAINT, STRONG = 0.22, 0.75


def bands(
    stages: pd.DataFrame, before: pd.DataFrame | None, *, title: str = "", _: Translate
) -> Picture:
    """What the values look like at each stage: mean, mean ± std, least to most.

    `stages`: label, part, mean, std, min, max, rms, outlier_share; `before`, the same of the
    previous setting, is drawn as a ghost where its stages are the same.
    """
    low, high = stages["mean"] - stages["std"], stages["mean"] + stages["std"]
    traces = [
        _band(stages, stages["min"], stages["max"], thickness=0.22, opacity=FAINT),
        _band(stages, low, high, thickness=0.44, opacity=STRONG),
        _key(_("min to max"), FAINT),
        _key(_("mean ± std"), STRONG),
        _means(stages, _),
        *_ghost(stages, before, _),
    ]
    return figure(
        traces,
        title=title or _("Residual stream: the values at each stage"),
        **stage_rows(stages),
        barmode="overlay",
        **legend(),
        xaxis={"title": _("value"), "zeroline": True, "automargin": False},
        yaxis={
            "range": row_range(stages),
            "tickvals": list(range(len(stages))),
            "ticktext": [plain(label) for label in stages["label"]],
            "showgrid": False,
        },
        annotations=[_numbers(row, i) for i, row in enumerate(each_row(stages))],
    )


def _band(
    stages: pd.DataFrame, least: pd.Series, most: pd.Series, *, thickness: float, opacity: float
) -> dict[str, Any]:
    colors = [palette.PART_COLORS[part] for part in stages["part"]]
    return marks.lying(
        (most - least).tolist(),
        range(len(stages)),
        base=least.tolist(),
        width=thickness,
        marker={"color": colors, "opacity": opacity, "line": {"width": 0}},
        showlegend=False,
        customdata=list(zip(least, most, map(plain, stages["label"]), strict=True)),
        hovertemplate="<b>%{customdata[2]}</b><br>%{customdata[0]:.3~g} … %{customdata[1]:.3~g}"
        "<extra></extra>",
    )


def _key(name: str, opacity: float) -> dict[str, Any]:
    """A legend entry for what is drawn in the colour of each part."""
    marker = {"symbol": "square", "size": 12, "color": palette.RESIDUAL, "opacity": opacity}
    return marks.dots([None], [None], name=name) | {"marker": marker}


def _means(stages: pd.DataFrame, _: Translate) -> dict[str, Any]:
    return marks.dots(
        stages["mean"].tolist(),
        range(len(stages)),
        name=_("mean"),
        meta={SAID: [f"{plain(row.label)} {_moments(row)}" for row in each_row(stages)]},
        marker={"size": 9, "color": "#ffffff", "line": {"width": 2, "color": palette.RESIDUAL}},
        hovertemplate="%{x:.3~g}",
    )


def _ghost(stages: pd.DataFrame, before: pd.DataFrame | None, _: Translate) -> list[dict[str, Any]]:
    if before is None:
        return []
    rows = {stage: i for i, stage in enumerate(stages["stage"])}
    same = before[before["stage"].isin(rows)]
    y = [rows[stage] for stage in same["stage"]]
    return [
        marks.dots(
            [*(same["mean"] - same["std"]), *(same["mean"] + same["std"])],
            [*y, *y],
            name=_("before: mean ± std"),
            marker={
                "symbol": "line-ns",
                "size": 34,
                "line": {"width": 2, "color": palette.BEFORE},
            },
            hovertemplate="%{x:.3~g}",
        )
    ]


def _numbers(row: Any, i: int) -> dict[str, Any]:
    return {
        "x": 1,
        "xref": "paper",
        "xanchor": "right",
        "y": i - 0.36,
        "text": _moments(row),
        "font": {"size": 11},
    }


def _moments(row: Any) -> str:
    return mean_and_std(row.mean, row.std)
