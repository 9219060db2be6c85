"""The way of a sentence through a model: every token at every layer, wires as wide as shares.

Wires are paths of the layout: one path holds all wires of a level, however many there are.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from blocks.inspection.contribution_graph import GraphFacts
from pages.figures import marks, palette
from pages.figures.axes import plot_room
from pages.figures.counting import from_one, read_apart
from pages.figures.described import SAID
from pages.figures.theme import ACROSS, SPACE, WIDE, Picture, Translate, faint, figure, token_label
from pages.figures.token_axis import (
    CLOSE,
    CROWDED,
    in_two_lines,
    label_room,
    label_width,
    token_ticks,
)

LEVELS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.55, 0.8)  # the least share of each
WIDTHS = (0.7, 1.1, 1.7, 2.5, 3.5, 4.6, 5.8, 7.0)
OPACITIES = (0.3, 0.4, 0.52, 0.64, 0.74, 0.82, 0.88, 0.94)
LIT = (0.9,) * len(WIDTHS)
SLANTED_LABELS = 20  # so many stand apart on a phone
LABELS, LEVEL_LABELS, ROOM, WORD, SHORT = 40, 13, 620, 8, 12  # of which the last three are pixels
LEAST_HEIGHT, MOST_HEIGHT = 230, 340
SMALL, LARGE = 5, 19  # pixels of a dot
OF_ROOM, OF_CROWD = 0.8, 0.45  # the largest share of the way to the next; where there are many
ROW, N_SAID = 60, 3
PROJECTED = 740  # pixels between the first token and the last before a class


class Shares(NamedTuple):
    """What is drawn, of the tokens in the picture; all of it shares, 0 to 1.

    `wires`, `routed`: (layer, query, key), taken from other tokens, and how much of the pinned
    token's last stream passes there. `own`: (layer, query), what a token keeps; `gathered`,
    `routes`: (layer + 1, token), what came from others so far, and what of the pinned one passes.
    """

    wires: np.ndarray
    routed: np.ndarray
    own: np.ndarray
    gathered: np.ndarray
    routes: np.ndarray


def shares_of(facts: GraphFacts) -> Shares:
    """The shares of the tokens in the picture."""
    graph, shown = facts.graph, facts.drawn.rows
    return Shares(
        wires=graph.wires[:, shown, shown],
        routed=graph.routed(facts.token)[:, shown, shown],
        own=graph.kept[:, shown],
        gathered=graph.gathered()[:, shown],
        routes=graph.routes(facts.token)[:, shown],
    )


def graph(facts: GraphFacts, *, _: Translate) -> Picture:
    """Tokens along x, layers upwards; wires from `least` on, those to the pinned token lit.

    A lit wire is as wide as what of the pinned token's last stream passes it. A click returns the
    number of the token in its text.
    """
    shares, least, first = shares_of(facts), facts.least, facts.drawn.first
    names = read_apart(facts.labels)[facts.drawn.rows]
    tokens = _signs(names)
    pinned = facts.token - first
    n_layers, n = shares.own.shape
    slanted = n * WORD + sum(map(label_width, tokens)) > ROOM
    bottom = label_room(tokens) if slanted else 26
    height = max(LEAST_HEIGHT, min(MOST_HEIGHT, ROW * n_layers))
    between = height / (n_layers + 1)
    across = (OF_ROOM if n <= CLOSE else OF_CROWD) * ROOM / n
    largest = min(LARGE, OF_ROOM * between, max(SMALL, across))
    beyond = max(0.16, largest / 2 / between)  # levels: the dots of the last one are whole
    return figure(
        [_nodes(facts, shares, largest, _), _targets(shares, names, pinned, first, _)],
        title=_("What each token takes from the others, layer by layer"),
        **plot_room(height, bottom),
        meta={ACROSS: PROJECTED},
        xaxis={
            **_token_ticks(tokens, pinned),
            "range": [-0.6, n - 0.4],
            "ticks": "",
            "automargin": not slanted,
            **_angle(tokens, slanted),
        },
        yaxis={**_levels_axis(n_layers, _), "side": "right", "range": [-0.18, n_layers + beyond]},
        shapes=_wires(shares, least),
    )


def _signs(names: Sequence[str]) -> Sequence[str]:
    """Names along x; where many are single characters, as in Chinese, each is its character."""
    return [name.lstrip(SPACE)[:1] for name in names] if _is_of_signs(names) else names


def _is_of_signs(names: Sequence[str]) -> bool:
    """Whether there are many, and most are characters that are as wide as they are high."""
    n_wide = sum(ord(name[0]) > WIDE and _width(name) <= 2 * SHORT for name in names)
    return len(names) > CLOSE and 2 * n_wide > len(names)


def _width(name: str) -> int:
    """Pixels that a name is wide; parts of a character, as 你 1–2/3, count as the character."""
    return label_width(name.partition(" ")[0])


def _token_ticks(tokens: Sequence[str], pinned: int) -> dict[str, Any]:
    """The tokens along x, the pinned one marked."""
    is_short = max(map(label_width, tokens)) <= SHORT
    ticks = token_ticks(tokens, LABELS if is_short else SLANTED_LABELS)
    step = -(-len(tokens) // len(ticks["tickvals"]))
    shown = range(pinned % step, len(tokens), step)  # the pinned one is among them
    names = [
        _marked(token_label(tokens[i])) if i == pinned else token_label(tokens[i]) for i in shown
    ]
    if is_short and len(names) > CROWDED:
        names = in_two_lines(names)
    return ticks | {"tickvals": list(shown), "ticktext": names}


def _wires(shares: Shares, least: float) -> list[dict[str, Any]]:
    """All wires and stems from `least` on; those that lead to the pinned token lie on top, lit."""
    lit = np.where(shares.routed >= least, shares.routed, 0)
    unlit = np.where((shares.wires >= least) & (lit == 0), shares.wires, 0)
    own = shares.routes[1:] * shares.own
    return [
        *_stems(shares.own, faint(palette.RESIDUAL, 0.4)),
        *_paths(unlit, palette.ATTENTION, OPACITIES),
        *_stems(np.where(own >= least, own, 0), palette.PINNED),
        *_paths(lit, palette.PINNED),
    ]


def _angle(tokens: Sequence[str], slanted: bool) -> dict[str, Any]:
    """Single characters stand upright on a phone, too; words are slanted where they are crowded."""
    if max(map(label_width, tokens)) <= SHORT:
        return {"tickangle": 0}
    return {"tickangle": 45} if slanted else {"autotickangles": [0, 45]}


def _marked(text: str) -> str:
    return f'<b><span style="color:{palette.PINNED}">{text}</span></b>'


def _levels_axis(n_layers: int, _: Translate) -> dict[str, Any]:
    """The layers by name, from the embedding up; of many, some."""
    step = max(1, round(n_layers / LEVEL_LABELS))
    shown = list(range(0, n_layers + 1, step))
    layer = _("layer {n}")
    return {
        "tickvals": shown,
        "ticktext": [layer.format(n=i) if i else _("embedding") for i in shown],
        "tickfont": {"size": 12},
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
    }


def _stems(own: np.ndarray, color: str) -> list[dict[str, Any]]:
    """The line of each token, as wide as what it keeps: its residual and its own value."""
    layer, token = own.nonzero()
    strokes = [f"M {i},{at} L {i},{at + 1}" for at, i in zip(layer, token, strict=True)]
    return _by_width(strokes, own[layer, token], color)


def _paths(
    shares: np.ndarray, color: str, opacities: Sequence[float] = LIT
) -> list[dict[str, Any]]:
    """Curves that leave a source and arrive at its reader upright."""
    layer, query, key = shares.nonzero()
    strokes = [
        f"M {source},{at} C {source},{at + 0.55:g} {reader},{at + 0.45:g} {reader},{at + 1}"
        for at, reader, source in zip(layer, query, key, strict=True)
    ]
    return _by_width(strokes, shares[layer, query, key], color, opacities)


def _by_width(
    strokes: Sequence[str], shares: np.ndarray, color: str, opacities: Sequence[float] = LIT
) -> list[dict[str, Any]]:
    """One path for all strokes of a width; thin ones first, so that wide ones lie on top."""
    level = np.searchsorted(LEVELS, shares, side="right") - 1
    return [
        {
            "type": "path",
            "path": " ".join(strokes[i] for i in np.flatnonzero(level == number).tolist()),
            "line": {"color": color, "width": width},
            "opacity": opacities[number],
            "layer": "below",
        }
        for number, width in enumerate(WIDTHS)
        if (level == number).any()
    ]


def _nodes(facts: GraphFacts, shares: Shares, largest: float, _: Translate) -> dict[str, Any]:
    """A dot for each token at each level, as large as what it has gathered from others."""
    level, token = (places.ravel() for places in np.indices(shares.gathered.shape))
    size = SMALL + max(0, largest - SMALL) * shares.gathered.clip(0, 1)
    colors = [
        palette.PINNED if share >= facts.least else palette.ATTENTION
        for share in shares.routes.ravel()
    ]
    return marks.dots(
        token.tolist(),
        level.tolist(),
        marker={"size": size.ravel().round(1).tolist(), "color": colors, "opacity": 1},
        hoverinfo="skip",
        meta={SAID: [_in_words(facts, _)]},
        **marks.steady(),
    )


def _in_words(facts: GraphFacts, _: Translate) -> str:
    """How many wires there are, and the widest of them."""
    each, names = _("layer {layer}: {reader} takes {share} from {source}"), read_apart(facts.labels)
    listed = [
        each.format(
            layer=from_one(wire.layer),
            reader=token_label(names[wire.reader]),
            share=f"{wire.share:.1%}",
            source=token_label(names[wire.source]),
        )
        for wire in facts.widest(N_SAID)
    ]
    text = _("Tokens: {n}; layers: {n_layers}; wires: {wires}. Widest: {listed}.")
    sizes = {"n": len(facts.labels), "n_layers": len(facts.graph.own), "wires": facts.n_wires}
    return text.format(**sizes, listed="; ".join(listed) or "–")


def _targets(
    shares: Shares, tokens: Sequence[str], pinned: int, first: int, _: Translate
) -> dict[str, Any]:
    """What is hovered and clicked: an unseen square around each dot."""
    level, token = (places.ravel().tolist() for places in np.indices(shares.gathered.shape))
    hovers = [_hover(shares, tokens, pinned, *place, _) for place in zip(level, token, strict=True)]
    return marks.targets(token, level, [[first + i] for i in token], 26, **marks.told(hovers))


def _hover(
    shares: Shares, tokens: Sequence[str], pinned: int, level: int, token: int, _: Translate
) -> str:
    """What a token took at a layer, from whom; and what of the pinned one passes here."""
    name = f"<b>{token_label(tokens[token])}</b>"
    lines = [_("{token} · embedding").format(token=name)]
    if level:
        text = _("{token} · layer {n}: {own:.0%} its own")
        lines = [text.format(token=name, n=level, own=shares.own[level - 1, token])]
        text = _("{share:.1%} from {token}")
        row = shares.wires[level - 1, token]
        lines += [
            text.format(share=row[i], token=token_label(tokens[i]))
            for i in np.argsort(-row, kind="stable")[:3]
            if row[i] > 0
        ]
        text = _("{share:.0%} gathered from other tokens so far")
        lines.append(text.format(share=shares.gathered[level, token]))
    if shares.routes[level, token] > 0:
        text = _("{share:.1%} of what reaches {pinned} at the last layer passes through here")
        share, name = shares.routes[level, token], token_label(tokens[pinned])
        lines.append(text.format(share=share, pinned=name))
    return "<br>".join(lines)
