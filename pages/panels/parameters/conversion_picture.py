"""What a conversion fault does to the next token, and what is left where each fault is undone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blocks.inspection.conversion import FaultFacts
from blocks.weights.conversion_faults import ConversionFault
from pages.figures import marks, palette
from pages.figures.axes import room_under_legend, row_names
from pages.figures.theme import Picture, Translate, figure, token_label

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
        (table["sound"], _("correct"), palette.ATTENTION),
        (table["faulty"], _("with the fault"), palette.PINNED),
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
        title=_("Predicted token probabilities"),
        **room_under_legend(ROW * n, BOTTOM),
        barmode="group",
        xaxis={
            "title": _("probability"),
            "tickformat": ".0%" if largest > 0.05 else ".1%",
            "range": [0, 1.1 * largest],
        },
        yaxis=row_names(names),
    )


def undone(facts: FaultFacts, names: Mapping[ConversionFault, str], *, _: Translate) -> Picture:
    """A dot per fault: how far the logits would be from the sound ones without it."""
    ranked, found = facts.found.ranked, facts.found
    shares = [found.undone[fault] for fault in ranked]
    labels = [names[fault] for fault in ranked]
    now, dotted = _place(found.as_it_is), marks.dashed(dash="dot", width=2)
    ends = [now, now], [-0.5, len(ranked) - 0.5]
    dots = marks.dots(
        [_place(share) for share in shares],
        range(len(ranked)),
        marker={
            "size": 11,
            "color": [
                palette.PINNED if fault is found.names else palette.RESIDUAL for fault in ranked
            ],
        },
        customdata=[[label, f"{share:.2g}"] for label, share in _pairs(labels, shares)],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
        name=_("fault undone"),
    )
    return figure(
        [dots, marks.line(*ends, name=_("unchanged"), line=dotted, hoverinfo="skip")],
        title=_("Undoing each fault"),
        **room_under_legend(ROW * len(ranked), BOTTOM),
        xaxis={
            "type": "log",
            "title": _("relative error of the logits"),
            "range": [math.log10(LEAST) - 0.5, math.log10(MOST)],
            "tickvals": [LEAST, 1e-9, 1e-6, 1e-3, 1.0],
            "ticktext": ["≤ 1e-12", "1e-9", "1e-6", "1e-3", "1"],
        },
        yaxis=row_names(labels),
    )


def _pairs(labels: Sequence[str], shares: Sequence[float]) -> list[tuple[str, float]]:
    return list(zip(labels, shares, strict=True))


def _place(share: float) -> float:
    return min(max(share, LEAST), MOST)
