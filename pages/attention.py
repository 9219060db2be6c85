"""Attention: where a token reads from, and how that number is made."""

import pages.ui.entrance  # noqa: F401

from collections.abc import Callable

from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.panels.attention import shared
from pages.panels.attention.contribution import (
    draw_contribution,
    draw_sinks,
    weight_and_contribution,
)
from pages.panels.attention.kinds import how_else
from pages.panels.attention.pattern import (
    all_heads,
    draw_lines,
    draw_table,
    draw_tiles,
    lines_and_map,
)
from pages.panels.attention.scaling import draw_curves, why_divide
from pages.panels.attention.sharing import who_shares
from pages.panels.attention.steps import draw_step, draw_strip, steps_of_a_head
from pages.panels.contribution_graph import ROW, way_through_all_layers
from pages.panels.contribution_graph import draw as draw_graph
from pages.panels.heads import draw_one_head
from pages.panels.inputs import what_goes_in
from pages.panels.interventions import ablation
from pages.ui import cached, labelled, link, panel, words
from pages.ui import contribution_graph as graph
from pages.ui.chart import drawn
from pages.ui.export import take_away
from pages.ui.frame import close_page, open_page, recorded, subtitle
from pages.ui.panel import Panel

TITLE = N_("Attention: where a token reads from")


def main() -> None:
    """What goes in, and the questions."""
    run = open_page(TITLE, None, PANELS)
    what_goes_in(run)
    recorded(run)
    subtitle(words.summary(run))
    panel.show(PANELS, run, files=what_to_take)
    close_page(TITLE)


def layer_and_head(run: Run) -> None:
    """Which head is looked at."""
    shared.which_head(run, *chosen_head(run))


def chosen_head(run: Run) -> tuple[int, int, int]:
    """Layer, head and token that the reader looks at."""
    head = labelled.selected_head(run)
    return labelled.selected_layer(run), head, labelled.pinned_token(run)


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep."""
    layer, head, token = chosen_head(run)
    counted, step = shared.counted_head(head), shared.current_step(run)
    cell = shared.chosen_key(run, layer, head, token), step, shared.chosen_feature(run, step)
    tables_to_take = {
        "all_heads": shared.all_heads(run),
        "first_token": shared.sinks(run),
        "contribution": shared.contribution(run, layer, counted, token).keys,
        "scaling": shared.random_sharpness(run),
        "parameters": cached.parameters(run.config),
    }
    shown = run, layer, head, token
    figures = [
        drawn(draw_strip, *shown, step),
        drawn(draw_step, *shown, *cell),
        drawn(draw_curves, run, layer, head, link.value("is_scaled")),
        drawn(draw_contribution, run, layer, counted, token),
        drawn(draw_sinks, run, layer, head),
        drawn(draw_lines, *shown, link.value("edges")),
        drawn(draw_one_head, *shown),
        drawn(draw_tiles, *shown),
        drawn(draw_table, run, layer, head, shared.sort_by()),
    ]
    if graph.fits(run):
        tables_to_take["contribution_graph"] = graph.table(run)
        figures.append(drawn(draw_graph, run, token, graph.least_share(), ROW))
    take_away(run.config, tables_to_take, figures, words.take_away_caption(run))


def shared_keys(run: Run, layer: int, _head: int, _token: int) -> None:
    """The layer with fewer heads of keys and values."""
    who_shares(run, layer)


def other_kinds(run: Run, layer: int, head: int, _token: int) -> None:
    """The head with other ways to attend."""
    how_else(run, layer, head)


def whole_way(run: Run) -> None:
    """All layers, for the pinned token."""
    way_through_all_layers(run, labelled.pinned_token(run))


def _of_a_head(
    name: str, title: str, draw: Callable[[Run, int, int, int], None], fields: tuple[str, ...]
) -> Panel:
    return Panel(name, title, lambda run: draw(run, *chosen_head(run)), layer_and_head, fields)


PANELS = (
    _of_a_head(
        "steps",
        N_("What does a head do?"),
        steps_of_a_head,
        fields=("d_model", "n_heads", "d_head", "position_kind"),
    ),
    _of_a_head(
        "scaling",
        N_("Why divide by √d?"),
        why_divide,
        fields=("d_model", "n_heads", "d_head", "qk_norm"),
    ),
    _of_a_head(
        "contribution",
        N_("Who is heard?"),
        weight_and_contribution,
        fields=("n_heads", "norm_placement", "norm_kind"),
    ),
    Panel(
        "contribution-graph",
        N_("Through all layers"),
        whole_way,
        fields=("n_layers", "n_heads", "norm_placement"),
    ),
    _of_a_head(
        "pattern", N_("Who reads whom?"), lines_and_map, fields=("n_heads", "position_kind")
    ),
    _of_a_head(
        "heads", N_("All heads"), all_heads, fields=("n_layers", "n_heads", "position_kind")
    ),
    _of_a_head(
        "kv-heads",
        N_("Sharing keys"),
        shared_keys,
        fields=("n_heads", "n_kv_heads", "d_head"),
    ),
    _of_a_head(
        "kinds", N_("Other ways to attend"), other_kinds, fields=("d_model", "n_heads", "d_head")
    ),
    ablation("n_layers", "n_heads", "residual"),
)

main()
