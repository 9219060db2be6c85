"""Dead and saturated units, how often each is active, and what excites one of them."""

import functools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from blocks.inspection import activations as measures
from blocks.inspection import units, wide
from blocks.inspection import units as unit_measures
from blocks.inspection.activations import RELU_KINDS
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.feed_forward import shared, units_picture
from pages.ui import cached, link
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


def units_with(run: Run, layer: int, expert: int, token: int, unit: int) -> tuple[int, ...]:
    """The strongest units, and the one that is looked at wherever it stands."""
    shown = shared.shown_units(run, layer, expert, token)
    return shown if unit in shown else (*shown, unit)


@lru_cache(maxsize=32)
def hidden(run: Run, layer: int, expert: int, chosen: tuple[int, ...]) -> np.ndarray:
    """`hidden` of some units at the tokens of the first sequence: (unit, token)."""
    found = units.at_tokens(shared.inside(run, layer)[expert], chosen)
    return found[:, : len(shared.given(run, layer, expert))]


def exciting(run: Run, layer: int, expert: int, unit: int) -> pd.DataFrame:
    """The tokens at which a unit's `hidden` is largest: number, label, hidden."""
    numbers = shared.given(run, layer, expert)
    table = pd.DataFrame({"number": numbers, "hidden": hidden(run, layer, expert, (unit,))[0]})
    table["label"] = [run.input.labels[number] for number in numbers]
    return table.nlargest(shared.N_EXCITING, "hidden").reset_index(drop=True)


@lru_cache(maxsize=256)
def layer_shares(run: Run, layer: int) -> dict[str, float]:
    """Dead, saturated and active shares of one layer."""
    x = shared.layer_input(run, layer)
    with cached.turn(run.device):
        module = cached.feed_forward(run, layer)
        found = wide.see_all(module, wide.pass_alone(module, x), layer)
        return {"layer": layer, **units.layer_shares(found, shared.activation(run))}


LAYER_COLUMNS = ("layer", "dead", "saturated", "active")


def layer_shares_table(found: Sequence[Mapping[str, float]]) -> shared.Rows:
    """One row a layer: LAYER_COLUMNS."""
    return tuple(tuple(row[name] for name in LAYER_COLUMNS) for row in found)


def layer_frame(rows: shared.Rows) -> pd.DataFrame:
    """The same as a frame."""
    return pd.DataFrame(list(rows), columns=list(LAYER_COLUMNS)).astype({"layer": int})


def definition(run: Run, layer: int, expert: int) -> str:
    """What dead and saturated mean here, exactly."""
    is_relu = shared.activation(run) in RELU_KINDS
    off = _("φ(z) = 0") if is_relu else _("|φ(z)| < 0.01")
    text = _(
        "At a token, a unit is **active** where z > 0, **off** where {off}, and "
        "**saturated** where |φ′(z)| < 0.01, so that hardly any gradient passes. "
        "**Dead** means off at all {n} tokens of this input (padding included); another "
        "input may revive it."
    )
    return text.format(off=off, n=shared.n_given(run, layer, expert))


def units_sentence(run: Run, layer: int, expert: int) -> str:
    """How many units are dead or saturated."""
    table = shared.unit_table(run, layer, expert)
    n, n_dead = len(table), int(table["is_dead"].sum())
    n_saturated = int(table["is_saturated"].sum())
    text = _(
        "{where}: {dead:,} of {n:,} units are dead ({share}), {saturated:,} saturated "
        "at every token, {silent:,} never active. The median unit is active at {median} "
        "of the tokens."
    )
    return text.format(
        where=shared.where(run, layer, expert),
        dead=n_dead,
        n=n,
        share=percent(n_dead / n),
        saturated=n_saturated,
        silent=int((table["active_share"] == 0).sum()),
        median=percent(float(table["active_share"].median())),
    )


def layers_alt(_run: Run, shares: tuple[tuple[float, ...], ...], _selected: int) -> str:
    """Dead and saturated units of all layers, in words."""
    text = _("layer {layer}: {dead} dead, {saturated} saturated, {active} active")
    rows = [
        text.format(
            layer=int(layer) + 1,
            dead=percent(dead),
            saturated=percent(saturated),
            active=percent(active),
        )
        for layer, dead, saturated, active in shares
    ]
    return "; ".join(rows)


def activity_alt(run: Run, layer: int, expert: int, _token: int, _unit: int) -> str:
    """The order of the units in words."""
    return units_sentence(run, layer, expert)


def map_alt(run: Run, layer: int, expert: int, token: int, unit: int) -> str:
    """The map of units and tokens in words."""
    text = _("hidden of the {n} strongest units at each token; outlined: unit {unit}, {token}.")
    n = len(shared.shown_units(run, layer, expert, token))
    return text.format(n=n, unit=unit, token=run.input.labels[token])


