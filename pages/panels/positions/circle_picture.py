"""RoPE as a turning arrow: where each position turns a pair of features to."""

import math
from typing import Any

from blocks.inspection.position_facts import PairFacts
from pages.figures import marks, palette
from pages.figures.theme import Picture, Translate, figure

HEIGHT, REACH, MOST_DOTS = 340, 1.3, 64


def circle(facts: PairFacts, *, _: Translate) -> Picture:
    """The unit circle: the arrow of position 0, that of the pinned one, a dot for each of a turn.

    The first features of a pair lie to the right, the second upwards.
    """
    step = 2 * math.pi / facts.length
    n = min(len(facts.curves), max(2, math.ceil(facts.length)), MOST_DOTS)
    title = _("Pair {pair} turns by {degrees:.3g}° from each position to the next")
    points = [_point(step * p) for p in range(n)]
    ends = {"x0": -1, "x1": 1, "y0": -1, "y1": 1}
    position = _("position {p}")
    dots = marks.dots(
        [x for x, _y in points],
        [y for _x, y in points],
        marker={"size": 8, "color": palette.EMBEDDING},
        **marks.told(position.format(p=p) for p in range(n)),
    )
    axis = {"range": [-REACH, REACH], "visible": False}
    return figure(
        [dots],
        title=title.format(pair=facts.pair, degrees=math.degrees(step)),
        height=HEIGHT,
        shapes=[{"type": "circle", **ends, "line": {"color": palette.RESIDUAL, "width": 1}}],
        annotations=[
            *_arrow(0, "0", palette.RESIDUAL),
            *_arrow(step * facts.position, str(facts.position), palette.PINNED),
        ],
        xaxis={**axis, "scaleanchor": "y"},
        yaxis=axis,
    )


def _point(angle: float, radius: float = 1) -> tuple[float, float]:
    return radius * math.cos(angle), radius * math.sin(angle)


def _arrow(angle: float, name: str, color: str) -> list[dict[str, Any]]:
    """An arrow from the middle to the circle, and outside of it the position."""
    (x, y), (x_name, y_name) = _point(angle), _point(angle, 1.17)
    look = {"showarrow": True, "arrowhead": 2, "arrowwidth": 3, "arrowcolor": color, "text": ""}
    tail = {"ax": 0, "ay": 0, "axref": "x", "ayref": "y"}
    label = {"x": x_name, "y": y_name, "text": f"<b>p = {name}</b>", "font": {"color": color}}
    return [{"x": x, "y": y, **tail, **look}, label]
