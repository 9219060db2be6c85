"""What is a gate? Gate and value apart, for the strongest units of the pinned token."""

import pandas as pd

from blocks.inspection import source, units
from blocks.inspection.units import GateFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, bars, chosen
from pages.figures.counting import from_one
from pages.figures.theme import token_label
from pages.page.declared import Panel
from pages.panels.feed_forward import shared
from pages.show.explain import Code
from pages.show.parts import Beside, Controls, Say, Shown, Table
from pages.show.views import pin_token
from pages.show.ways import click_sets, way
from pages.words import terms
from pages.words.language import _, fill

ROW, TALL = 26, 220  # pixels
gate_facts = shared.kept(units.gate_facts)


def says_gate(facts: GateFacts) -> str:
    """What multiplies at the pinned token, and how often the gate is shut."""
    if facts.place.expert is not None and facts.strongest.empty:
        text = _(
            "{token_label:token} was not routed to expert {place.expert:from_one}. Pin "
            "another token, or choose its expert."
        )
        return fill(text, facts)
    text = _(
        "At {token_label:token}, unit {first[unit]:from_one} is the strongest: z = "
        "{first[pre]:.3f} becomes {first[hidden]:.3f}. On this input, units are off in "
        "{off:percent} of all token–unit pairs."
    )
    if facts.is_gated:
        text = _(
            "At {token_label:token}, unit {first[unit]:from_one} is the strongest: gate "
            "{first[gate]:.3f} × value {first[up]:.3f} = {first[hidden]:.3f}. On this input, "
            "the gate is closed in {off:percent} of all token–unit pairs."
        )
    return fill(text, facts, first=facts.strongest.iloc[0])


def gate_table(facts: GateFacts) -> pd.DataFrame | None:
    """The strongest units: what multiplies, and what comes of it."""
    if facts.strongest.empty:
        return None
    names = {"unit": _("unit"), "pre": "z", "gate": _("gate"), "up": _("value"), "hidden": "hidden"}
    table = facts.strongest if facts.is_gated else facts.strongest.drop(columns=["gate", "up"])
    return table.assign(unit=table["unit"].map(from_one)).rename(columns=names).round(4)


def closed(facts: GateFacts) -> Chart | None:
    """The share of units that are off at each token; a click returns the token's number."""
    if not facts.numbers:
        return None
    return Chart(
        _("Units off at each token"),
        {
            "share": facts.off_shares,
            "token": [*map(token_label, facts.labels)],
            "number": facts.numbers,
            "shown": [*map(from_one, facts.numbers)],
        },
        Axis(tokens=facts.labels),
        Axis(_("share of units"), (0, 1.02), is_share=True),
        [bars("share", Look(color=palette.BEFORE), column=1)],
        hover=_("{shown} · {token}: {share:.1%} of the units are off"),
        click=("number",),
        tall=TALL,
        gap=0.1,
        grounds=[chosen(i) for i, number in enumerate(facts.numbers) if number == facts.token],
    )


def factors(facts: GateFacts) -> Chart | None:
    """The strongest units of one token, a row each, and what multiplies to `hidden`."""
    rows = facts.strongest
    if rows.empty:
        return None
    parts = {"pre": "z", "hidden": _("hidden = φ(z)")}
    if facts.is_gated:
        parts = {"gate": _("gate φ(z)"), "up": _("× value"), "hidden": "= hidden"}
    colors = *(palette.NORM, palette.ATTENTION)[: len(parts) - 1], palette.FEED_FORWARD
    numbers = rows["unit"].map(from_one)
    return Chart(
        _("Strongest units at {token}").format(token=token_label(facts.token_label)),
        rows.assign(number=numbers),
        tuple(Axis(name, has_zero=True, n_ticks=3) for name in parts.values()),
        Axis(_("unit"), names=[*map(str, numbers)]),
        [
            bars(part, Look(parts[part], color), plot=i)
            for i, (part, color) in enumerate(zip(parts, colors, strict=True))
        ],
        hover=_("unit {number}: {x:.3f}"),
        click=("unit", "number"),
        tall=ROW * len(rows),
        legend=Legend.NONE,
        gap=0.25,
        outlined=[i for i, unit in enumerate(rows["unit"]) if unit == facts.selected],
    )


def way_to_a_gate(run: Run) -> None:
    """For an activation without a gate, and back."""
    if run.config.feed_forward.activation.is_gated:
        label = _("Without a gate: {kind}").format(kind=terms.option("gelu"))
        way(label, "without_gate", activation="gelu")
    else:
        label = _("With a gate: {kind}").format(kind=terms.option("swiglu"))
        way(label, "with_gate", activation="swiglu")


def code(run: Run) -> Code:
    """The layer of this run itself, and what looks for its strongest units."""
    return (*source.part_source(run.config, "feed_forward"), units.strongest)


PANEL = Panel(
    "gate",
    N_("What is a gate?"),
    choices=shared.layer_and_expert,
    fields=("activation", "d_ff"),
    concepts=("feed_forward", "activations"),
    code=code,
    at=shared.of_units,
    facts=gate_facts,
    shows=(
        Say(says_gate),
        Controls(way_to_a_gate),
        Beside(
            Shown(factors, "factors", click=click_sets("unit")),
            (
                Shown(closed, "closed", click=pin_token),
                Table(gate_table, "strongest_table", height=190),
            ),
            widths=(6, 5),
        ),
    ),
)