def unit_sentence(run: Run, layer: int, expert: int, unit: int) -> str:
    """What one unit answers to."""
    row = shared.unit_table(run, layer, expert).iloc[unit]
    table = exciting(run, layer, expert, unit)
    names = enumeration(literal(label) for label in dict.fromkeys(table["label"].head(3)))
    text = _(
        "Unit {unit} is active at {active} of the tokens and saturated at {flat}. "
        "Strongest at {tokens} ({hidden:.2f})."
    )
    return text.format(
        unit=unit,
        active=percent(row["active_share"]),
        flat=percent(row["flat_share"]),
        tokens=names,
        hidden=table["hidden"].iloc[0],
    )


def exciting_alt(run: Run, layer: int, expert: int, unit: int, _token: int) -> str:
    """What excites a unit, in words."""
    return unit_sentence(run, layer, expert, unit)


def unit_choice(run: Run, shown: int) -> None:
    """Any unit by its number; and back to the strongest."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="unit"):
        last = run.config.d_ff - 1
        label = _("Unit · 0 to {last:,}").format(last=last)
        enter("unit", label, shown, least=0, most=last, width=180)
        if link.value("unit") != LIKELIEST:
            st.button(
                _("The strongest at the pinned token"),
                icon=":material/restart_alt:",
                on_click=link.change,
                args=("unit", LIKELIEST),
                key="strongest_unit",
            )


def show_unit_and_token(customdata: list[Any]) -> None:
    """A cell of the map was clicked: its unit is opened, its token pinned on the whole page."""
    link.change("unit", int(customdata[0]))
    link.change("token", int(customdata[1]))
    link.redraw_everything()


def show_layer(customdata: list[Any]) -> None:
    """The bars of a layer were clicked."""
    link.change("layer", int(customdata[0]))
    link.redraw_everything()


@section
def dead_and_alive(run: Run, layer: int, expert: int, token: int) -> None:
    """Every layer's shares, and the units of this one in the order of their activity."""
    code = (unit_measures.frame, measures.is_off, measures.is_saturated)
    with explained(("activations",), code, key="units"):
        say(units_sentence, run, layer, expert)
    note(definition(run, layer, expert))
    left, right = columns(2)
    with left:
        _all_layers(run, layer)
    with right:
        unit = shared.selected_unit(run, layer, expert, token)
        show(
            draw_activity,
            *(run, layer, expert, token, unit),
            key="activity",
            alt=activity_alt,
            on_click=shared.show_unit_everywhere,
        )


def _all_layers(run: Run, layer: int) -> None:
    steps = [functools.partial(layer_shares, run, each) for each in range(run.config.n_layers)]
    done = in_steps(steps, what=("units", run), key="layer_units")
    shares = layer_shares_table(done.found)
    if shares:
        show(
            draw_layers,
            *(run, shares, layer),
            key="layer_units",
            alt=layers_alt,
            on_click=show_layer,
        )


@section
def one_unit(run: Run, layer: int, expert: int, token: int) -> None:
    """The strongest units at every token, and the tokens that excite one of them."""
    code = (unit_measures.strongest, unit_measures.at_tokens)
    unit = shared.selected_unit(run, layer, expert, token)
    place = explained(("feed_forward",), code, key="unit_map_part")
    unit_choice(run, unit)
    with place:
        say(unit_sentence, run, layer, expert, unit)
    left, right = columns([7, 4])
    with left:
        show(
            draw_map,
            *(run, layer, expert, token, unit),
            key="unit_map",
            alt=map_alt,
            on_click=show_unit_and_token,
        )
    with right:
        show(
            draw_exciting,
            *(run, layer, expert, unit, token),
            key="exciting",
            alt=exciting_alt,
            on_click=pin_token,
        )


def draw_layers(run: Run, shares: tuple[tuple[float, ...], ...], layer: int) -> Picture:
    """Dead, saturated and active shares of every layer."""
    return units_picture.per_layer(layer_frame(shares), selected=layer, _=_)


def draw_activity(run: Run, layer: int, expert: int, token: int, unit: int) -> Picture:
    """All units, the busiest first."""
    table = shared.unit_table(run, layer, expert)
    marked = shared.shown_units(run, layer, expert, token)
    return units_picture.by_activity(table, marked, selected=unit, _=_)


def draw_map(run: Run, layer: int, expert: int, token: int, unit: int) -> Picture:
    """The strongest units, and the selected one, at every token."""
    numbers = shared.given(run, layer, expert)
    shown = units_with(run, layer, expert, token, unit)
    return units_picture.unit_map(
        hidden(run, layer, expert, shown),
        shown,
        [run.input.labels[number] for number in numbers],
        numbers,
        selected=unit,
        pinned=token,
        _=_,
    )


def draw_exciting(run: Run, layer: int, expert: int, unit: int, token: int) -> Picture:
    """The tokens that excite the unit most."""
    table = exciting(run, layer, expert, unit)
    return units_picture.exciting(table, unit=unit, pinned=token, _=_)
