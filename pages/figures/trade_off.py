"""Configurations on two axes of what they cost and can, and the front that none of them beats."""

import math
from typing import Any

import pandas as pd

from pages.figures.pair import A_COLOR, B_COLOR
from pages.figures.theme import (
    BEFORE,
    RESIDUAL,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
    token_label,
)

HEIGHT, BOTTOM = 500, 52
NAME, LINE, EDGE, LEAST_ROOM = 0.22, 0.1, 0.06, 0.15  # shares of an axis, decades
# kind: colour, size, symbol
LOOKS = {
    "preset": (BEFORE, 9, "circle"),
    "kept": (A_COLOR, 12, "diamond"),
    "a": (A_COLOR, 16, "diamond"),
    "b": (B_COLOR, 17, "star"),
}


def scatter(
    points: pd.DataFrame,
    *,
    titles: tuple[str, str],
    more_is_better: tuple[bool, bool],
    _: Translate,
) -> Picture:
    """One dot a configuration, filled on the front; a click returns the dot's key.

    `points`: key, name, kind (preset, kept, a, b), x, y, on_front, said; logarithmic axes.
    """
    names = {"preset": _("published, trained"), "kept": _("kept"), "a": "A", "b": "B"}
    kinds = [kind for kind in names if (points["kind"] == kind).any()]
    named = points[points["on_front"] | points["kind"].isin(["a", "b", "kept"])]
    return figure(
        [
            _front(points[points["on_front"]], more_is_better, _),
            *(_dots(points[points["kind"] == kind], kind, names[kind]) for kind in kinds),
            _labels(named, more_is_better),
        ],
        title=_("{y} against {x}").format(x=titles[0], y=titles[1]),
        height=HEIGHT,
        margin=(TITLE_AND_LEGEND, BOTTOM),
        **legend(),
        xaxis={"title": {"text": titles[0]}, **_axis(points["x"], more_is_better[0], NAME)},
        yaxis={"title": {"text": titles[1]}, **_axis(points["y"], more_is_better[1], LINE)},
    )


def _axis(values: pd.Series, more_is_better: bool, room: float) -> dict[str, Any]:
    """Logarithmic, with room for names at the better end: a share of the axis."""
    least, most = (math.log10(end) for end in (values.min(), values.max()))
    ends = [max(share * (most - least), LEAST_ROOM) for share in (room, EDGE)]
    below, above = reversed(ends) if more_is_better else ends
    is_narrow = most - least < 1.5
    return {
        "type": "log",
        "range": [least - below, most + above],
        "tickformat": "~s",
        "dtick": "D2" if is_narrow else 1,
        "fixedrange": True,
    }


def _front(front: pd.DataFrame, more_is_better: tuple[bool, bool], _: Translate) -> dict[str, Any]:
    """Stairs along what can be had: at each x the best y of all that are as good in x."""
    steps = front.sort_values(["x", "y"])
    return {
        "type": "scatter",
        "mode": "lines",
        "name": _("Pareto front"),
        "x": steps["x"].tolist(),
        "y": steps["y"].tolist(),
        "line": {
            "color": RESIDUAL,
            "width": 2,
            "dash": "dash",
            "shape": "vh" if more_is_better[0] else "hv",
        },
        "hoverinfo": "skip",
    }


def _dots(points: pd.DataFrame, kind: str, name: str) -> dict[str, Any]:
    color, size, symbol = LOOKS[kind]
    kept = {"marker": {"opacity": 1}}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": points["x"].tolist(),
        "y": points["y"].tolist(),
        "customdata": [[key] for key in points["key"]],
        "hovertext": points["said"].tolist(),
        "hoverinfo": "text",
        "marker": {
            "symbol": symbol,
            "size": size,
            "color": [color if on else faint(color, 0.12) for on in points["on_front"]],
            "line": {"width": 2, "color": color},
            "opacity": 1,
        },
        "selected": kept,
        "unselected": kept,
    }


def _labels(named: pd.DataFrame, more_is_better: tuple[bool, bool]) -> dict[str, Any]:
    """Names of the dots that matter: those of the front on its better side, where nothing is."""
    x_more, y_more = more_is_better
    outside = f"{'top' if y_more else 'bottom'} {'right' if x_more else 'left'}"
    inside = f"{'bottom' if y_more else 'top'} {'left' if x_more else 'right'}"
    places = named.groupby(["x", "y"], sort=False)  # at one place names stand in one line
    rows = [(x, y, _in_one_line(dots["name"]), dots["on_front"].any()) for (x, y), dots in places]
    return {
        "type": "scatter",
        "mode": "markers+text",  # an unseen mark keeps the name off the dot
        "marker": {"size": 12, "opacity": 0},
        "x": [x for x, _y, _name, _on in rows],
        "y": [y for _x, y, _name, _on in rows],
        "text": [name for _x, _y, name, _on in rows],
        "textposition": [outside if on_front else inside for *_place, on_front in rows],
        "textfont": {"size": 11},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _in_one_line(names: pd.Series) -> str:
    return ", ".join(token_label(name, most=24) for name in names)
