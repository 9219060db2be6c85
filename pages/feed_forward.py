"""Feed-forward: what the wide layer does."""

import pages.ui.entrance  # noqa: F401

from blocks.model.faults import N_
from pages.panels.feed_forward.activation import the_bend, the_gate
from pages.panels.feed_forward.experts import mixture_of_experts, what_experts_cost
from pages.panels.feed_forward.massive import what_outweighs
from pages.panels.feed_forward.positions import each_position_alone
from pages.panels.feed_forward.shared import layer_and_expert, of_a_layer, of_units
from pages.panels.feed_forward.units import dead_and_alive, one_unit
from pages.panels.feed_forward.units_picture import ONE_UNIT
from pages.panels.feed_forward.width import other_widths
from pages.panels.interventions import ablation
from pages.panels.model_page import show_model_page
from pages.ui.panel import Panel

TITLE = N_("Feed-forward: what the hidden layer does")

PANELS = (
    Panel(
        "activation",
        N_("Where do pre-activations land?"),
        of_units(the_bend),
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
        ONE_UNIT,
        of_units(one_unit),
        layer_and_expert,
        fields=("activation", "d_ff"),
    ),
    Panel(
        "massive-activations",
        N_("Which value outweighs all others?"),
        what_outweighs,
        fields=("n_layers", "d_ff", "activation"),
        of_predictions=True,
    ),
    Panel(
        "width",
        N_("How wide?"),
        of_a_layer(other_widths),
        layer_and_expert,
        fields=("d_ff", "d_model", "activation"),
    ),
    Panel(
        "experts",
        N_("Which expert?"),
        of_a_layer(mixture_of_experts),
        layer_and_expert,
        fields=(
            *("n_experts", "n_active_experts", "d_expert", "n_shared_experts", "router_kind"),
            *("normalize_top_k", "expert_capacity", "d_ff"),
        ),
    ),
    Panel(
        "expert-cost",
        N_("What do experts cost?"),
        what_experts_cost,
        fields=("n_experts", "n_active_experts", "d_expert", "n_shared_experts", "d_ff"),
        reads_input=False,
    ),
    Panel(
        "positions",
        N_("Is each token processed alone?"),
        of_a_layer(each_position_alone),
        layer_and_expert,
        fields=("n_layers", "d_ff", "position_kind"),
        of_attention=True,
    ),
    ablation("n_layers", "d_ff", "residual"),
)

show_model_page(TITLE, PANELS)
