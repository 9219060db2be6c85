"""Three attentions of two texts: all heads, one as a map and as lines, one token in both texts."""

from typing import Any

import numpy as np

from blocks.inspection.three_attentions import (
    N_DRAWN,
    HeadFacts,
    KindFacts,
    Lines,
    TokenFacts,
    around,
)
from blocks.inspection.two_texts import AttentionKind
from pages.figures import bipartite, heads, marks
from pages.figures.counting import from_one, head_called
from pages.figures.matrix import Matrix, Place, axes, heat, numbered, outlined
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture, Translate, figure, plain, token_label
from pages.figures.token_axis import CROWDED, label_room, token_ticks
from pages.figures.token_matrix import Names, token_matrix
from pages.panels.seq2seq.cell_numbers_picture import cell_numbers
from pages.panels.seq2seq.two_texts_picture import cells, colors, told

THIRD = 300  # pixels that a third of the page is likely to have
SUMS_UP_TO, LINES_UP_TO, STRIP_UP_TO = 32, 40, 32
STRIP, BETWEEN, TOP = 40, 34, 36


def tiles(facts: KindFacts, *, _: Translate) -> Picture:
    """Heads of one attention, a row per layer; a click returns the head, counted through all."""
    titles = {
        AttentionKind.ENCODER: _("Encoder self-attention"),
        AttentionKind.DECODER: _("Decoder self-attention"),
        AttentionKind.CROSS: _("Cross-attention"),
    }
    text = _("{head}: entropy {entropy:.2f} bits, effectively {tokens:.1f} tokens")
    rows = each_row(facts.heads)
    hovers = [
        text.format(
            head=head_called(row.layer, row.head, _),
            entropy=row.entropy_bits,
            tokens=row.effective_tokens,
        )
        for row in rows
    ]
    labels = [f"{from_one(row.layer)}·<b>{from_one(row.head)}</b>" for row in each_row(facts.heads)]
    return heads.overview(
        facts.tiles,
        facts.heads.assign(head=range(len(labels)), label=labels, hover=hovers),
        columns=facts.n_heads,
        selected=facts.selected,
        pinned=facts.pinned,
        pinned_key=facts.pinned_key,
        title=titles[facts.kind],
        width=THIRD,
        _=_,
    )


def head_map(facts: HeadFacts, *, _: Translate) -> Picture:
    """One head; of long texts the part around the pinned tokens. A click returns query and key."""
    rows, columns = facts.part(N_DRAWN)
    weights = facts.weights[rows, columns]
    across = (_("query (attends)"), _("key (attended to)"))
    names = Names(_title(facts, _), *across, facts.queries[rows], facts.keys[columns])
    return token_matrix(
        colors(weights, _),
        [*cells(weights, (rows.start, columns.start), _), *cell_numbers(told(weights), weights)],
        names,
        pinned=facts.query - rows.start,
        pinned_column=None if facts.key is None else facts.key - columns.start,
        sums=np.nansum(facts.weights, axis=1)[rows] if max(weights.shape) <= SUMS_UP_TO else None,
    )


def _title(facts: HeadFacts, _: Translate) -> str:
    """What reads what, and in which head."""
    titles = {
        AttentionKind.ENCODER: _("Source to source"),
        AttentionKind.DECODER: _("Target to target"),
        AttentionKind.CROSS: _("Target to source"),
    }
    head = head_called(facts.which.layer, facts.which.head, _)
    return _("{what} · {head}").format(what=titles[facts.which.kind], head=head)


def lines(shown: Lines, *, _: Translate) -> Picture:
    """The same head as lines; a click on a token returns its number, and 1 if it is a key."""
    facts = shown.head
    rows, columns = facts.part(LINES_UP_TO)
    key = facts.pins.read(facts.which.kind) - columns.start if shown.follows_key else None
    return bipartite.lines(
        facts.weights[rows, columns],
        facts.queries[rows],
        most=shown.n_edges,
        pinned=None if shown.follows_key else facts.query - rows.start,
        first=rows.start,
        keys=bipartite.Keys(facts.keys[columns], columns.start, key),
        title=_title(facts, _),
        _=_,
    )


def strips(facts: TokenFacts, *, _: Translate) -> Picture:
    """One token in both texts; a click on a token returns [number, 1 if of the target]."""
    texts = (
        _Strip(facts.source, facts.in_source, facts.pins.source, 0),
        _Strip(facts.target, facts.in_target, facts.pins.target, 1),
    )
    titles = (
        (_("Attention to the source"), _("Attention to the target"))
        if facts.is_of_target
        else (_("Attention from the source"), _("Attention from the target"))
    )
    rooms = [label_room(strip.tokens) for strip in texts]
    height = 2 * (STRIP + BETWEEN) + sum(rooms)
    tops = (1.0, 1 - (STRIP + BETWEEN + rooms[0]) / height)
    places = [
        Place(i + 1, (0, 1), (top - (STRIP + BETWEEN) / height, top - BETWEEN / height))
        for i, top in enumerate(tops)
    ]
    layout: dict[str, Any] = {}
    for strip, place in zip(texts, places, strict=True):
        layout |= axes(strip.matrix, place, x=_ticks(strip.tokens))
    text, is_of_target = _("{token}: attention in both texts · {head}"), int(facts.is_of_target)
    head = head_called(facts.layer, facts.head, _)
    return figure(
        [trace for each in zip(texts, places, strict=True) for trace in _strip(*each, _)],
        title=plain(text.format(token=facts.token, head=head)),
        height=int(height + TOP),
        margin=(TOP, 4),
        shapes=[outlined(places[is_of_target], texts[is_of_target].pinned, 0, 1, 1, thick=True)],
        annotations=[_named(*each) for each in zip(titles, places, strict=True)],
        **layout,
    )


class _Strip:
    """A text in a row, of a long one the part around its pinned token."""

    def __init__(self, tokens: tuple[str, ...], weights: np.ndarray, pinned: int, side: int):
        shown = around(pinned, len(tokens), STRIP_UP_TO)
        self.tokens, self.weights = tokens[shown], weights[shown]
        self.first, self.pinned, self.side = shown.start, pinned - shown.start, side

    @property
    def matrix(self) -> Matrix:
        return Matrix("", "", "", self.weights[None, :], ("",), self.tokens, True)


def _strip(strip: _Strip, place: Place, _: Translate) -> list[dict[str, Any]]:
    numbers = numbered(told(strip.matrix.values))
    n = len(strip.tokens)
    said = [
        f"{token_label(token)}<br>"
        + (_("masked") if np.isnan(x) else _("weight {weight}").format(weight=f"{x:.3f}"))
        for token, x in zip(strip.tokens, strip.weights, strict=True)
    ]
    targets = marks.targets(
        range(n),
        [0] * n,
        [[strip.first + i, strip.side] for i in range(n)],
        30 if n <= CROWDED else 10,
        xaxis=f"x{place.suffix}",
        yaxis=f"y{place.suffix}",
        **marks.told(said),
    )
    return [{**heat(strip.matrix, place, _), **numbers}, targets]


def _ticks(tokens: tuple[str, ...]) -> dict[str, Any]:
    ticks = token_ticks(tokens, CROWDED + 8)
    return {**ticks, "showticklabels": True, "tickangle": -45, "automargin": False}


def _named(text: str, place: Place) -> dict[str, Any]:
    at = {"x": 0, "xref": "paper", "y": place.y[1], "yref": "paper"}
    look = {"xanchor": "left", "yanchor": "bottom", "font": {"size": 12}}
    return {**at, **look, "text": text}
