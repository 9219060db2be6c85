"""A whole encoder, live: its layers, all its heads, and what it expects at every token."""

import pages.ui.entrance  # noqa: F401

from functools import partial

from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.encoder import prediction_picture
from pages.panels.encoder.layers import draw_layers, what_passes
from pages.panels.encoder.prediction import prediction_facts, what_it_expects
from pages.panels.heads import draw_all_heads, draw_one_head, heads_of_all_layers
from pages.panels.interventions import ablation
from pages.panels.model_page import show_model_page
from pages.panels.parameter_table import draw_parts, part_facts, what_it_is_made_of
from pages.ui import cached, labelled, layers, sinks, words
from pages.ui.chart import drawn
from pages.ui.declared import overflowed
from pages.ui.export import Tables, from_one, take_away
from pages.ui.history import run_before
from pages.ui.panel import Panel
from pages.ui.views import layer_choice

TITLE = N_("A whole encoder")


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep."""
    if overflowed(run):
        return
    at = labelled.selection(run)
    tables: Tables = {
        "layers": from_one(partial(cached.whole_flow, run), "layer"),
        "heads": from_one(partial(layers.heads, run), "layer", "head"),
        "guesses": partial(layers.guesses, run),
        "parameters": partial(cached.parameters, run.config),
    }

    def pictures() -> list[Picture]:
        return [
            drawn(prediction_picture.bars, run, at.token, facts=prediction_facts),
            drawn(draw_layers, run, run_before(run)),
            drawn(draw_all_heads, run, *at, sinks.is_wanted()),
            drawn(draw_one_head, run, *at),
            drawn(draw_parts, run, False, facts=part_facts),
        ]

    take_away(run.config, tables, pictures, words.take_away_caption(run))


PANELS = (
    Panel(
        "prediction",
        N_("What does it predict?"),
        what_it_expects,
        of_predictions=True,
        fields=("n_layers", "d_model", "n_heads"),
    ),
    Panel(
        "layers",
        N_("What does each layer do?"),
        what_passes,
        of_predictions=True,
        fields=("n_layers", "d_model", "norm_placement", "norm_kind", "residual"),
    ),
    Panel(
        "heads",
        N_("What do its heads attend to?"),
        heads_of_all_layers,
        layer_choice,
        of_predictions=True,
        fields=("n_layers", "n_heads", "n_kv_heads", "position_kind"),
    ),
    ablation("n_layers", "n_heads", "residual"),
    Panel(
        "parameters",
        N_("Parameters"),
        what_it_is_made_of,
        fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "tie_embeddings"),
        reads_input=False,
    ),
)

show_model_page(TITLE, PANELS, architecture=Architecture.ENCODER, files=what_to_take)
