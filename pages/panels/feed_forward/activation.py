"""Where the units of this run stand on the activation, and what multiplies in a gated layer."""

from functools import lru_cache

from blocks.inspection import activations, source, units
from blocks.inspection.activations import ActivationFacts
from blocks.inspection.units import GateFacts
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.theme import Picture, Translate
from pages.panels.feed_forward import activation_picture, shared
from pages.ui import terms
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, enumeration, literal, sentences
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.tables import show_table
from pages.ui.views import pin_token
from pages.ui.ways import click_sets, way


@lru_cache(maxsize=64)
def activation_facts(run: Run, layer: int, expert: int) -> ActivationFacts:
    """Where all pre-activations of the layer stand."""
    return activations.activation_facts(shared.see(run, layer), expert)


@lru_cache(maxsize=64)
def gate_facts(run: Run, layer: int, expert: int, token: int, unit: int) -> GateFacts:
    """What multiplies at a token."""
    return units.gate_facts(shared.see(run, layer), expert, token, unit)


def says_activation(facts: ActivationFacts) -> str:
    """Where the units of this run stand on the activation."""
    found = facts.standing
    text = _(
        "{where}: {below} of the pre-activations are below 0; the median is {median:.2f}. "
        "Of all token–unit pairs, {off} are off, and in {flat} the slope of the "
        "activation is below 0.01 in magnitude."
    )
    said = text.format(
        where=shared.where(facts.place),
        below=percent(found.below_zero),
        median=round(found.median, 2) + 0.0,  # no −0.00
        off=percent(found.off),
        flat=percent(found.flat),
    )
    if found.outside:
        more = _("{share} of the pre-activations lie outside the plotted range.")
        said = sentences(said, more.format(share=percent(found.outside)))
    return said


def says_gate(facts: GateFacts) -> str:
    """What multiplies at the pinned token, and how often the gate is shut."""
    token = literal(facts.token_label)
    if facts.place.expert is not None and facts.strongest.empty:
        text = _(
            "{token} was not routed to expert {expert}: pin another token or choose its expert."
        )
        return text.format(token=token, expert=from_one(facts.place.expert))
    text = _(
        "At {token}, unit {unit} is the strongest: z = {pre:.3f} becomes {hidden:.3f}. Over "
        "this input, units are off in {off} of all token–unit pairs."
    )
    if facts.is_gated:
        text = _(
            "At {token}, unit {unit} is the strongest: gate {gate:.3f} × value {up:.3f} = "
            "{hidden:.3f}. Over this input the gate is closed in {off} of all token–unit "
            "pairs."
        )
    first = facts.strongest.iloc[0]
    numbers = {name: first[name] for name in ("pre", "gate", "up", "hidden")}
    unit = from_one(first["unit"])
    return text.format(token=token, unit=unit, off=percent(facts.off), **numbers)


def draw_activation(facts: ActivationFacts, *, _: Translate) -> Picture:
    """The curves by what they are called; kinds that are alike share one."""
    names = [enumeration(terms.option(kind) for kind in group) for group in activations.same_bend()]
    return activation_picture.bends(facts, names, _=_)


def gate_table(facts: GateFacts) -> None:
    """The strongest units: what multiplies, and what comes of it."""
    names = {"unit": _("unit"), "pre": "z", "gate": _("gate"), "up": _("value"), "hidden": "hidden"}
    table = facts.strongest if facts.is_gated else facts.strongest.drop(columns=["gate", "up"])
    table = table.assign(unit=table["unit"].map(from_one))
    shown = table.rename(columns=names).round(4)
    show_table(shown, key="strongest_table", height=190)


@section
def the_bend(run: Run) -> None:
    """All activations and their derivatives, over the real pre-activations."""
    at = shared.selection(run)
    shown = run, at.layer, at.expert
    code = (activations.slope, activations.is_off, activations.is_saturated)
    with explained(("activations",), code, key="bend"):
        say(says_activation, *shown, facts=activation_facts)
    show(draw_activation, *shown, facts=activation_facts, key="bend_curves")
    note(
        _(
            "Derivatives are computed by autograd. Gray: the chosen activation passes hardly "
            "any gradient, |φ′(z)| < 0.01. In a gated layer the activation is applied to the "
            "gate, and z is the gate's pre-activation."
        )
    )


@section
def the_gate(run: Run) -> None:
    """Gate and value apart, for the strongest units of the pinned token."""
    at = shared.selection(run)
    facts = gate_facts(run, *at)
    code = (*source.part_source(run.config, "feed_forward"), units.strongest)
    with explained(("feed_forward", "activations"), code, key="gate"):
        say(says_gate, run, *at, facts=gate_facts)
    way_to_a_gate(facts)
    left, right = columns([6, 5])
    with left:
        if not facts.strongest.empty:
            show(
                activation_picture.factors,
                *(run, *at),
                facts=gate_facts,
                key="factors",
                on_click=click_sets("unit"),
            )
    with right:
        if facts.numbers:
            draw = activation_picture.closed
            show(draw, run, *at, facts=gate_facts, key="closed", on_click=pin_token)
        if not facts.strongest.empty:
            gate_table(facts)


def way_to_a_gate(facts: GateFacts) -> None:
    """For an activation without a gate, and back."""
    if facts.is_gated:
        label = _("Without a gate: {kind}").format(kind=terms.option("gelu"))
        way(label, "without_gate", activation="gelu")
    else:
        label = _("With a gate: {kind}").format(kind=terms.option("swiglu"))
        way(label, "with_gate", activation="swiglu")
