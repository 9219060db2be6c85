"""Norm and residual connection: what they do to values, and what they do for depth."""

import pages.ui.entrance  # noqa: F401

from blocks.model.faults import N_
from blocks.model.placements import possible_placements
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.interventions import ablation
from pages.panels.model_page import show_model_page
from pages.panels.normalization import axes, placements
from pages.panels.normalization.axes import layer_and_stage, what_norms_see, what_they_depend_on
from pages.panels.normalization.depth import what_depth_does
from pages.panels.normalization.layers import the_trained_layers
from pages.panels.normalization.placements import where_it_stands
from pages.panels.normalization.race import who_learns
from pages.panels.normalization.shared import RACE, WHY
from pages.panels.normalization.stacks import stack_choice
from pages.panels.normalization.theory import how_it_scales
from pages.ui import labelled, words
from pages.ui.chart import drawn
from pages.ui.export import from_one, take_away
from pages.ui.panel import Panel

TITLE = N_("Norms: what they do for depth")


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep; depth has its table under its picture."""
    norms, token = (run, *axes.selection(run)), labelled.pinned_token(run)
    n_placements = len(possible_placements(run.config))
    where = run, placements.shown_layer(run), labelled.selected_head(run), n_placements
    frames = {
        "norms_per_token": from_one(lambda: axes.named_tokens(*norms), "token"),
        "norms_per_feature": lambda: axes.norm_facts(*norms).per_feature,
        "norms_dependence": lambda: axes.norm_facts(*norms).dependence,
    }
    if run.config.attends:
        frames["placements"] = lambda: placements.placement_facts(*where).moments.reset_index()

    def pictures() -> list[Picture]:
        found = [
            drawn(axes.draw_cells, run, token),
            drawn(axes.draw_tokens, *norms, token),
            drawn(axes.draw_features, *norms),
        ]
        if run.config.attends:
            found += [
                drawn(placements.draw_spreads, *where, facts=placements.placement_facts),
                drawn(placements.draw_patterns, *where, token),
            ]
        return found

    take_away(run.config, frames, pictures, words.take_away_caption(run))


PANELS = (
    Panel(
        "norms",
        N_("What does a norm do?"),
        what_norms_see,
        layer_and_stage,
        fields=("norm_kind", "norm_affine", "d_model", "training"),
    ),
    Panel(
        "dependence",
        N_("Do other tokens matter?"),
        what_they_depend_on,
        layer_and_stage,
        fields=("norm_kind", "training"),
    ),
    Panel(
        "placements",
        N_("Which placement?"),
        where_it_stands,
        fields=("norm_placement", "norm_kind", "residual"),
        of_attention=True,
    ),
    Panel(
        "depth",
        N_("What does depth do?"),
        what_depth_does,
        stack_choice,
        fields=("norm_placement", "norm_kind", "residual", "initialization"),
        of_attention=True,
    ),
    Panel(
        "theory",
        WHY,
        how_it_scales,
        stack_choice,
        fields=("norm_placement", "norm_kind", "residual"),
        of_attention=True,
    ),
    Panel(
        "race",
        RACE,
        who_learns,
        fields=("norm_kind", "activation"),
        reads_input=False,
        of_this_run=False,
    ),
    Panel(
        "layers",
        N_("The model's own layers"),
        the_trained_layers,
        fields=("n_layers", "norm_placement", "norm_kind", "residual"),
    ),
    ablation("n_layers", "norm_placement", "residual"),
)

show_model_page(TITLE, PANELS, files=what_to_take)
