"""What the values look like at each stage."""

from typing import Any

import numpy as np
import pandas as pd

from pages.figures import marks, palette
from pages.figures.axes import row_range, stage_rows
from pages.figures.described import SAID
from pages.figures.numbers import mean_and_std
from pages.figures.table_rows import Row, each_row
from pages.figures.theme import Picture, Translate, figure, legend, plain

FAINT, STRONG = 0.22, 0.75


def bands(
    stages: pd.DataFrame, before: pd.DataFrame | None, *, title: str = "", _: Translate
) -> Picture:
    """What the values look like at each stage: mean, mean ± std, least to most.

    `stages`: label, part, mean, std, min, max, rms, outlier_share; `before`, the same of the
    previous setting, is drawn as a ghost where its stages are the same.
    """
    rows, mean, std = [*each_row(stages)], _column(stages, "mean"), _column(stages, "std")
    least, most = _column(stages, "min"), _column(stages, "max")
    traces = [
        _band(rows, least, most, thickness=0.22, opacity=FAINT),
        _band(rows, mean - std, mean + std, thickness=0.44, opacity=STRONG),
        _key(_("min to max"), FAINT),
        _key(_("mean ± std"), STRONG),
        _means(rows, _),
        *_ghost(rows, before, _),
    ]
    return figure(
        traces,
        title=title or _("Residual stream: values at each stage"),
        **stage_rows(stages),
        barmode="overlay",
        **legend(),
        xaxis={"title": _("value"), "zeroline": True, "automargin": False},
        yaxis={
            "range": row_range(stages),
            "tickvals": list(range(len(rows))),
            "ticktext": [plain(row.label) for row in rows],
            "showgrid": False,
        },
        annotations=[_numbers(row, i) for i, row in enumerate(rows)],
    )


def _column(stages: pd.DataFrame, name: str) -> np.ndarray:
    return stages[name].to_numpy()


def _band(
    rows: list[Row], least: np.ndarray, most: np.ndarray, *, thickness: float, opacity: float
) -> dict[str, Any]:
    colors = [palette.PART_COLORS[row.part] for row in rows]
    labels = [plain(row.label) for row in rows]
    return marks.lying(
        (most - least).tolist(),
        range(len(rows)),
        base=least.tolist(),
        width=thickness,
        marker={"color": colors, "opacity": opacity, "line": {"width": 0}},
        showlegend=False,
        customdata=list(zip(least.tolist(), most.tolist(), labels, strict=True)),
        hovertemplate="<b>%{customdata[2]}</b><br>%{customdata[0]:.3~g} … %{customdata[1]:.3~g}"
        "<extra></extra>",
    )


def _key(name: str, opacity: float) -> dict[str, Any]:
    marker = {"symbol": "square", "size": 12, "color": palette.RESIDUAL, "opacity": opacity}
    return marks.dots([None], [None], name=name) | {"marker": marker}


def _means(rows: list[Row], _: Translate) -> dict[str, Any]:
    return marks.dots(
        [row.mean for row in rows],
        range(len(rows)),
        name=_("mean"),
        meta={SAID: [f"{plain(row.label)} {_moments(row)}" for row in rows]},
        marker={"size": 9, "color": "#ffffff", "line": {"width": 2, "color": palette.RESIDUAL}},
        hovertemplate="%{x:.3~g}",
    )


def _ghost(rows: list[Row], before: pd.DataFrame | None, _: Translate) -> list[dict[str, Any]]:
    if before is None:
        return []
    place, stages = {row.stage: i for i, row in enumerate(rows)}, before["stage"].tolist()
    same = [i for i, stage in enumerate(stages) if stage in place]
    mean, std = _column(before, "mean")[same], _column(before, "std")[same]
    y = [place[stages[i]] for i in same]
    return [
        marks.dots(
            [*(mean - std).tolist(), *(mean + std).tolist()],
            [*y, *y],
            name=_("before: mean ± std"),
            marker={"symbol": "line-ns", "size": 34, "line": {"width": 2, "color": palette.BEFORE}},
            hovertemplate="%{x:.3~g}",
        )
    ]


def _numbers(row: Row, i: int) -> dict[str, Any]:
    return {
        "x": 1,
        "xref": "paper",
        "xanchor": "right",
        "y": i - 0.36,
        "text": _moments(row),
        "font": {"size": 11},
    }


def _moments(row: Row) -> str:
    return mean_and_std(row.mean, row.std)
