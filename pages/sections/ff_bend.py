"""Where the units of this run stand on the bend, and what multiplies in a gated layer."""

from blocks.inspection import activations as measures
from blocks.inspection import source, units
from blocks.observe.run import Run
from pages.figures import activations, gates
from pages.ui import terms
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.feed_forward import controls, measured, tables, words
from pages.ui.frame import section
from pages.ui.language import _, enumeration
from pages.ui.said import say
from pages.ui.views import pin_token


@section
def the_bend(run: Run, layer: int, expert: int) -> None:
    """All activations and their derivatives, over the real pre-activations."""
    code = (measures.slope, measures.is_off, measures.is_saturated)
    with explained(("activations",), code, key="bend"):
        say(words.bend_sentence, run, layer, expert)
    show(draw_bend, run, layer, expert, key="bend_curves", alt=words.bend_alt)
    note(
        _(
            "Derivatives by autograd. Grey: the chosen activation passes hardly any "
            "gradient there, |φ′(z)| < 0.01. In a gated layer the activation is applied "
            "to the gate, and z is the gate's input."
        )
    )


@section
def the_gate(run: Run, layer: int, expert: int, token: int) -> None:
    """Gate and value apart, for the strongest units of the pinned token."""
    code = (*source.part_source(run.config, "feed_forward"), units.strongest)
    with explained(("feed_forward", "activations"), code, key="gate"):
        say(words.gate_sentence, run, layer, expert, token)
    controls.way_to_a_gate(run)
    left, right = columns([6, 5])
    shown = run, layer, expert, token
    with left:
        if token in measured.given(run, layer, expert):
            unit = measured.selected_unit(run, layer, expert, token)
            show(
                draw_factors,
                *shown,
                unit,
                key="factors",
                alt=words.factors_alt,
                on_click=controls.show_unit_everywhere,
            )
    with right:
        if measured.given(run, layer, expert):
            show(draw_closed, *shown, key="closed", alt=words.closed_alt, on_click=pin_token)
        if token in measured.given(run, layer, expert):
            tables.strongest(*shown)


def draw_bend(run: Run, layer: int, expert: int):
    """Curves, slopes and pre-activations over one axis."""
    chosen = measured.activation(run)
    groups = [
        (chosen if chosen in group else group[0], enumeration(terms.option(kind) for kind in group))
        for group in measures.same_bend()
    ]
    found = measured.standing(run, layer, expert)
    return activations.bends(
        measured.curves(found.reach),
        groups,
        measured.spread(run, layer, expert),
        chosen=chosen,
        _=_,
    )


def draw_factors(run: Run, layer: int, expert: int, token: int, unit: int):
    """What multiplies, side by side."""
    gated = (("gate", _("gate φ(z)")), ("up", _("× value")), ("hidden", "= hidden"))
    plain = (("pre", "z"), ("hidden", _("hidden = φ(z)")))
    is_gated = run.config.feed_forward.activation.is_gated
    return gates.factors(
        measured.strongest(run, layer, expert, token),
        gated if is_gated else plain,
        token=run.input.labels[token],
        selected=unit,
        _=_,
    )


def draw_closed(run: Run, layer: int, expert: int, token: int):
    """The share of units that are off, token by token."""
    numbers = measured.given(run, layer, expert)
    tokens = [run.input.labels[number] for number in numbers]
    shares = measured.off_shares(run, layer, expert)
    return gates.closed(shares, tokens, numbers, pinned=token, _=_)
