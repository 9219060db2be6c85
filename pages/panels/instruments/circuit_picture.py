"""A circuit drawn whole: each weight that is left as a line, from the tokens to the logits."""

from typing import Any

import numpy as np

from blocks.known.bracket_texts import CHARACTERS
from blocks.known.circuit import CircuitFacts, Column, Edge, Node
from blocks.known.followed import followed
from blocks.known.sparse import CONFIG
from pages.figures import marks, palette
from pages.figures.counting import from_one
from pages.figures.described import SAID
from pages.figures.signed import NEGATIVE, POSITIVE
from pages.figures.theme import TITLE, Picture, Translate, figure

COLUMNS = (
    (Column.TOKEN,),
    (Column.BEFORE,),
    (Column.QUERY, Column.KEY, Column.VALUE),
    (Column.AFTER,),
    (Column.LOGIT,),
)
BESIDE = {Column.TOKEN: "middle left", Column.LOGIT: "middle right"}  # others: above their lines
CORNERS = {
    "top left": (-1, -1),
    "top right": (1, -1),
    "bottom left": (-1, 1),
    "bottom right": (1, 1),
}
ABOUT = (0.16, 0.06)  # from a mark to the middle of what is written at its corner
ACROSS = (0.26, 0.055)  # what is written is as wide and as high
LETTERS = {Column.QUERY: "q", Column.KEY: "k", Column.VALUE: "v"}
ORDER = "([{<ab)]}>"
ROW, HEAD_ROOM, FOOT = 30, 34, 10  # pixels
THIN, THICK = 1.0, 6.0
STILL, FLOWING = 0.2, 0.95  # how opaque a line is along which nothing, or something flows
LARGE, SMALL = 12, 7  # pixels of the mark of a line that is lit, and of the others
LEAST_FLOW = 0.02  # of the largest that enters the same column


def node_name(node: Node) -> str:
    """What stands at a node: a character, the stream's dimension, or the head and one of its q."""
    if node.column in (Column.TOKEN, Column.LOGIT):
        return CHARACTERS[node.place]
    if node.column in LETTERS:
        place = from_one(node.place % CONFIG.d_head)
        return f"{from_one(node.head)}.{LETTERS[node.column]}{place}"
    return str(from_one(node.place))


def column_names(_: Translate) -> list[str]:
    """What the five columns are, from the left."""
    return [_("token"), _("stream before"), _("head"), _("stream after"), _("logit")]


def layout(edges: tuple[Edge, ...]) -> dict[Node, tuple[float, float]]:
    """Where each node stands: its column, and a height between 0 and 1.

    Tokens stand in their order, every other node as near as may be to what leads to it.
    """
    found: dict[Node, tuple[float, float]] = {}
    for x, kinds in enumerate(COLUMNS):
        ends = {node for edge in edges for node in edge[:2] if node.column in kinds}
        ordered = sorted(ends, key=lambda node: (_wish(node, edges, found), node.place))
        for i, node in enumerate(ordered):
            found[node] = x, (i + 0.5) / len(ordered)
    return found


def _wish(node: Node, edges: tuple[Edge, ...], found: dict[Node, tuple[float, float]]) -> float:
    if node.column is Column.TOKEN:
        return ORDER.index(CHARACTERS[node.place])
    into = [(abs(each.weight), found[each.start][1]) for each in edges if each.end == node]
    into += [(1.0, y) for same, (_x, y) in found.items() if _goes_on(same, node)]
    total = sum(size for size, _y in into)
    return sum(size * y for size, y in into) / total if total else 0.5


def _goes_on(before: Node, after: Node) -> bool:
    """Whether a number of the stream goes on past attention as it is."""
    return before == Node(Column.BEFORE, after.place) and after.column is Column.AFTER


def graph(facts: CircuitFacts, *, _: Translate) -> Picture:
    """All edges: as wide as their weight, lit where something flows to the token looked at.

    Where a token is followed its ways alone are lit, with their weights where there is room, and
    each node has what the token adds to it.

    A click on the mark of an edge returns its number, from 0.
    """
    places = layout(facts.edges)
    n_rows = max(sum(x == column for x, _y in places.values()) for column in range(5))
    return figure(
        [_handles(facts, places, _), _nodes(facts, places, _)],
        title=_("Every weight that is left"),
        height=TITLE + HEAD_ROOM + FOOT + ROW * max(n_rows, 8),
        margin=(TITLE + HEAD_ROOM, FOOT),
        xaxis={"range": [-0.35, 4.55], "visible": False},
        yaxis={"range": [1.02, -0.06], "visible": False},
        shapes=[*_stems(facts, places), *_lines(facts, places)],
        annotations=[_heading(x, name) for x, name in enumerate(column_names(_))],
    )


