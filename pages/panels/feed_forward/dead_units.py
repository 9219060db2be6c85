"""Which units never fire? Dead and saturated units of each layer, and how often each is active."""

from functools import lru_cache, partial

import pandas as pd

from blocks.inspection import activations, units
from blocks.inspection.units import LayersFacts, LayerUnits, UnitFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Ground, Look, Words, bars, chosen, dots, line
from pages.figures.theme import faint
from pages.page.declared import Panel
from pages.panels.feed_forward import shared, unit
from pages.show.parts import Beside, Note, Say, Shown, Steps
from pages.show.ways import click_sets
from pages.words.language import _, fill

FEW_LAYERS, BARS = 8, 220  # whose shares are written at their bars; pixels
FILL, SILENT = faint(palette.FEED_FORWARD, 0.25), faint(palette.PINNED, 0.14)
unit_facts = shared.kept(units.unit_facts)


@lru_cache(maxsize=256)
def units_of_layer(run: Run, layer: int) -> LayerUnits:
    return units.units_of_layer(shared.see_once(run, layer))


def steps(run: Run) -> list[partial[LayerUnits]]:
    return [partial(units_of_layer, run, layer) for layer in range(run.config.n_layers)]


def layers_facts(run: Run, selected: int, n_layers: int) -> LayersFacts:
    layers = range(min(n_layers, run.config.n_layers))
    return LayersFacts(tuple(units_of_layer(run, layer) for layer in layers), selected)


def says_definition(facts: UnitFacts) -> str:
    """What dead and saturated mean here, exactly."""
    text = _(
        "At a token, a unit is **active** where z > 0, **off** where {off}, and **saturated**"
        " where |φ′(z)| < 0.01, so that hardly any gradient passes. **Dead** means off at "
        "every token of this input (padding included); with another input, the unit may be "
        "active again."
    )
    return fill(text, facts, off=_("φ(z) = 0") if facts.off_is_zero else _("|φ(z)| < 0.01"))


def says_units(facts: UnitFacts) -> str:
    """How many units are dead or saturated."""
    text = _(
        "{where}: of {n:,} units, {n_dead:,} ({dead_share:percent}) are dead, {n_saturated:,} "
        "saturated at every token and {n_silent:,} never active. The median unit is active at "
        "{median_active:percent} of the tokens."
    )
    return fill(text, facts, where=shared.where(facts.place), n=len(facts.units))


def per_layer(facts: LayersFacts) -> Chart:
    """Share of units that are dead, or saturated, and of all pairs with a token that are active."""
    looks = {
        "dead": Look(_("dead"), palette.PINNED),
        "saturated": Look(_("always saturated"), palette.BEFORE),
        "active": Look(_("active on average"), palette.FEED_FORWARD),
    }
    rows = pd.DataFrame(facts.layers).assign(number=lambda each: each["layer"] + 1)
    text = "{said}" if len(rows) <= FEW_LAYERS else ""
    return Chart(
        _("Unit states in each layer, on this input"),
        rows,
        Axis(_("layer"), of="number", ticks=rows["number"].tolist()),
        Axis(_("share"), (0, 1.12), is_share=True, ticks=(0, 0.5, 1)),
        [
            bars(name, look, rows=rows.assign(said=rows[name].map(_short)), text=text)
            for name, look in looks.items()
        ],
        hover=_("layer {number}: {y:.2%}"),
        click=("layer",),
        tall=BARS,
        grounds=[chosen(facts.selected + 1)] if len(rows) > 1 else (),
    )


def _short(share: float) -> str:
    return f"{share:.0%}" if share in (0, 1) or share >= 0.1 else f"{share:.1%}"


def by_activity(facts: UnitFacts) -> Chart:
    """Every unit, sorted by the share of tokens at which it is active; the silent end is named."""
    table = facts.units.sort_values("active_share", ascending=False, kind="stable")
    n, n_silent = len(table), facts.n_silent
    table = table.assign(place=range(1, n + 1), number=table["unit"] + 1)
    shown = list(dict.fromkeys((*facts.shown, facts.selected)))
    some = Look(
        _("units in the panel “{panel}”").format(panel=_(unit.PANEL.title)),
        palette.PINNED,
        ["diamond" if each == facts.selected else "circle" for each in shown],
        size=[13 if each == facts.selected else 9 for each in shown],
        edge="#ffffff",
    )
    named = _("never active: {n_silent:,} ({n_dead:,} dead)")
    return Chart(
        _("Units, sorted by how often they are active"),
        table,
        Axis(_("units, most active first"), (0, n + 1), of="place"),
        Axis(_("share of tokens"), (-0.03, 1.06), is_share=True),
        [
            line("active_share", Look(_("all units"), width=2, shape="hvh", fill=FILL)),
            dots("active_share", some, rows=table.set_index("unit", drop=False).loc[shown]),
        ],
        hover=_("unit {number}: active at {y:.1%} of the tokens"),
        click=("unit", "number"),
        tall=BARS,
        grounds=[Ground(n - n_silent + 0.5, n + 1, SILENT)] if n_silent else (),
        words=[Words(fill(named, facts))] if n_silent else (),
    )


PANEL = Panel(
    "dead-units",
    N_("Which units never fire?"),
    choices=shared.layer_and_expert,
    fields=("activation", "d_model", "d_ff", "initialization"),
    concepts=("activations",),
    code=(units.frame, activations.is_off, activations.is_saturated),
    at=shared.of_units,
    facts=unit_facts,
    shows=(
        Say(says_units),
        Note(says_definition),
        Beside(
            Steps(
                steps,
                Shown(per_layer, "layer_units", click=click_sets("layer"), facts=layers_facts),
                key="layer_units",
            ),
            Shown(by_activity, "activity", click=click_sets("unit")),
        ),
    ),
)
