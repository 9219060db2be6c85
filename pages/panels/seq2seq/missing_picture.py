"""How far the next token moves, in bits, where something of the source is missing."""

import numpy as np

from blocks.inspection.missing_source import HiddenFacts, Missing, WaysFacts
from pages.figures import marks, palette
from pages.figures.counting import from_one
from pages.figures.theme import Picture, Translate, line_label, small
from pages.figures.token_matrix import Names, cell_marks, token_matrix
from pages.panels.seq2seq.cell_numbers_picture import cell_numbers

LEAST_SCALE = 1e-6


def way_name(way: Missing | int, _: Translate) -> str:
    """How the source goes missing; a number is the layer whose cross-attention is off."""
    if not isinstance(way, Missing):
        return _("cross-attention of layer {layer} off").format(layer=from_one(way))
    names = {
        Missing.CROSS_OFF: _("all cross-attention off"),
        Missing.HIDDEN: _("source hidden"),
        Missing.EMPTY: _("source empty"),
    }
    return names[way]


def ways(facts: WaysFacts, *, _: Translate) -> Picture:
    """A row a way."""
    title = _("Prediction change without the source (bits, KL)")
    rows = [way_name(way, _) for way in facts.ways]
    names = Names(title, "", _across(_), rows, facts.labels, line_label)
    return _moved(facts.bits, names, (None, facts.pinned), _)


def hidden(facts: HiddenFacts, *, _: Translate) -> Picture:
    """A row per token of the source."""
    title = _("Change without one source token (KL, bits)")
    rows = facts.source[: len(facts.bits)]
    names = Names(title, _("hidden source token"), _across(_), rows, facts.labels)
    return _moved(facts.bits, names, (facts.pinned_source, facts.pinned), _)


def _across(_: Translate) -> str:
    """The tokens that were written, each after those before it."""
    return _("generated target token")


def _moved(bits: np.ndarray, names: Names, pinned: tuple[int | None, int], _: Translate) -> Picture:
    """What is missing down, the next token across; a click returns [row, column, bits]."""
    most = max(LEAST_SCALE, float(np.nanmax(bits, initial=0)))
    numbers = cell_numbers(bits, bits / most)
    said = _("{bits} bits").format(bits="%{customdata[2]:.3g}")
    heat = marks.heat(
        small(bits),
        zmin=0,
        zmax=most,
        colorscale=[list(stop) for stop in palette.WEIGHTS],
        xgap=1,
        ygap=1,
        colorbar=marks.color_bar(_("bits (KL)")),
        showscale=not numbers,
    )
    return token_matrix(
        heat,
        [cell_marks(~np.isnan(bits), bits, said), *numbers],
        names,
        pinned=pinned[0],
        pinned_column=pinned[1],
        angle=-90,  # two of them stand side by side, beside a lesson too
    )