def _heading(x: int, name: str) -> dict[str, Any]:
    place = {"x": x, "y": 1, "yref": "paper", "yanchor": "bottom", "yshift": 4}
    return {**place, "text": "<br>".join(name.split(" ", 1)), "font": {"size": 11}}


def _stems(facts: CircuitFacts, places: dict[Node, tuple[float, float]]) -> list[dict[str, Any]]:
    """What goes past attention, dotted; queries and keys to the values whose weights they set."""
    pairs = [
        (start, end)
        for start in places
        for end in places
        if _goes_on(start, end)
        or (
            {start.column, end.column} in ({Column.QUERY, Column.KEY},)
            and start.column is Column.QUERY
            and start.place == end.place
        )
    ]
    line = {"color": palette.RESIDUAL, "width": 1, "dash": "dot"}
    return [_curve(places[start], places[end], line, 0.6) for start, end in pairs]


def _lit(facts: CircuitFacts) -> frozenset[int]:
    """The edges along which something flows; or those on the ways of the token followed."""
    if found := followed(facts):
        return found.edges
    flows = np.array([abs(facts.flow(edge)) for edge in facts.edges])
    most: dict[Column, float] = {}
    for edge, flow in zip(facts.edges, flows, strict=True):
        most[edge.end.column] = max(most.get(edge.end.column, 0.0), flow)
    return frozenset(
        i for i, edge in enumerate(facts.edges) if flows[i] > LEAST_FLOW * most[edge.end.column]
    )


def _lines(facts: CircuitFacts, places: dict[Node, tuple[float, float]]) -> list[dict[str, Any]]:
    sizes, lit = _sizes(facts), _lit(facts)
    found = []
    for i, edge in enumerate(facts.edges):
        line: dict[str, Any] = {"color": _color(edge.weight), "width": sizes[i]}
        if i in facts.without:
            line = {"color": palette.BEFORE, "width": THIN, "dash": "dash"}
        opacity = FLOWING if i in lit else STILL
        found.append(_curve(places[edge.start], places[edge.end], line, opacity))
    return found


def _sizes(facts: CircuitFacts) -> list[float]:
    """Pixels that each line is wide; the largest weight of each matrix has the widest."""
    most: dict[Column, float] = {}
    for edge in facts.edges:
        most[edge.end.column] = max(most.get(edge.end.column, 0.0), abs(edge.weight))
    return [
        THIN + (THICK - THIN) * abs(edge.weight) / most[edge.end.column] for edge in facts.edges
    ]


def _color(weight: float) -> str:
    return "rgb({}, {}, {})".format(*(POSITIVE if weight > 0 else NEGATIVE))


def _curve(
    start: tuple[float, float], end: tuple[float, float], line: dict[str, Any], opacity: float
) -> dict[str, Any]:
    (x0, y0), (x1, y1) = start, end
    bent = f"M {x0},{y0:.4f} C {x0 + 0.45},{y0:.4f} {x1 - 0.45},{y1:.4f} {x1},{y1:.4f}"
    return {"type": "path", "path": bent, "line": line, "opacity": opacity, "layer": "below"}


def _handles(
    facts: CircuitFacts, places: dict[Node, tuple[float, float]], _: Translate
) -> dict[str, Any]:
    """A mark in the middle of each line, to be hovered and clicked."""
    text = _(
        "{i}: {start} → {end}, weight {weight:+.2f}, at this token {flow:+.2f}; without it "
        "{accuracy:.1%} right"
    )
    hovers = [
        text.format(
            i=from_one(i),
            start=node_name(edge.start),
            end=node_name(edge.end),
            weight=edge.weight,
            flow=facts.flow(edge),
            accuracy=alone.accuracy,
        )
        for i, (edge, alone) in enumerate(zip(facts.edges, facts.alone, strict=True))
    ]
    lit = _lit(facts)
    middles = [_middle(i, edge, places) for i, edge in enumerate(facts.edges)]
    corners = _corners(facts, middles, places)
    colors = [
        palette.BEFORE if i in facts.without else _color(edge.weight)
        for i, edge in enumerate(facts.edges)
    ]
    return marks.dots(
        [x for x, _y in middles],
        [y for _x, y in middles],
        customdata=[[i] for i in range(facts.n_edges)],
        mode="markers+text",
        text=_written(facts, corners),
        textposition=[corners.get(i, "top center") for i in range(facts.n_edges)],
        **marks.told(hovers),
        marker={
            "size": [LARGE if i in lit else SMALL for i in range(facts.n_edges)],
            "color": colors,
            "line": {"width": 1, "color": "white"},
        },
        **marks.steady(),
        meta={SAID: hovers},
    )


