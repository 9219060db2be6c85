"""What random tokens, read twice, show of every head, and what they cost without some of them."""

from typing import Any

from blocks.inspection.head_probe import ProbeFacts
from pages.figures import head_grid, marks, palette
from pages.figures.axes import AXIS, room_under_legend
from pages.figures.counting import from_one, head_called
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture, Translate, figure
from pages.figures.weights import codes, weight_map

CURVES = 260


def scores(facts: ProbeFacts, *, _: Translate) -> Picture:
    """Every head, colored by its mean weight on one kind of place; a click opens it."""
    heads = facts.probe.heads
    layers = heads["layer"].unique().tolist()
    text = _("{head}: {score:.2f}")
    hovers = [
        text.format(head=head_called(row.layer, row.head, _), score=getattr(row, facts.kind))
        for row in each_row(heads)
    ]
    places = list(zip(heads["layer"].tolist(), heads["head"].tolist(), strict=True))
    return head_grid.grid(
        weight_map(codes(facts.scores), _),
        hovers,
        places,
        title=_("Mean weight of every head in the second copy"),
        layers=layers,
        columns=[str(from_one(i)) for i in range(facts.scores.shape[1])],
        across=_("head"),
        selected=[places.index(facts.selected)] if facts.selected in places else [],
        _=_,
    )


def surprisal(facts: ProbeFacts, *, _: Translate) -> Picture:
    """What each token of the probe costs: with all heads, without those named, without others."""
    n = facts.probe.n_tokens
    curves = [_curve(facts.probe.bits, _("all heads"), palette.BEFORE)]
    if facts.without is not None:
        curves.append(_curve(facts.without, _("without these heads"), palette.PINNED))
    if facts.others and facts.without_others is not None:
        name = _("without other heads")
        curves.append(_curve(facts.without_others, name, palette.CROSS_ATTENTION))
    most = max(max(curve["y"]) for curve in curves)
    return figure(
        curves,
        title=_("Surprisal of random tokens, read twice"),
        **room_under_legend(CURVES, AXIS),
        xaxis={"title": _("position; the second copy is shaded"), "range": [1.5, 2 * n + 0.5]},
        yaxis={"title": _("surprisal (bits)"), "range": [0, 1.05 * most]},
        shapes=[marks.ground(n + 0.5, 2 * n + 0.5, palette.MASKED)],
    )


def _curve(bits: Any, name: str, color: str) -> dict[str, Any]:
    """Positions as the screen counts: the first token has no surprisal."""
    places = range(2, len(bits) + 2)
    return marks.line(places, bits.tolist(), name=name, line={"color": color, "width": 2})
