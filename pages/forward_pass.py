"""One pass as a moving picture, from the sentence to the next word."""

import pages.page.entrance  # noqa: F401

from blocks.model.faults import N_
from pages.page.panel import Panel
from pages.panels.forward_pass.watch import the_pass, what_to_take
from pages.panels.model_page import show_model_page

TITLE = N_("From the sentence to the next word")
PANELS = (
    Panel(
        "watch",
        N_("How does a sentence become the next word?"),
        the_pass,
        of_predictions=True,
        fields=("n_layers", "n_heads", "d_model", "norm_placement"),
    ),
)

show_model_page(TITLE, PANELS, files=what_to_take)
