"""Activations on a grid too: the channels that stretch it, and what each kind of grid costs."""

from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks.efficiency import activation_facts as facts_of
from blocks.efficiency import activations
from blocks.efficiency.activation_facts import ActivationFacts, ActivationMeasure, outlier, recipe
from blocks.efficiency.activations import ActivationRounding
from blocks.efficiency.names import name_of
from blocks.efficiency.quantization import BITS
from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.weights.rounded_inputs import ActivationGrid, RoundedInput, RoundedLinear
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, dots, line
from pages.figures.units import quality_text
from pages.page.frame import section
from pages.panels.efficiency import activations_picture, exemption, score_text, shared
from pages.panels.efficiency.matrix_map_picture import matrix_name
from pages.server import starts
from pages.show.chart import columns, show
from pages.show.controls import pick, slider, switch
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.said import say
from pages.show.steps import in_steps
from pages.stage import present
from pages.state.values import State
from pages.words.language import _

GRID_NAMES = {
    ActivationGrid.NONE: N_("weights only"),
    ActivationGrid.STATIC: N_("one static grid per tensor"),
    ActivationGrid.TENSOR: N_("one dynamic grid per tensor"),
    ActivationGrid.TOKEN: N_("one grid per token"),
}
DOTTED: dict[str, Any] = {"dash": "dot", "width": 1.5}
CODE = (RoundedInput, activations.smoothing_scales, RoundedLinear)
Measures = tuple[ActivationMeasure, ...]


@lru_cache(maxsize=64)
def measure(
    weights: str, how: ActivationRounding | None, exempt: frozenset[str]
) -> ActivationMeasure:
    """One way, measured; `weights` names the model as it was trained."""
    return facts_of.measure_activations(starts.calibrated(weights), how, exempt)


@lru_cache(maxsize=64)
def activation_facts(weights: str, found: Measures, matrix: str) -> ActivationFacts:
    return facts_of.activation_facts(starts.calibrated(weights), found, matrix)


def says_channels(facts: ActivationFacts) -> str:
    """How far one channel stretches the grid of all, and what smoothing leaves of it."""
    channels = facts.channels
    text = _(
        "The largest input channel of {matrix} is {ratio:.1f} times the median one: with one "
        "grid for all channels, the others are rounded that much more coarsely. SmoothQuant "
        "lowers this ratio to {smooth:.1f}; the largest weight column goes from {before:.1f} "
        "to {weights:.1f} times the median."
    )
    return text.format(
        matrix=matrix_name(channels.matrix, _),
        ratio=outlier(channels.inputs),
        smooth=outlier(channels.smooth_inputs),
        weights=outlier(channels.smooth_weights),
        before=outlier(channels.weights),
    )


def says_measured(facts: ActivationFacts) -> str:
    """Which grid keeps most, and which loses most."""
    text = _(
        "The best scheme is **{best}** (loss {least:.3f}, {score} {after}); the original "
        "model has {exact:.3f} and {before}. The worst scheme is {worst} (loss {most:.3f})."
    )
    return text.format(
        best=way_name(facts.best.how),
        least=facts.best.held_out_loss,
        score=_(facts.score_name),
        after=_said(facts.best, facts),
        exact=facts.exact.held_out_loss,
        before=_said(facts.exact, facts),
        worst=way_name(facts.worst.how),
        most=facts.worst.held_out_loss,
    )


def _said(measure: ActivationMeasure, facts: ActivationFacts) -> str:
    return quality_text(measure.score, is_share=facts.is_share)


def way_name(how: ActivationRounding | None) -> str:
    """What a way to round is called."""
    if how is None:
        return _("original")
    name = _(GRID_NAMES[how.grid])
    return _("{grid}, smoothed").format(grid=name) if how.is_smooth else name


def activation_table(facts: ActivationFacts) -> pd.DataFrame:
    """One row a way."""
    ways = [each.how for each in facts.measures]
    return pd.DataFrame(
        {
            "grid": [how.grid.value if how else "exact" for how in ways],
            "smoothed": [bool(how and how.is_smooth) for how in ways],
            "n_bits": [how.n_bits if how else 32 for how in ways],
            "held_out_loss": [each.held_out_loss for each in facts.measures],
            "score": [each.score for each in facts.measures],
        }
    )


def channels(facts: ActivationFacts) -> Chart:
    """The largest |x| of each channel and the largest weight, plain and smoothed; each sorted."""
    found = facts.channels
    lines: list[tuple[NDArray[Any], Look]] = [
        (found.inputs, Look(_("activations"), palette.PINNED, width=2)),
        (found.smooth_inputs, Look(_("activations, smoothed"), palette.PINNED, **DOTTED)),
        (found.weights, Look(_("weights"), palette.ATTENTION, width=2)),
        (found.smooth_weights, Look(_("weights, smoothed"), palette.ATTENTION, **DOTTED)),
    ]
    n, title = len(found.inputs), _("rank among the input channels (logarithmic)")
    return Chart(
        _("Largest value of each channel, sorted"),
        {"rank": range(1, n + 1), **{look.name: _sorted(values) for values, look in lines}},
        Axis(title, (1, n), of="rank", is_log=True, room=0.02),
        Axis(_("times the median"), from_0=True),
        [line(look.name, look) for _values, look in lines],
        hover="{x}: {y:.2f}",
        tall=260,
        legend=Legend.FOOT,
    )


