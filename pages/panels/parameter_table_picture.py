"""Where the parameters are."""

import pandas as pd

from pages.figures.theme import PART_COLORS, Picture, Translate, figure, plain

ROW = 34


def part_bars(parts: pd.DataFrame, *, _: Translate) -> Picture:
    """One bar a part with its count and share; even the smallest is seen.

    `parts`: label, group, formula, count.
    """
    total = parts["count"].sum()
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": [plain(label) for label in parts["label"]],
        "x": parts["count"].tolist(),
        "text": [f"{count:,} · {count / total:.1%}" for count in parts["count"]],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": [PART_COLORS[group] for group in parts["group"]]},
        "customdata": [[formula] for formula in parts["formula"]],
        "hovertemplate": "<b>%{y}</b><br>%{customdata[0]} = %{x:,}<extra></extra>",
    }
    return figure(
        [bars],
        title=_("Parameters by part"),
        height=90 + ROW * len(parts),
        xaxis={
            "title": {"text": _("parameters")},
            "range": [0, parts["count"].max() * 1.5],
            "fixedrange": True,
        },
        yaxis={"autorange": "reversed", "fixedrange": True, "automargin": True},
    )
