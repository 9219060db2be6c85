"""Configurations on two axes of what they cost and can, and the front that none of them beats."""

import math
from typing import Any

import pandas as pd

from pages.figures import marks, palette
from pages.figures.axes import room_under_legend
from pages.figures.described import SAID
from pages.figures.names_apart import Name, names_apart
from pages.figures.theme import Picture, Translate, faint, figure, token_label
from pages.panels.compare.pair_picture import A_COLOR, B_COLOR

PLOT, BOTTOM = 384, 52
WIDTH, HIGH = 270, 380  # pixels between the axes on a phone
NAME, LINE, EDGE, LEAST_ROOM = 0.22, 0.1, 0.06, 0.15  # shares of an axis, decades
MOST_NAMES = 2  # at one place
# kind: colour, size, symbol
LOOKS = {
    "preset": (palette.BEFORE, 9, "circle"),
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
    names = {"preset": _("published and trained models"), "kept": _("kept"), "a": "A", "b": "B"}
    kinds = [kind for kind in names if (points["kind"] == kind).any()]
    return figure(
        [
            _front(points[points["on_front"]], more_is_better, _),
            *(_dots(points[points["kind"] == kind], kind, names[kind]) for kind in kinds),
            _labels(points, more_is_better, _),
        ],
        title=_("One point for each model"),
        **room_under_legend(PLOT, BOTTOM),
        xaxis={"title": titles[0], **_axis(points["x"], more_is_better[0], NAME)},
        yaxis={"title": titles[1], **_axis(points["y"], more_is_better[1], LINE)},
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
    }


def _front(front: pd.DataFrame, more_is_better: tuple[bool, bool], _: Translate) -> dict[str, Any]:
    """Step line along the Pareto front: the best y of all that are as good in x."""
    steps = front.sort_values(["x", "y"])
    names = _(", ").join(token_label(name, most=24) for name in steps["name"])
    said = _("{name}: {said}").format(name=_("Pareto front"), said=names)
    return marks.line(
        steps["x"].tolist(),
        steps["y"].tolist(),
        name=_("Pareto front"),
        line={
            "color": palette.RESIDUAL,
            "width": 2,
            "dash": "dash",
            "shape": "vh" if more_is_better[0] else "hv",
        },
        hoverinfo="skip",
        meta={SAID: [said]},
    )


def _dots(points: pd.DataFrame, kind: str, name: str) -> dict[str, Any]:
    color, size, symbol = LOOKS[kind]
    return marks.dots(
        points["x"].tolist(),
        points["y"].tolist(),
        name=name,
        customdata=[[key] for key in points["key"]],
        text=[token_label(name, most=24) for name in points["name"]],
        **marks.told(points["said"]),
        marker={
            "symbol": symbol,
            "size": size,
            "color": [color if on else faint(color, 0.12) for on in points["on_front"]],
            "line": {"width": 2, "color": color},
            "opacity": 1,
        },
        **marks.steady(),
    )


def _labels(
    points: pd.DataFrame, more_is_better: tuple[bool, bool], _: Translate
) -> dict[str, Any]:
    """Names of the dots that matter, each where it covers no other name even on a phone.

    Those of the front stand on its better side, where nothing is, if there is room.
    """
    is_ours = points["kind"].isin(["a", "b", "kept"])
    named = points[points["on_front"] | is_ours].assign(is_ours=is_ours)
    groups = named.groupby(["x", "y"], sort=False)  # at one place names stand in one line
    places = [(float(rows["x"].iloc[0]), float(rows["y"].iloc[0]), rows) for _place, rows in groups]
    across, up = (
        _axis(points[axis], more, room)["range"]
        for axis, more, room in zip("xy", more_is_better, (NAME, LINE), strict=True)
    )
    dots = [
        Name(
            _in_one_line(rows, _),
            WIDTH * (math.log10(x) - across[0]) / (across[1] - across[0]),
            HIGH * (math.log10(y) - up[0]) / (up[1] - up[0]),
            _sides(more_is_better, is_outside=bool(rows["on_front"].any())),
            must_stand=bool(rows["is_ours"].any()),
        )
        for x, y, rows in places
    ]
    stands = names_apart(dots, WIDTH)
    return {
        "type": "scatter",
        "mode": "markers+text",  # an unseen mark keeps the name off the dot
        "marker": {"size": 12, "opacity": 0},
        "x": [x for x, _y, _rows in places],
        "y": [y for _x, y, _rows in places],
        "text": [dot.text if side else "" for dot, side in zip(dots, stands, strict=True)],
        "textposition": [side or "top center" for side in stands],
        "textfont": {"size": 11},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _sides(more_is_better: tuple[bool, bool], *, is_outside: bool) -> tuple[str, ...]:
    """Where beside its dot a name would best stand, then next best."""
    x_more, y_more = (more == is_outside for more in more_is_better)
    across, back = ("right", "left") if x_more else ("left", "right")
    up, down = ("top", "bottom") if y_more else ("bottom", "top")
    pairs = ((up, across), ("middle", across), (up, back), (down, across), (down, back))
    return (*(f"{y} {x}" for y, x in pairs), f"middle {back}")


def _in_one_line(rows: pd.DataFrame, _: Translate) -> str:
    """What stands at one place, ours first; of many only the first has its name there."""
    rows = rows.sort_values("is_ours", ascending=False, kind="stable")
    names = [token_label(name, most=24) for name in rows["name"]]
    if len(names) <= MOST_NAMES:
        return _(", ").join(names)
    return names[0] + _(", and {n} more").format(n=len(names) - 1)
