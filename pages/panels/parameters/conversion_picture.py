"""What a conversion fault does to the next token, and what is left where each fault is undone."""

from collections.abc import Mapping
from dataclasses import dataclass

from blocks.inspection.conversion import FaultFacts
from blocks.weights.conversion_faults import ConversionFault
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Level, Look, bars, dots
from pages.figures.theme import Translate, token_label

ROW = 34
LEAST, MOST = 1e-12, 10.0


@dataclass(frozen=True, eq=False)
class Labelled:
    """The facts, with what the candidates are called."""

    facts: FaultFacts
    labels: tuple[str, ...]


def candidates(found: Labelled, *, _: Translate) -> Chart:
    """Two bars per token: of the sound model, and with the fault."""
    table, names = found.facts.candidates, [*map(token_label, found.labels)]
    sides = {
        "sound": Look(_("correct"), palette.ATTENTION),
        "faulty": Look(_("with the fault"), palette.PINNED),
    }
    shown = [*sides][: 1 if found.facts.fault is None else 2]
    largest = float(table[shown].max().max())
    return Chart(
        _("Predicted token probabilities"),
        table.assign(label=names),
        Axis(_("probability"), (0, 1.1 * largest), is_share=True, n_decimals=int(largest <= 0.05)),
        Axis(names=names),
        [bars(side, sides[side]) for side in shown],
        hover="{label}: {x:.2%}",
        click=("label",),
        tall=ROW * len(names),
    )


def undone(facts: FaultFacts, names: Mapping[ConversionFault, str], *, _: Translate) -> Chart:
    """A dot per fault: how far the logits would be from the sound ones without it."""
    ranked, found = facts.found.ranked, facts.found
    shares = [found.undone[fault] for fault in ranked]
    labels = [names[fault] for fault in ranked]
    colors = [palette.PINNED if fault is found.names else palette.RESIDUAL for fault in ranked]
    now = _("unchanged")
    return Chart(
        _("Undoing each fault"),
        {"name_of": labels, "share": shares, "place": [*map(_place, shares)]},
        Axis(
            _("relative error of the logits"),
            (LEAST, MOST),
            is_log=True,
            ticks=(LEAST, 1e-9, 1e-6, 1e-3, 1.0),
            said=lambda error: f"≤ {LEAST:g}" if error <= LEAST else f"{error:g}",
            room=0.5,
        ),
        Axis(names=labels),
        [dots("place", Look(_("fault undone"), colors, size=11), hover="{name_of}: {share:.2g}")],
        tall=ROW * len(ranked),
        levels=[Level(x=_place(found.as_it_is), name=now, dash="dot")],
    )


def _place(share: float) -> float:
    return min(max(share, LEAST), MOST)
