"""One Transformer block, live: what flows through it, what its heads see, what it is made of."""

import pages.page.entrance  # noqa: F401

from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from pages.panels import heads
from pages.panels.block import flow, stage
from pages.panels.interventions import ablation
from pages.panels.model_page import show_model_page
from pages.panels.parameter_table import parameters
from pages.server import cached
from pages.show import words
from pages.show.inputs import vector_controls
from pages.show.views import attending_layer_choice

TITLE = N_("One Transformer block")

PANELS = (
    flow.PANEL,
    stage.PANEL,
    heads.panel(
        *(attending_layer_choice, heads.draw_heads, heads.open_head, cached.heads),
        *("n_heads", "n_kv_heads", "d_model", "position_kind"),
        of_attention=True,
        in_any_layer=True,
    ),
    ablation("n_heads", "norm_placement", "residual"),
    parameters("d_model", "n_heads", "n_kv_heads", "d_ff", "activation", of_one_block=True),
)

show_model_page(
    TITLE,
    PANELS,
    architecture=Architecture.BLOCK,
    input_of=vector_controls,
    summary=words.summary_of_a_block,
)
