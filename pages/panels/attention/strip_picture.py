"""One head, step by step: all steps small, in a strip."""

from typing import Any, NamedTuple

from blocks.inspection.head_facts import HeadFacts, steps_taken
from pages.figures import marks, palette
from pages.figures.matrix import Matrix, Place, axes, common_scale, heat, outlined, titled
from pages.figures.theme import EDGE, Picture, Translate, figure
from pages.panels.attention.matrices import MADE_BY, MOST_TOKENS, matrix_of

HEIGHT, TOP, LINE, FAINT = 164, 40, 15, 0.45
SCORES = ("raw", "scaled", "capped")
"""On one scale, so that one sees what dividing does."""


class Frame(NamedTuple):
    """A matrix, the step that makes it, and where it stands."""

    step: str
    matrix: Matrix
    place: Place


def strip(facts: HeadFacts, *, _: Translate) -> Picture:
    """Every step small, in its order; a click returns its name.

    The matrices of the current step are framed, those of later ones are faint.
    """
    return _drawn(facts, _, with_later=True)


def so_far(facts: HeadFacts, *, _: Translate) -> Picture:
    """The same, but of later steps the places alone: what they hold is still to be guessed."""
    return _drawn(facts, _, with_later=False)


def _drawn(facts: HeadFacts, _: Translate, *, with_later: bool) -> Picture:
    frames = _frames(facts, _)
    current = [frame.place for frame in frames if frame.step == facts.step]
    last = frames[-1].place.axes if with_later else current[-1].axes
    most = common_scale([matrix for _s, matrix, _p in frames if matrix.name in SCORES])
    pinned, room = facts.query - facts.drawn(MOST_TOKENS).first, 0.04 / len(frames)
    bold = {True: "<b>{}</b>", False: "{}"}
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    for step, matrix, place in frames:
        if place.axes <= last:
            colors = heat(matrix, place, _, most=most if matrix.name in SCORES else None)
            traces.append({**colors, "opacity": FAINT if place.axes > current[-1].axes else 1})
        traces.append(_target(step, matrix, place))
        layout |= axes(matrix, place)
    return figure(
        traces,
        height=HEIGHT,
        margin=(TOP, EDGE),
        shapes=[
            _frame(current[0].x[0], current[-1].x[1], room),
            *(
                outlined(place, 0, pinned, matrix.values.shape[1], 1)
                for _step, matrix, place in frames
                if matrix.name not in ("k", "v") and place.axes <= last
            ),
        ],
        annotations=[
            titled(bold[step == facts.step].format(matrix.symbol), place, shift=5 + i % 2 * LINE)
            for i, (step, matrix, place) in enumerate(frames)
        ],
        **layout,
    )


def _frames(facts: HeadFacts, _: Translate) -> list[Frame]:
    made = [(step, name) for step in steps_taken(facts.run.config) for name in MADE_BY[step]]
    n = len(made)
    return [
        Frame(
            step, matrix_of(facts, name, _), Place(i + 1, ((i + 0.06) / n, (i + 0.94) / n), (0, 1))
        )
        for i, (step, name) in enumerate(made)
    ]


def _frame(x0: float, x1: float, room: float) -> dict[str, Any]:
    return {
        "type": "rect",
        "xref": "paper",
        "yref": "paper",
        "x0": x0 - room,
        "x1": x1 + room,
        "y0": -0.02,
        "y1": 1.02,
        "line": {"color": palette.ATTENTION, "width": 2},
    }


def _target(step: str, matrix: Matrix, place: Place) -> dict[str, Any]:
    """Nine invisible markers, so that a click anywhere in a frame finds its step."""
    n_rows, n_columns = matrix.values.shape
    thirds = [(i / 6, j / 6) for i in (1, 3, 5) for j in (1, 3, 5)]
    return marks.targets(
        [i * n_columns - 0.5 for i, _j in thirds],
        [j * n_rows - 0.5 for _i, j in thirds],
        [[step]] * len(thirds),
        40,
        xaxis=f"x{place.suffix}",
        yaxis=f"y{place.suffix}",
        hovertemplate=f"{matrix.title}<extra></extra>",
    )
