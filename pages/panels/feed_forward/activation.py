"""Where do pre-activations land? The units of this run on the curve of the activation."""

import numpy as np
import pandas as pd

from blocks.inspection import activations
from blocks.inspection.activations import ActivationFacts, same_bend
from blocks.model.faults import N_
from blocks.model.kinds import Activation
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Ground, Look, bars, line
from pages.figures.theme import faint
from pages.page.declared import Panel
from pages.panels.feed_forward import shared
from pages.show.parts import Note, Say, Shown
from pages.words import terms
from pages.words.language import _, enumeration, fill, sentences

DASHES = (
    *("dot", "dash", "12px,3px", "dashdot"),
    *("16px,4px,3px,4px", "10px,3px,2px,3px,2px,3px"),  # all of them whole within a legend's 30 px
)
TALL, FLAT = 430, 0.01
activation_facts = shared.kept(activations.activation_facts)


def says_activation(facts: ActivationFacts) -> str:
    """Where the units of this run stand on the activation."""
    text = _(
        "{where}: {below_zero:percent} of the pre-activations are below 0; the median is "
        "{median:z.2f}. Of all token–unit pairs, {off:percent} are off, and in {flat:percent} the "
        "slope of the activation is below 0.01 in magnitude."
    )
    said = fill(text, facts.standing, where=shared.where(facts.place))
    outside = _("{outside:percent} of the pre-activations lie outside the plotted range.")
    return sentences(said, fill(outside, facts.standing) if facts.standing.outside else "")


def bends(facts: ActivationFacts) -> Chart:
    """φ, φ′ and the pre-activations over one x axis: the chosen kind strong, the others faint.

    Kinds that are alike share a curve. Where |φ′| < 0.01 of the chosen kind the ground is grey.
    """
    curves, reach = facts.curves, facts.standing.reach
    of = {kind: curves[curves["activation"] == kind] for kind in Activation}
    near = _("near {z:.2f}: {share:.2%} of all pre-activations")
    return Chart(
        _("Activation, its slope, and this run's inputs"),
        facts.spread.rename(columns={"value": "z"}),
        Axis(_("z, the input to the activation"), (-reach, reach), of="z"),
        (
            Axis("φ(z)", (-0.7, max(2.0, 0.7 * reach)), share=0.36),
            Axis("φ′(z)", (-0.25, 2.1), ticks=(0, 1, 2), share=0.26),
            Axis(_("share"), is_share=True, from_0=True, n_ticks=3, share=0.22),
        ),
        [
            *(
                line(column, look, rows=of[kind], plot=plot, in_legend=not plot)
                for plot, column in enumerate(("value", "slope"))
                for kind, look in _looks(facts).items()
            ),
            bars("share", plot=2, hover=near, in_legend=False),
        ],
        hover="{name}: {y:.3f} (z = {x:.2f})",
        tall=TALL,
        gap=0,
        grounds=_flat_ground(of[facts.chosen]),
    )


def _looks(facts: ActivationFacts) -> dict[Activation, Look]:
    """How each kind is drawn, of those that are alike one; the chosen one last, on top."""
    groups = {
        next((k for k in group if k == facts.chosen), group[0]): group for group in same_bend()
    }
    names = {kind: enumeration(map(terms.option, group)) for kind, group in groups.items()}
    others = [kind for kind in groups if kind != facts.chosen]
    grey = faint(palette.BEFORE, 0.75)
    looks = {
        kind: Look(names[kind], grey, width=1.5, dash=DASHES[i % len(DASHES)])
        for i, kind in enumerate(others)
    }
    return {**looks, facts.chosen: Look(names[facts.chosen], width=3.5)}


def _flat_ground(own: pd.DataFrame) -> list[Ground]:
    """A grey ground over every stretch where the chosen kind passes hardly any gradient.

    Where the slope only crosses zero there is none.
    """
    z, slope = own["z"].to_numpy(), own["slope"].to_numpy()
    is_flat = np.abs(slope) < FLAT
    edges = [i for i in range(1, len(z)) if is_flat[i] != is_flat[i - 1]]
    starts = [0, *edges]
    stretches = zip(starts, [*edges, len(z) - 1], strict=True)
    return [
        Ground(float(z[start]), float(z[end]), palette.MASKED)
        for start, end in stretches
        if is_flat[start] and not slope[max(0, start - 1)] * slope[end] < -(FLAT**2)
    ]


PANEL = Panel(
    "activation",
    N_("Where on the activation function do pre-activations fall?"),
    choices=shared.layer_and_expert,
    fields=("activation", "d_model", "d_ff", "initialization"),
    concepts=("activations",),
    code=(activations.slope, activations.is_off, activations.is_saturated),
    at=shared.of_units,
    facts=activation_facts,
    shows=(
        Say(says_activation),
        Shown(bends, "bend_curves"),
        Note(
            N_(
                "Derivatives are computed by autograd. In the gray range the chosen "
                "activation passes hardly any gradient: |φ′(z)| < 0.01. In a gated layer "
                "the activation is applied to the gate, and z is the gate's "
                "pre-activation."
            )
        ),
    ),
)
