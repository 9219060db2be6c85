"""What a conversion fault does to the next token, and what is left where each fault is undone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blocks.inspection.conversion import FaultFacts
from blocks.weights.conversion_faults import ConversionFault
from pages.figures import marks
from pages.figures.theme import (
    ATTENTION,
    PINNED,
    RESIDUAL,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    figure,
    legend,
    token_label,
)

ROW, BOTTOM = 34, 44
LEAST, MOST = 1e-12, 10.0


@dataclass(frozen=True, eq=False)
class Labelled:
    """The facts, with what the candidates are called."""

    facts: FaultFacts
    labels: tuple[str, ...]


def candidates(found: Labelled, *, _: Translate) -> Picture:
    """Two bars per token: of the sound model, and with the fault."""
    table, n = found.facts.candidates, len(found.labels)
    names = [token_label(label) for label in found.labels]
    bars = {"type": "bar", "orientation": "h", "y": list(range(n))}
    hover = "%{customdata}: %{x:.2%}<extra></extra>"
    sides = [
        (table["sound"], _("correct"), ATTENTION),
        (table["faulty"], _("with the fault"), PINNED),
    ]
    if found.facts.fault is None:
        sides = sides[:1]
    largest = max(float(values.max()) for values, _name, _color in sides)
    return figure(
        [
            {
                **bars,
                "x": values.tolist(),
                "name": name,
                "marker": {"color": color},
                "customdata": names,
                "hovertemplate": hover,
            }
            for values, name, color in sides
        ],
        title=_("The next token"),
        height=TITLE_AND_LEGEND + BOTTOM + ROW * n,
        margin=(TITLE_AND_LEGEND, BOTTOM),
        barmode="group",
        **legend(),
        xaxis={
            "title": {"text": _("probability")},
            "tickformat": ".0%" if largest > 0.05 else ".1%",
            "range": [0, 1.1 * largest],
        },
        yaxis={
            "tickvals": list(range(n)),
            "ticktext": names,
            "range": [n - 0.5, -0.5],
        },
    )


def undone(facts: FaultFacts, names: Mapping[ConversionFault, str], *, _: Translate) -> Picture:
    """A dot per fault: how far the logits would be from the sound ones without it."""
    ranked, found = facts.found.ranked, facts.found
    shares = [found.undone[fault] for fault in ranked]
    labels = [names[fault] for fault in ranked]
    now, dotted = _place(found.as_it_is), marks.dashed(dash="dot", width=2)
    ends = [now, now], [-0.5, len(ranked) - 0.5]
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": [_place(share) for share in shares],
        "y": list(range(len(ranked))),
        "marker": {
            "size": 11,
            "color": [PINNED if fault is found.names else RESIDUAL for fault in ranked],
        },
        "customdata": [[label, f"{share:.2g}"] for label, share in _pairs(labels, shares)],
        "hovertemplate": "%{customdata[0]}: %{customdata[1]}<extra></extra>",
        "name": _("undone"),
    }
    return figure(
        [dots, marks.line(*ends, name=_("as it is"), line=dotted, hoverinfo="skip")],
        title=_("Each fault undone"),
        height=TITLE_AND_LEGEND + BOTTOM + ROW * len(ranked),
        margin=(TITLE_AND_LEGEND, BOTTOM),
        **legend(),
        xaxis={
            "type": "log",
            "title": {"text": _("distance from the correct logits")},
            "range": [math.log10(LEAST) - 0.5, math.log10(MOST)],
            "tickvals": [LEAST, 1e-9, 1e-6, 1e-3, 1.0],
            "ticktext": ["≤ 1e-12", "1e-9", "1e-6", "1e-3", "1"],
        },
        yaxis={
            "tickvals": list(range(len(ranked))),
            "ticktext": labels,
            "range": [len(ranked) - 0.5, -0.5],
        },
    )


def _pairs(labels: Sequence[str], shares: Sequence[float]) -> list[tuple[str, float]]:
    return list(zip(labels, shares, strict=True))


def _place(share: float) -> float:
    return min(max(share, LEAST), MOST)
