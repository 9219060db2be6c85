"""Activations by channel, before and after smoothing; and the loss of each kind of grid."""

from blocks.efficiency.activation_facts import ActivationFacts
from pages.figures.theme import Picture, Translate
from pages.panels.efficiency.matrix_map_picture import PALE_TO_STRONG, matrix_map


def outliers(facts: ActivationFacts, *, _: Translate) -> Picture:
    """How far one channel stands out of what each matrix reads; a click returns the matrix."""
    most = max(float(facts.rows["outlier"].max()), 2.0)
    look = {"zmin": 1, "zmax": most, "colorscale": PALE_TO_STRONG, "texttemplate": "%{z:.1f}"}
    return matrix_map(
        facts.rows,
        facts.rows["outlier"],
        look,
        _("{matrix}: its largest channel is {value:.1f} times the median"),
        _,
        name=_("times the median"),
        title=_("Largest input channel, relative to the median"),
        pinned=facts.channels.matrix,
    )