def _written(facts: CircuitFacts, corners: dict[int, str]) -> list[str]:
    """At each mark: the number of a weight that is out, and the weights of the ways followed."""
    texts = [f"{edge.weight:.2f}" if i in corners else "" for i, edge in enumerate(facts.edges)]
    return [str(from_one(i)) if i in facts.without else text for i, text in enumerate(texts)]


def _corners(
    facts: CircuitFacts, middles: list[tuple[float, float]], places: dict[Node, tuple[float, float]]
) -> dict[int, str]:
    """At which corner of its mark each weight is written: off its line, and clear of the others.

    The strongest way has all its weights, the other ways those for which there is room.
    """
    if not (ways := (found := followed(facts)) and found.ways):
        return {}
    corners: dict[int, str] = {}
    lit = dict.fromkeys(i for way in ways for i in way.edges)  # the strongest way first
    taken = [middles[i] for i in lit] + [(x, y - ABOUT[1]) for x, y in places.values()]
    for i in lit:
        start, end = (places[node][1] for node in facts.edges[i][:2])
        off = ("bottom left", "top right") if end > start else ("top left", "bottom right")
        spots = {corner: _spot(middles[i], corner) for corner in (*off, *CORNERS)}
        free = [corner for corner, spot in spots.items() if _is_free(spot, taken)]
        if free or i in ways[0].edges:
            corners[i] = (*free, *off)[0]
            taken.append(spots[corners[i]])
    return corners


def _spot(mark: tuple[float, float], corner: str) -> tuple[float, float]:
    across, down = CORNERS[corner]
    return mark[0] + across * ABOUT[0], mark[1] + down * ABOUT[1]


def _is_free(spot: tuple[float, float], taken: list[tuple[float, float]]) -> bool:
    (x, y), (wide, high) = spot, ACROSS
    return not any(abs(x - a) < wide and abs(y - b) < high for a, b in taken)


def _middle(i: int, edge: Edge, places: dict[Node, tuple[float, float]]) -> tuple[float, float]:
    """A place on the curve, for every edge another share of the way, so that marks stand apart."""
    t = 0.35 + 0.15 * (i % 3)
    (x0, y0), (x1, y1) = places[edge.start], places[edge.end]
    a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3
    return a * x0 + b * (x0 + 0.45) + c * (x1 - 0.45) + d * x1, (a + b) * y0 + (c + d) * y1


def _nodes(
    facts: CircuitFacts, places: dict[Node, tuple[float, float]], _: Translate
) -> dict[str, Any]:
    """The nodes with their names, and what each of them is at the token that is looked at."""
    names = {node: node_name(node) for node in places}
    said = _("{name}: {value:+.2f} at this token")
    here = {
        node: float(facts.passed.inside[node.column][facts.token, node.place]) for node in places
    }
    hovers = [said.format(name=names[node], value=here[node]) for node in places]
    if found := followed(facts):
        lit = {node for i in found.edges for node in facts.edges[i][:2]}
        lit -= {node for node in lit if node.column is Column.TOKEN}
        for node in lit:
            names[node] += f"</b> {found.added[node.column][node.place]:+.1f}<b>"
    looked_at = Node(Column.TOKEN, facts.token_ids[facts.token])
    colors = [palette.PINNED if node == looked_at else palette.RESIDUAL for node in places]
    return marks.dots(
        [x for x, _y in places.values()],
        [y for _x, y in places.values()],
        mode="markers+text",
        text=[f"<b>{name}</b>" for name in names.values()],
        textposition=[BESIDE.get(node.column, "top center") for node in places],
        **marks.told(hovers),
        marker={"size": 10, "color": colors, "symbol": "square"},
        **marks.steady(),
    )
