"""Where the units of this run stand on the bend, and what multiplies in a gated layer."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.inspection import activations, source, units
from blocks.inspection import activations as measures
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.feed_forward import activation_picture, shared
from pages.ui import terms
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, enumeration, literal
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.views import pin_token


@lru_cache(maxsize=64)
def off_shares(run: Run, layer: int, expert: int) -> tuple[float, ...]:
    """The share of units that are off, at each token of the first sequence that was given."""
    shares = (
        units.closed_share(shared.inside(run, layer)[expert], shared.activation(run)).cpu().numpy()
    )
    return tuple(shares[: len(shared.given(run, layer, expert))].tolist())


@lru_cache(maxsize=64)
def standing(run: Run, layer: int, expert: int) -> activations.Standing:
    """Where all pre-activations of the layer stand."""
    return activations.standing(shared.activation(run), shared.inside(run, layer)[expert].pre)


@lru_cache(maxsize=16)
def curves(reach: float) -> pd.DataFrame:
    """Every activation and its derivative."""
    return activations.curves(reach)


@lru_cache(maxsize=64)
def spread(run: Run, layer: int, expert: int) -> pd.DataFrame:
    """How the pre-activations spread, within the reach of the picture."""
    reach = standing(run, layer, expert).reach
    return activations.spread(shared.inside(run, layer)[expert].pre, reach)


def strongest(run: Run, layer: int, expert: int, token: int) -> None:
    """The strongest units of the pinned token: what multiplies, and what comes of it."""
    table = shared.strongest(run, layer, expert, token)
    parts = {_("gate"): table["gate"], _("value"): table["up"]}
    is_gated = run.config.feed_forward.activation.is_gated
    shown = {
        _("unit"): table["unit"],
        "z": table["pre"],
        **(parts if is_gated else {}),
        "hidden": table["hidden"],
    }
    st.dataframe(pd.DataFrame(shown).round(4), hide_index=True, key="strongest_table", height=190)


def bend_sentence(run: Run, layer: int, expert: int) -> str:
    """Where the units of this run live on the bend."""
    found = standing(run, layer, expert)
    text = _(
        "{where}: {below} of the pre-activations are below 0, the median is "
        "{median:.2f}. In {off} of all token–unit pairs the activation is off, in "
        "{flat} its slope is below 0.01."
    )
    said = text.format(
        where=shared.where(run, layer, expert),
        below=percent(found.below_zero),
        median=round(found.median, 2) + 0.0,  # no −0.00
        off=percent(found.off),
        flat=percent(found.flat),
    )
    if found.outside:
        more = _("{share} lie outside the picture.").format(share=percent(found.outside))
        said += " " + more
    return said


def bend_alt(run: Run, layer: int, expert: int) -> str:
    """The curves in words."""
    text = _("{kind} and its derivative, above a histogram of pre-activations. {said}")
    kind = terms.option(shared.activation(run))
    return text.format(kind=kind, said=bend_sentence(run, layer, expert))


def gate_sentence(run: Run, layer: int, expert: int, token: int) -> str:
    """What multiplies at the pinned token, and how often the gate is shut."""
    table = shared.strongest(run, layer, expert, token)
    if table.empty:
        text = _(
            "{token} was not routed to expert {expert}: pin another token or choose its expert."
        )
        return text.format(token=literal(run.input.labels[token]), expert=expert)
    first = table.iloc[0]
    off = standing(run, layer, expert).off
    values = {"unit": int(first["unit"]), "hidden": first["hidden"], "off": percent(off)}
    values |= {"token": literal(run.input.labels[token])}
    if shared.activation(run).is_gated:
        text = _(
            "At {token} the strongest unit is {unit}: gate {gate:.3f} × value {up:.3f} "
            "= {hidden:.3f}. Over this input the gate is closed in {off} of all "
            "token–unit pairs."
        )
        return text.format(gate=first["gate"], up=first["up"], **values)
    text = _(
        "At {token} the strongest unit is {unit}: z = {pre:.3f} becomes {hidden:.3f}. "
        "Over this input {off} of all token–unit pairs are off."
    )
    return text.format(pre=first["pre"], **values)


def factors_alt(run: Run, layer: int, expert: int, token: int, _unit: int) -> str:
    """The strongest units in words."""
    rows = shared.strongest(run, layer, expert, token).head(6).itertuples()
    listed = "; ".join(f"{row.unit}: {row.hidden:.3f}" for row in rows)
    return _("Strongest units and their hidden values: {rows}.").format(rows=listed)


def closed_alt(run: Run, layer: int, expert: int, token: int) -> str:
    """The share of units that are off, in words."""
    shares = off_shares(run, layer, expert)
    text = _("Share of units that are off at each token: {least} to {most}.")
    return text.format(least=percent(min(shares)), most=percent(max(shares)))


def way_to_a_gate(run: Run) -> None:
    """For an activation without a gate, and back."""
    if run.config.feed_forward.activation.is_gated:
        label = _("Without a gate: {kind}").format(kind=terms.option("gelu"))
        shared.way(label, "without_gate", activation="gelu")
    else:
        label = _("With a gate: {kind}").format(kind=terms.option("swiglu"))
        shared.way(label, "with_gate", activation="swiglu")


@section
def the_bend(run: Run, layer: int, expert: int) -> None:
    """All activations and their derivatives, over the real pre-activations."""
    code = (measures.slope, measures.is_off, measures.is_saturated)
    with explained(("activations",), code, key="bend"):
        say(bend_sentence, run, layer, expert)
    show(draw_bend, run, layer, expert, key="bend_curves", alt=bend_alt)
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
        say(gate_sentence, run, layer, expert, token)
    way_to_a_gate(run)
    left, right = columns([6, 5])
    shown = run, layer, expert, token
    with left:
        if token in shared.given(run, layer, expert):
            unit = shared.selected_unit(run, layer, expert, token)
            show(
                draw_factors,
                *shown,
                unit,
                key="factors",
                alt=factors_alt,
                on_click=shared.show_unit_everywhere,
            )
    with right:
        if shared.given(run, layer, expert):
            show(draw_closed, *shown, key="closed", alt=closed_alt, on_click=pin_token)
        if token in shared.given(run, layer, expert):
            strongest(*shown)


def draw_bend(run: Run, layer: int, expert: int) -> Picture:
    """Curves, slopes and pre-activations over one axis."""
    chosen = shared.activation(run)
    groups = [
        (chosen if chosen in group else group[0], enumeration(terms.option(kind) for kind in group))
        for group in measures.same_bend()
    ]
    found = standing(run, layer, expert)
    return activation_picture.bends(
        curves(found.reach),
        groups,
        spread(run, layer, expert),
        chosen=chosen,
        _=_,
    )


def draw_factors(run: Run, layer: int, expert: int, token: int, unit: int) -> Picture:
    """What multiplies, side by side."""
    gated = (("gate", _("gate φ(z)")), ("up", _("× value")), ("hidden", "= hidden"))
    plain = (("pre", "z"), ("hidden", _("hidden = φ(z)")))
    is_gated = run.config.feed_forward.activation.is_gated
    return activation_picture.factors(
        shared.strongest(run, layer, expert, token),
        gated if is_gated else plain,
        token=run.input.labels[token],
        selected=unit,
        _=_,
    )


def draw_closed(run: Run, layer: int, expert: int, token: int) -> Picture:
    """The share of units that are off, token by token."""
    numbers = shared.given(run, layer, expert)
    tokens = [run.input.labels[number] for number in numbers]
    shares = off_shares(run, layer, expert)
    return activation_picture.closed(shares, tokens, numbers, pinned=token, _=_)
