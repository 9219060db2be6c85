"""The induction head at one step: where it looks, what it copies, what it looks for."""

from typing import Any

import numpy as np

from blocks.phases.facts import InductionFacts
from pages.figures.counting import from_one
from pages.figures.signed import largest, signed_bar, signed_map
from pages.figures.theme import TITLE, Picture, Translate, figure
from pages.figures.weights import codes, weight_map

TALL, BELOW = 330, 44


def pattern(facts: InductionFacts, *, _: Translate) -> Picture:
    """The attention weights of the leading head on one row of the task."""
    layer, head = facts.found[0]
    weights = facts.back["head"][facts.i].astype(np.float32)
    hidden = np.triu(np.ones_like(weights, dtype=bool), 1)
    z = np.where(hidden, 1, codes(weights)).astype(np.uint8)
    title = _("Where head {head} looks, step {step:,}")
    tokens = {"tickvals": [*range(len(z))], "ticktext": facts.row, "tickangle": 0}
    drawn = _map(
        weight_map(z, _, hovertemplate=_hover(_("query {y}, key {x}")), showscale=False),
        title.format(head=f"{from_one(layer)}.{from_one(head)}", step=facts.now.step),
        _("key (attended to)"),
        _("query (attends)"),
    )
    axes = {each: drawn.parts["layout"][each] | tokens for each in ("xaxis", "yaxis")}
    return drawn.with_layout(**axes)


def ov(facts: InductionFacts, *, _: Translate) -> Picture:
    """What reading each token adds to each logit: the diagonal copies."""
    title = _("OV, step {step:,}").format(step=facts.now.step)
    return _circuit(facts, "ov", title, _("token it reads"), _("logit it raises"), _)


def qk(facts: InductionFacts, *, _: Translate) -> Picture:
    """The score of each token with keys whose previous token is each: the diagonal matches."""
    title = _("QK, step {step:,}").format(step=facts.now.step)
    return _circuit(facts, "qk", title, _("token before the key"), _("token of the query"), _)


def _circuit(
    facts: InductionFacts, name: str, title: str, across: str, down: str, _: Translate
) -> Picture:
    """On the scale of all steps, so that one sees it grow."""
    values = facts.back[name][facts.i].astype(np.float32)
    most = largest(facts.back[name].astype(np.float32))
    cells = signed_map(
        values,
        most,
        showscale=True,
        colorbar=signed_bar(values, "", most),
        hovertemplate=_hover(f"{across} {{x}}, {down} {{y}}"),
    )
    return _map(cells, title, across, down)


def _hover(text: str) -> str:
    return text.format(x="%{x}", y="%{y}") + "<extra></extra>"


def _map(cells: dict[str, Any], title: str, across: str, down: str) -> Picture:
    return figure(
        [cells],
        title=title,
        height=TITLE + TALL + BELOW,
        margin=(TITLE, BELOW),
        xaxis={"title": across, "constrain": "domain"},
        yaxis={"title": down, "autorange": "reversed", "scaleanchor": "x", "constrain": "domain"},
    )
