"""Attention: where a token reads from, and how that number is made."""

import pages.ui.entrance  # noqa: F401

from collections.abc import Callable
from functools import partial

import pandas as pd

from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels import contribution_graph, contribution_graph_picture
from pages.panels.attention import (
    all_heads,
    contribution,
    contribution_picture,
    gradient,
    pattern,
    probe,
    random_scores,
    scaling,
    scaling_picture,
    shared,
    sinks_picture,
    step_picture,
    steps,
    strip_picture,
)
from pages.panels.attention.kinds import how_else
from pages.panels.attention.shared import layer_and_head
from pages.panels.attention.sharing import who_shares
from pages.panels.heads import draw_all_heads, draw_one_head
from pages.panels.interventions import ablation
from pages.panels.model_page import show_model_page
from pages.ui import cached, labelled, layers, link, sinks, words
from pages.ui.chart import drawn
from pages.ui.export import from_one, take_away
from pages.ui.panel import Panel

TITLE = N_("Attention: where a token reads from")


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep."""
    tables: dict[str, Callable[[], pd.DataFrame]] = {
        "parameters": partial(cached.parameters, run.config)
    }
    if not run.config.has_attention:
        take_away(run.config, tables, list, words.take_away_caption(run))
        return
    at, is_apart = labelled.selection(run), sinks.is_wanted()
    head = run, at.layer, at.head
    counted = run, at.layer, contribution.counted_head(at.head), at.token, is_apart
    tables |= {
        "all_heads": from_one(partial(layers.heads, run), "layer", "head"),
        "first_token": from_one(lambda: contribution.sink_facts(*head).heads, "layer", "head"),
        "contribution": lambda: contribution.named_keys(*counted),
        "scaling": partial(scaling.random_sharpness, run),
    }
    if shows_graph(run):
        way = run, at.token, contribution_graph.least_share()
        tables["contribution_graph"] = lambda: contribution_graph.graph_facts(*way).table()
    take_away(run.config, tables, partial(pictures, run), words.take_away_caption(run))


def shows_graph(run: Run) -> bool:
    """Whether what each token contributes through all layers can be drawn."""
    return run.config.attends and contribution_graph.fits(run)


def pictures(run: Run) -> list[Picture]:
    """All that is drawn of the head and the token that are looked at."""
    at, is_apart = labelled.selection(run), sinks.is_wanted()
    head, cell = (run, at.layer, at.head), steps.chosen_cell(run)
    scaled = *head, at.token, link.value("is_scaled")
    counted = run, at.layer, contribution.counted_head(at.head), at.token, is_apart
    found = [
        drawn(strip_picture.strip, run, *at, is_apart, cell[0], facts=shared.drawn_facts),
        drawn(step_picture.step, run, *at, is_apart, *cell, facts=shared.drawn_facts),
        drawn(scaling_picture.curves, *scaled, facts=scaling.scaling_facts),
        drawn(contribution_picture.bars, *counted, facts=contribution.contribution_facts),
        drawn(sinks_picture.sinks, *head, facts=contribution.sink_facts),
        drawn(pattern.draw_lines, run, *at, pattern.chosen_lines(run)),
        drawn(draw_one_head, run, *at),
        drawn(draw_all_heads, run, *at, is_apart),
        drawn(all_heads.draw_colors, *head, is_apart, link.value("sort_heads_by")),
    ]
    if shows_graph(run):
        way = run, at.token, contribution_graph.least_share()
        draw = contribution_graph_picture.graph
        found.append(drawn(draw, *way, facts=contribution_graph.graph_facts))
    return found


def of_a_head(name: str, title: str, draw: Callable[[Run], None], fields: tuple[str, ...]) -> Panel:
    """A panel about the layer and head that the whole page looks at."""
    return Panel(
        name, title, draw, layer_and_head, fields=fields, of_attention=True, in_any_layer=True
    )


PANELS = (
    of_a_head(
        "steps",
        N_("What does a head do?"),
        steps.steps_of_a_head,
        fields=("d_model", "n_heads", "n_kv_heads", "d_head", "position_kind"),
    ),
    of_a_head(
        "score-gradient",
        N_("How should each score change?"),
        gradient.back_to_the_scores,
        fields=("n_layers", "n_heads", "position_kind"),
    ),
    Panel(
        "random-scores",
        N_("How do scores grow with d?"),
        random_scores.how_scores_grow,
        fields=("seed",),
        reads_input=False,
    ),
    of_a_head(
        "scaling",
        N_("Why divide by √d?"),
        scaling.why_divide,
        fields=("d_model", "n_heads", "d_head", "qk_norm"),
    ),
    of_a_head(
        "contribution",
        N_("Which tokens contribute?"),
        contribution.weight_and_contribution,
        fields=("n_heads", "norm_placement", "norm_kind"),
    ),
    Panel(
        "contribution-graph",
        N_("Contributions through all layers"),
        contribution_graph.way_through_all_layers,
        of_predictions=True,
        fields=("n_layers", "n_heads", "norm_placement"),
        of_attention=True,
    ),
    of_a_head(
        "pattern",
        N_("Who reads whom?"),
        pattern.lines_and_map,
        fields=("n_heads", "n_kv_heads", "position_kind"),
    ),
    of_a_head(
        "heads",
        N_("All heads"),
        all_heads.all_heads,
        fields=("n_layers", "n_heads", "n_kv_heads", "position_kind"),
    ),
    Panel(
        "head-probe",
        N_("What is each head for?"),
        probe.what_heads_are_for,
        fields=("n_layers", "n_heads"),
        of_attention=True,
        in_any_layer=True,
        reads_input=False,
    ),
    of_a_head(
        "kv-heads",
        N_("Sharing keys and values"),
        who_shares,
        fields=("n_heads", "n_kv_heads", "d_head", "d_kv_latent", "d_rotary", "d_value"),
    ),
    of_a_head(
        "kinds",
        N_("Other attention variants"),
        how_else,
        fields=("d_model", "n_heads", "d_head"),
    ),
    ablation("n_layers", "n_heads", "residual"),
)

show_model_page(TITLE, PANELS, files=what_to_take)
