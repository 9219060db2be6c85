"""Norm and residual connection: what they do to values, and what they do for depth."""

import pages.ui.entrance  # noqa: F401

from blocks.model.faults import N_
from blocks.model.placements import possible_placements
from blocks.observe.run import Run
from pages.panels.inputs import what_goes_in
from pages.panels.interventions import ablation
from pages.panels.normalization import axes, shared
from pages.panels.normalization.axes import (
    draw_axes,
    draw_features,
    draw_tokens,
    what_norms_see,
    what_they_depend_on,
)
from pages.panels.normalization.depth import (
    how_it_scales,
    the_trained_layers,
    what_depth_does,
    which_stacks,
)
from pages.panels.normalization.placements import draw_patterns, draw_spreads, where_it_stands
from pages.panels.normalization.race import who_learns
from pages.panels.normalization.shared import shown_norm_input
from pages.ui import labelled, panel, words
from pages.ui.chart import drawn
from pages.ui.export import take_away
from pages.ui.frame import close_page, open_page, recorded, subtitle
from pages.ui.panel import Panel
from pages.ui.views import layer_choice

TITLE = N_("Norms: what they do for depth")


def main() -> None:
    """What goes in, and the questions."""
    run = open_page(TITLE, None, PANELS)
    what_goes_in(run)
    recorded(run)
    subtitle(words.summary(run))
    panel.show(PANELS, run, files=what_to_take)
    close_page(TITLE)


def three_norms(run: Run) -> None:
    """What each norm does to the values of one layer."""
    what_norms_see(run, labelled.selected_layer(run))


def what_depends(run: Run) -> None:
    """What the output of a token depends on, in one layer."""
    what_they_depend_on(run, labelled.selected_layer(run))


def layer_and_stage(run: Run) -> None:
    """Which layer, and which stage of it the norms are given."""
    layer_choice(run)
    axes.norm_input(run, labelled.selected_layer(run))


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep; depth has its table under its picture."""
    layer = labelled.selected_layer(run)
    stage, token = shown_norm_input(run, layer), labelled.pinned_token(run)
    shown = run, shared.shown_layer(run), labelled.selected_head(run)
    names = possible_placements(run.config)
    found = shared.compared(run, layer, stage)
    frames = {
        "norms_per_token": found.per_token,
        "norms_per_feature": found.per_feature,
        "norms_dependence": found.dependence,
        "placements": shared.all_placements(*shown),
    }
    figures = [
        drawn(draw_axes, run, token),
        drawn(draw_tokens, run, layer, stage, token),
        drawn(draw_features, run, layer, stage),
        drawn(draw_spreads, *shown, names),
        drawn(draw_patterns, *shown, names, token),
    ]
    take_away(run.config, frames, figures, words.take_away_caption(run))


PANELS = (
    Panel("race", N_("Which one learns?"), who_learns, fields=("norm_kind", "activation")),
    Panel(
        "norms",
        N_("What does a norm do?"),
        three_norms,
        layer_and_stage,
        fields=("norm_kind", "norm_affine", "d_model", "training"),
    ),
    Panel(
        "dependence",
        N_("Do others matter?"),
        what_depends,
        layer_and_stage,
        fields=("norm_kind", "training"),
    ),
    Panel(
        "placements",
        N_("Which placement?"),
        where_it_stands,
        fields=("norm_placement", "norm_kind", "residual"),
    ),
    Panel(
        "depth",
        N_("What does depth do?"),
        what_depth_does,
        which_stacks,
        fields=("norm_placement", "norm_kind", "residual", "initialization"),
    ),
    Panel(
        "theory",
        N_("Does theory hold?"),
        how_it_scales,
        which_stacks,
        fields=("norm_placement", "norm_kind", "residual"),
    ),
    Panel(
        "layers",
        N_("Its own layers"),
        the_trained_layers,
        fields=("n_layers", "norm_placement", "norm_kind", "residual"),
    ),
    ablation("n_layers", "norm_placement", "residual"),
)

main()