def _sorted(values: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.sort(values)[::-1] / max(float(np.median(values)), 1e-12))


def losses(facts: ActivationFacts) -> Chart:
    """The loss of each grid, plain and smoothed; the level is the model as it is."""
    found = [each.held_out_loss for each in facts.measures]
    room = 0.15 * (max(found) - min(found)) or 0.1
    kinds = (
        (False, Look(_("not smoothed"), symbol="circle", size=11), "middle right"),
        (True, Look(_("smoothed"), palette.ATTENTION, "diamond", size=11), "middle left"),
    )
    return Chart(
        _("Held-out loss and score"),
        (),
        Axis(of="place", names=[_(GRID_NAMES[grid]) for grid in _grids(facts)]),
        Axis(_("held-out loss, nats"), (min(found) - room, max(found) + room)),
        [
            dots(
                *("loss", look),
                rows=_rows(facts, is_smooth),
                text="{score:.0%}" if facts.is_share else "{score:.3f}",
                text_at=side,
            )
            for is_smooth, look, side in kinds
        ],
        hover=_("{grid}: loss {loss:.4f}, score {score:.3f}"),
        tall=260,
        legend=Legend.FOOT,
        levels=[Level(facts.exact.held_out_loss)],
    )


def _grids(facts: ActivationFacts) -> list[ActivationGrid]:
    return [grid for grid in ActivationGrid if facts.of(grid, is_smooth=False)]


def _rows(facts: ActivationFacts, is_smooth: bool) -> pd.DataFrame:
    found = [(i, grid, facts.of(grid, is_smooth=is_smooth)) for i, grid in enumerate(_grids(facts))]
    rows = [(i, _(GRID_NAMES[g]), each.held_out_loss, each.score) for i, g, each in found if each]
    return pd.DataFrame(rows, columns=["place", "grid", "loss", "score"])


def _channels(*at: Any) -> None:
    """Those of one matrix, and the outliers of all."""
    left, right = columns(2)
    with left:
        show(channels, *at, facts=activation_facts, key="channels")
    with right:
        show(
            activations_picture.outliers,
            *at,
            facts=activation_facts,
            key="outliers",
            on_click=shared.look_at_matrix,
        )


@section
def what_activations_lose(run: Run, state: State) -> None:
    """Channels of one matrix; and, when the reader asks, every grid measured."""
    place = explained(("quantization",), CODE, key="activations")
    weights = score_text.measured(run, state)
    n_bits = state.activation_bits
    label = _("bit width of weights and activations")
    with present.aside():
        slider("activation_bits", label, n_bits, least=BITS[0], most=BITS[-1])
    wanted, exempt = facts_of.ways(n_bits), exemption.chosen(run, state)
    exemption.exempt_controls(run, recipe(wanted[1], exempt), "_activations", state=state)
    if nothing := exemption.says_nothing_left(run, exempt, in_layers=True):
        place.info(nothing, icon=":material/lightbulb:")
        return
    label = _("Measure {n} rounding schemes here").format(n=len(wanted) - 1)
    with present.aside():
        switch("measure_activations", label)
        if not state.measure_activations:
            shared.expected(run, (name_of(recipe(each, exempt)) for each in wanted), state)
    found = _measured(weights, wanted, exempt) if state.measure_activations else ()
    at = weights, found, state.rounded_matrix
    with place:
        say(says_measured if len(found) > 2 else says_channels, *at, facts=activation_facts)
    if len(found) > 2:
        show(losses, *at, facts=activation_facts, key="activation_losses")
    facts = activation_facts(*at)
    with present.aside():
        _ways_on(facts, n_bits, exempt)
    _channels(*at)
    with present.aside():
        _matrix(facts)
    note(
        _(
            "Static grids are calibrated, and channel magnitudes measured, on the calibration"
            " text; losses and scores are measured on held-out text. Quantization is "
            "simulated in float32. With static grids or smoothed activations, the inputs of a"
            " tied unembedding are not quantized. The saved file includes the grids."
        )
    )
    if found:
        download("activations.csv", lambda: activation_table(facts).to_csv(index=False), "text/csv")


def _ways_on(facts: ActivationFacts, n_bits: int, exempt: frozenset[str]) -> None:
    """The model of all pages: by the best way that was measured, or one that a file keeps whole."""
    how = ActivationRounding(n_bits=n_bits, grid=ActivationGrid.STATIC, is_smooth=True)
    if len(facts.measures) > 2 and facts.best.how:
        how = facts.best.how
    label = _("Show on all pages: {way}").format(way=way_name(how))
    shared.way_to(recipe(how, exempt), label, key="use_activations")


def _measured(
    weights: str, wanted: tuple[ActivationRounding | None, ...], exempt: frozenset[str]
) -> Measures:
    steps = [partial(measure, weights, how, exempt) for how in wanted]
    what = "activations", weights, wanted, exempt
    done = in_steps(steps, what=what, key="activations", asked_by="measure_activations")
    return tuple(done.found)


def _matrix(facts: ActivationFacts) -> None:
    pick(
        "rounded_matrix",
        _("Matrix"),
        tuple(facts.rows["matrix"]),
        label_of=lambda name: matrix_name(name, _),
        shown=facts.channels.matrix,
    )
