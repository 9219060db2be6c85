"""One Transformer block, live: what flows through it, what its heads see, what it is made of."""

import pages.ui.entrance  # noqa: F401

from functools import partial

from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.block.flow import draw_bands, draw_strip, what_flows
from pages.panels.block.stage import draw_spread, draw_token_values, what_a_stage_does
from pages.panels.heads import draw_heads, draw_one_head, heads_of_a_layer
from pages.panels.interventions import ablation
from pages.panels.model_page import show_model_page
from pages.panels.parameter_table import draw_parts, part_facts, what_it_is_made_of
from pages.ui import cached, labelled, link, sinks, words
from pages.ui.chart import drawn
from pages.ui.export import Tables, from_one, take_away
from pages.ui.history import run_before
from pages.ui.inputs import vector_controls
from pages.ui.panel import Panel
from pages.ui.views import attending_layer_choice, layer_choice

TITLE = N_("One Transformer block")


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep."""
    at, layer = labelled.selection(run), labelled.selected_layer(run)
    stage, attends = labelled.selected_stage(run, layer), run.config.has_attention
    is_apart = sinks.is_wanted()
    tables: Tables = {
        "flow": from_one(
            lambda: cached.flow(run, layer, sinks.set_apart(run, is_apart)).drop(columns="reads"),
            "layer",
        ),
        **(
            {"heads": from_one(partial(cached.heads, run, at.layer), "layer", "head")}
            if attends
            else {}
        ),
        "parameters": partial(cached.parameters, run.config.one_block()),
    }

    def pictures() -> list[Picture]:
        return [
            drawn(draw_strip, run, layer, stage, is_apart),
            drawn(draw_bands, run, layer, run_before(run), is_apart),
            drawn(draw_spread, run, layer, stage, is_apart),
            drawn(draw_token_values, run, layer, stage, at.token, link.value("n_dims")),
            *(
                [drawn(draw_heads, run, *at, is_apart), drawn(draw_one_head, run, *at)]
                if attends
                else []
            ),
            drawn(draw_parts, run, True, facts=part_facts),
        ]

    take_away(run.config, tables, pictures, words.take_away_caption_of_a_block(run))


PANELS = (
    Panel(
        "flow",
        N_("What flows through it?"),
        what_flows,
        layer_choice,
        fields=("d_model", "n_heads", "token_mixer", "d_ff", "norm_placement", "norm_kind"),
    ),
    Panel(
        "stage",
        N_("What does one stage do?"),
        what_a_stage_does,
        layer_choice,
        fields=("d_model", "d_ff", "activation", "norm_placement", "norm_kind"),
    ),
    Panel(
        "heads",
        N_("What do its heads attend to?"),
        heads_of_a_layer,
        attending_layer_choice,
        fields=("n_heads", "n_kv_heads", "d_model", "position_kind"),
        of_attention=True,
        in_any_layer=True,
    ),
    ablation("n_heads", "norm_placement", "residual"),
    Panel(
        "parameters",
        N_("Parameters"),
        partial(what_it_is_made_of, of_one_block=True),
        fields=("d_model", "n_heads", "n_kv_heads", "d_ff", "activation"),
        reads_input=False,
    ),
)

show_model_page(
    TITLE,
    PANELS,
    architecture=Architecture.BLOCK,
    files=what_to_take,
    input_of=vector_controls,
    summary=words.summary_of_a_block,
)
