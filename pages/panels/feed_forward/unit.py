"""What activates a unit? The strongest units at every token, and the tokens that excite one."""

from typing import Any

import streamlit as st

from blocks.inspection import units
from blocks.inspection.units import UnitTokens
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import marks, palette
from pages.figures.axes import plot_room, row_names
from pages.figures.chart import Axis, Chart, Look, bars
from pages.figures.counting import from_one
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture, figure, small, token_label
from pages.figures.token_axis import label_room, slanted
from pages.figures.weights import outline
from pages.page.declared import Panel
from pages.panels.feed_forward import shared
from pages.show.controls import enter
from pages.show.parts import Beside, Controls, Matrix, Say, Shown
from pages.show.views import pin_token
from pages.show.ways import click_sets, way
from pages.state import labelled
from pages.state.link_fields.feed_forward import LIKELIEST
from pages.state.values import State
from pages.words.language import _, bracketed, enumeration, fill, literal

ROW, NAMES, ROOMY = 22, 24, 64
MOST_NAMED = 3  # tokens in the sentence
# Below zero blue, above it orange; nothing at zero, on light and dark alike.
DIVERGING = (
    (0.0, "rgba(0, 114, 178, 1)"),
    (0.5, "rgba(128, 138, 150, 0.06)"),
    (1.0, "rgba(230, 159, 0, 1)"),
)
unit_tokens = shared.kept(units.unit_tokens)


def says_unit(facts: UnitTokens) -> str:
    """What one unit answers to."""
    text = _(
        "Unit {unit:from_one} is active at {active_share:percent} of the tokens and saturated at "
        "{saturated_share:percent}. It is strongest at {tokens}."
    )
    rows = facts.near.drop_duplicates("label").head(MOST_NAMED)
    named = [bracketed(literal(row.label), f"{row.hidden:.2f}") for row in each_row(rows)]
    return fill(text, facts, tokens=enumeration(named))


def unit_choice(run: Run, _layer: int, _expert: int, _token: int, shown: int, state: State) -> None:
    """Any unit by its number; and back to the strongest."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="unit"):
        last = shared.n_units(run.config, labelled.selected_layer(run, state)) - 1
        label = _("Unit · 1 to {last:,}").format(last=from_one(last))
        enter("unit", label, shown, least=0, most=last, first=1, width=180)
        if state.unit != LIKELIEST:
            label = _("Strongest unit at the pinned token")
            way(label, "strongest_unit", icon=":material/restart_alt:", unit=LIKELIEST)


def unit_map(facts: UnitTokens) -> Picture:
    """`hidden` of some units at every token. A click returns unit and token."""
    units, numbers, tokens, hidden = facts.units, facts.numbers, facts.labels, facts.hidden
    room, most = label_room(tokens), float(abs(hidden).max()) if hidden.size else 1.0
    cells = marks.heat(
        small(hidden),
        zmid=0,
        zmin=-most,
        zmax=most,
        colorscale=[list(stop) for stop in DIVERGING],
        xgap=1 if len(tokens) <= ROOMY else 0,
        ygap=1,
        colorbar=marks.color_bar(_("activations")),
    )
    outlines = [outline(-0.5, units.index(facts.unit) - 0.5, len(tokens), 1)]
    if facts.pinned in numbers:
        outlines.append(outline(numbers.index(facts.pinned) - 0.5, -0.5, 1, len(units)))
    return figure(
        [cells, _cells_to_click(facts)],
        title=_("Activation of these units at each token"),
        **plot_room(20 + ROW * len(units), room),
        xaxis=slanted(tokens, NAMES, range=[-0.5, len(tokens) - 0.5]),
        yaxis=row_names([str(from_one(unit)) for unit in units], title=_("unit"), showgrid=False),
        shapes=outlines,
    )


def _cells_to_click(facts: UnitTokens) -> dict[str, Any]:
    units, numbers, tokens = facts.units, facts.numbers, facts.labels
    text = _("unit {unit} at {number} · {token}: {value:.3f}")
    cells = [(row, column) for row in range(len(units)) for column in range(len(tokens))]
    return marks.targets(
        [column for _row, column in cells],
        [row for row, _column in cells],
        [[int(units[row]), int(numbers[column])] for row, column in cells],
        18,
        **marks.told(
            text.format(
                unit=from_one(units[row]),
                number=from_one(numbers[column]),
                token=token_label(tokens[column]),
                value=facts.hidden[row, column],
            )
            for row, column in cells
        ),
    )


def exciting(facts: UnitTokens) -> Chart:
    """The tokens at which one unit's |`hidden`| is largest."""
    rows = facts.strongest
    least, most = min(0.0, rows["hidden"].min()), max(0.0, rows["hidden"].max())
    room = 0.16 * (most - least or 1.0)  # for the numbers at the bars
    return Chart(
        _("Tokens that activate unit {unit} most").format(unit=from_one(facts.unit)),
        rows,
        Axis(_("activations"), (least - (room if least < 0 else 0), most + room), has_zero=True),
        Axis(names=[f"{from_one(r.number)} · {token_label(r.label)}" for r in each_row(rows)]),
        [bars("hidden", Look(color=_colors(facts)), text="{hidden:z.2f}")],
        hover="{hidden:.3f}",
        click=("number",),
        tall=12 + ROW * len(rows),
    )


def _colors(facts: UnitTokens) -> list[str]:
    is_pinned = facts.strongest["number"] == facts.pinned
    return [palette.PINNED if each else palette.FEED_FORWARD for each in is_pinned]


PANEL = Panel(
    "unit",
    N_("What activates a unit?"),
    choices=shared.layer_and_expert,
    fields=("activation", "d_ff"),
    concepts=("feed_forward",),
    code=(units.strongest, units.at_tokens),
    at=shared.of_units,
    facts=unit_tokens,
    shows=(
        Controls(unit_choice),
        Say(says_unit),
        Beside(
            Matrix(unit_map, "unit_map", click=click_sets("unit", "token")),
            Shown(exciting, "exciting", click=pin_token),
            widths=(7, 4),
        ),
    ),
)
