"""Dead and saturated units, how often each is active, and what excites one of them."""

from functools import lru_cache

import streamlit as st

from blocks.inspection import activations, units
from blocks.inspection.units import LayersFacts, LayerUnits, UnitFacts, UnitTokens
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.panels.feed_forward import shared, units_picture
from pages.ui import labelled, link
from pages.ui.chart import columns, show
from pages.ui.controls import enter
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, enumeration, literal
from pages.ui.link_fields.feed_forward import LIKELIEST
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.steps import in_steps
from pages.ui.views import pin_token
from pages.ui.ways import click_sets, way


@lru_cache(maxsize=64)
def unit_facts(run: Run, layer: int, expert: int, token: int, unit: int) -> UnitFacts:
    """How often each unit is active."""
    return units.unit_facts(shared.see(run, layer), expert, token, unit)


@lru_cache(maxsize=256)
def units_of_layer(run: Run, layer: int) -> LayerUnits:
    """Dead, saturated and active shares of one layer."""
    return units.units_of_layer(shared.see_once(run, layer))


def layers_facts(run: Run, n_layers: int, selected: int) -> LayersFacts:
    """Those of the first layers."""
    layers = range(min(n_layers, run.config.n_layers))
    return LayersFacts(tuple(units_of_layer(run, layer) for layer in layers), selected)


@lru_cache(maxsize=64)
def unit_tokens(run: Run, layer: int, expert: int, token: int, unit: int) -> UnitTokens:
    """At which tokens a unit is active."""
    return units.unit_tokens(shared.see(run, layer), expert, token, unit)


def says_definition(facts: UnitFacts) -> str:
    """What dead and saturated mean here, exactly."""
    off = _("φ(z) = 0") if facts.off_is_zero else _("|φ(z)| < 0.01")
    text = _(
        "At a token, a unit is **active** where z > 0, **off** where {off}, and "
        "**saturated** where |φ′(z)| < 0.01, so that hardly any gradient passes. "
        "**Dead** means off at all {n} tokens of this input (padding included); another "
        "input may revive it."
    )
    return text.format(off=off, n=facts.place.n_tokens)


def says_units(facts: UnitFacts) -> str:
    """How many units are dead or saturated."""
    text = _(
        "{where}: {dead:,} of {n:,} units are dead ({share}), {saturated:,} saturated "
        "at every token, {silent:,} never active. The median unit is active at {median} "
        "of the tokens."
    )
    return text.format(
        where=shared.where(facts.place),
        dead=facts.n_dead,
        n=len(facts.units),
        share=percent(facts.dead_share),
        saturated=facts.n_saturated,
        silent=facts.n_silent,
        median=percent(facts.median_active),
    )


def says_unit(facts: UnitTokens) -> str:
    """What one unit answers to."""
    tokens = facts.strongest
    names = dict.fromkeys(facts.near["label"].head(3))
    text = _(
        "Unit {unit} is active at {active} of the tokens and saturated at {flat}. It is "
        "strongest at {tokens} ({hidden:.2f})."
    )
    return text.format(
        unit=from_one(facts.unit),
        active=percent(facts.active_share),
        flat=percent(facts.saturated_share),
        tokens=enumeration(map(literal, names)),
        hidden=tokens["hidden"].iloc[0],
    )


@section
def dead_and_alive(run: Run) -> None:
    """Every layer's shares, and the units of this one in the order of their activity."""
    at = shared.selection(run)
    code = (units.frame, activations.is_off, activations.is_saturated)
    with explained(("activations",), code, key="units"):
        say(says_units, run, *at, facts=unit_facts)
    note(says_definition(unit_facts(run, *at)))
    left, right = columns(2)
    with left:
        _all_layers(run, at.layer)
    with right:
        show(
            units_picture.by_activity,
            *(run, *at),
            facts=unit_facts,
            key="activity",
            on_click=click_sets("unit"),
        )


def _all_layers(run: Run, selected: int) -> None:
    steps = [lambda layer=layer: units_of_layer(run, layer) for layer in range(run.config.n_layers)]
    done = in_steps(steps, what=("units", run), key="layer_units")
    if done.found:
        show(
            units_picture.per_layer,
            *(run, len(done.found), selected),
            facts=layers_facts,
            key="layer_units",
            on_click=click_sets("layer"),
        )


@section
def one_unit(run: Run) -> None:
    """The strongest units at every token, and the tokens that excite one of them."""
    at = shared.selection(run)
    code = (units.strongest, units.at_tokens)
    place = explained(("feed_forward",), code, key="unit_map_part")
    unit_choice(run, at.unit)
    with place:
        say(says_unit, run, *at, facts=unit_tokens)
    pictures = (
        (units_picture.unit_map, "unit_map", click_sets("unit", "token")),
        (units_picture.exciting, "exciting", pin_token),
    )
    for column, (draw, key, on_click) in zip(columns([7, 4]), pictures, strict=True):
        with column:
            show(draw, run, *at, facts=unit_tokens, key=key, on_click=on_click)


def unit_choice(run: Run, shown: int) -> None:
    """Any unit by its number; and back to the strongest."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="unit"):
        last = shared.n_units(run.config, labelled.selected_layer(run)) - 1
        label = _("Unit · 1 to {last:,}").format(last=from_one(last))
        enter("unit", label, shown, least=0, most=last, first=1, width=180)
        if link.value("unit") != LIKELIEST:
            label = _("Strongest unit at the pinned token")
            way(label, "strongest_unit", icon=":material/restart_alt:", unit=LIKELIEST)
