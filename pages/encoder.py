"""A whole encoder, live: its layers, all its heads, and what it expects at every token."""

import pages.page.entrance  # noqa: F401

from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from pages.panels import heads
from pages.panels.encoder import layers as stream
from pages.panels.encoder import prediction
from pages.panels.interventions import ablation
from pages.panels.model_page import show_model_page
from pages.panels.parameter_table import parameters
from pages.show import layers
from pages.show.views import layer_choice

TITLE = N_("A whole encoder")

PANELS = (
    prediction.PANEL,
    stream.PANEL,
    heads.panel(
        *(layer_choice, heads.draw_all_heads, heads.open_tile, layers.heads),
        *("n_layers", "n_heads", "n_kv_heads", "position_kind"),
        of_predictions=True,
    ),
    ablation("n_layers", "n_heads", "residual"),
    parameters("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "tie_embeddings"),
)

show_model_page(TITLE, PANELS, architecture=Architecture.ENCODER)
