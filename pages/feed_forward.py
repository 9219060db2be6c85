"""Feed-forward: what the wide layer does."""

from collections.abc import Callable

import streamlit as st

from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.panels.feed_forward import shared
from pages.panels.feed_forward.activation import the_bend, the_gate
from pages.panels.feed_forward.experts import mixture_of_experts
from pages.panels.feed_forward.positions import each_position_alone
from pages.panels.feed_forward.units import dead_and_alive, one_unit
from pages.panels.feed_forward.width import other_widths
from pages.panels.inputs import what_goes_in
from pages.panels.interventions import what_if
from pages.ui import labelled, panel, words
from pages.ui.frame import close_page, open_page, recorded, subtitle
from pages.ui.panel import Panel
from pages.ui.views import layer_choice

TITLE = N_("Feed-forward: what the hidden layer does")


def main() -> None:
    """What goes in, and the questions."""
    run = open_page(TITLE, None, PANELS)
    what_goes_in(run)
    recorded(run)
    subtitle(words.summary(run))
    panel.show(PANELS, run)
    close_page(TITLE)


def layer_and_expert(run: Run) -> None:
    """Which layer is looked at, and of a mixture which expert; a way on where there is none."""
    layer_choice(run)
    if run.config.attention_only:
        st.info(shared.no_wide_layer(), icon=":material/lightbulb:")
        shared.way_to_a_wide_layer()
        return
    layer, expert, _token = looked_at(run)
    shared.expert_choice(run, expert)
    if not shared.n_given(run, layer, expert):
        st.info(shared.idle_expert(layer, expert), icon=":material/lightbulb:")
        shared.way_to_a_busy_expert(run, layer)


def looked_at(run: Run) -> tuple[int, int, int]:
    """Layer, expert and token."""
    layer, token = labelled.selected_layer(run), labelled.pinned_token(run)
    return layer, shared.selected_expert(run, layer, token), token


def of_a_layer(draw: Callable[[Run, int, int, int], None]) -> Callable[[Run], None]:
    """A panel about a layer, an expert of it, and a token; a model of attention has none."""

    def drawn(run: Run) -> None:
        if not run.config.attention_only:
            draw(run, *looked_at(run))

    return drawn


def of_units(draw: Callable[[Run, int, int, int], None]) -> Callable[[Run], None]:
    """A panel about units: an expert to which no token was sent has none to show."""

    def drawn(run: Run, layer: int, expert: int, token: int) -> None:
        if shared.n_given(run, layer, expert):
            draw(run, layer, expert, token)

    return of_a_layer(drawn)


def activation(run: Run, layer: int, expert: int, _token: int) -> None:
    """Where the units stand on the activation."""
    the_bend(run, layer, expert)


def width(run: Run, layer: int, _expert: int, _token: int) -> None:
    """The layer at other widths."""
    other_widths(run, layer)


def positions(run: Run, layer: int, _expert: int, token: int) -> None:
    """Tokens shuffled, and one changed."""
    each_position_alone(run, layer, token)


PANELS = (
    Panel(
        "activation",
        N_("Where do units live?"),
        of_units(activation),
        layer_and_expert,
        fields=("activation", "d_model", "d_ff", "initialization"),
    ),
    Panel(
        "gate",
        N_("What is a gate?"),
        of_units(the_gate),
        layer_and_expert,
        fields=("activation", "d_ff"),
    ),
    Panel(
        "dead-units",
        N_("Which units never fire?"),
        of_units(dead_and_alive),
        layer_and_expert,
        fields=("activation", "d_model", "d_ff", "initialization"),
    ),
    Panel(
        "unit",
        N_("What excites a unit?"),
        of_units(one_unit),
        layer_and_expert,
        fields=("activation", "d_ff"),
    ),
    Panel(
        "width",
        N_("How wide?"),
        of_a_layer(width),
        layer_and_expert,
        fields=("d_ff", "d_model", "activation"),
    ),
    Panel(
        "experts",
        N_("Which expert?"),
        of_a_layer(mixture_of_experts),
        layer_and_expert,
        fields=("n_experts", "n_active_experts", "expert_capacity", "d_ff"),
    ),
    Panel(
        "positions",
        N_("Each token alone?"),
        of_a_layer(positions),
        layer_and_expert,
        fields=("n_layers", "d_ff", "position_kind"),
    ),
    Panel("ablation", N_("Switch a part off"), what_if, fields=("n_layers", "d_ff", "residual")),
)

main()
