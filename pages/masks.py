"""Masks: who may see whom, and a test whether it holds."""

import pages.ui.entrance  # noqa: F401

from collections.abc import Callable
from functools import partial

import pandas as pd

from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.interventions import ablation
from pages.panels.masks import plan, shared
from pages.panels.masks.edges import another_sequence, blind_facts, draw_blind, nothing_to_see
from pages.panels.masks.leaks import does_it_hold, draw_gradient, draw_moved
from pages.panels.masks.peeking import what_if_it_could_peek
from pages.panels.masks.steps import draw_mask, draw_pattern, draw_scores, what_the_mask_does
from pages.panels.model_page import show_model_page
from pages.ui import cached, labelled, words
from pages.ui.chart import drawn
from pages.ui.export import from_one, take_away
from pages.ui.panel import Panel

TITLE = N_("Masks: who may attend to whom")


def looked_at(run: Run) -> tuple[int, int, int]:
    """Layer, head and token."""
    head = labelled.selected_head(run)
    return labelled.selected_layer(run), head, labelled.pinned_token(run)


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep."""
    layer, _head, token = shown = looked_at(run)
    attends, done = run.config.attends, plan.found_so_far(run)
    tables: dict[str, Callable[[], pd.DataFrame]] = {}
    if attends:
        tables["heads"] = from_one(partial(cached.heads, run, layer), "layer", "head")
    if done:
        tables["leaks"] = from_one(lambda: plan.leak_facts(done).table, "output", "token")

    def pictures() -> list[Picture]:
        found = [drawn(draw_moved, done, token)] if done else []
        if done and done.followed:
            found.append(drawn(draw_gradient, done, token))
        if attends:
            found += [
                drawn(draw_mask, run, layer, token),
                drawn(draw_scores, run, *shown, facts=shared.step_facts),
                drawn(draw_pattern, run, *shown, facts=shared.step_facts),
                drawn(draw_blind, run, *shown, facts=blind_facts),
            ]
        return found

    take_away(run.config, tables, pictures, words.take_away_caption(run))


PANELS = (
    Panel(
        "leaks",
        N_("Does the mask hold?"),
        lambda run: does_it_hold(run, *looked_at(run)),
        fields=("n_layers", "n_heads", "position_kind"),
    ),
    Panel(
        "steps",
        N_("What does a mask do?"),
        lambda run: what_the_mask_does(run, *looked_at(run)),
        fields=("n_heads", "position_kind"),
        of_attention=True,
    ),
    Panel("peeking", N_("What if it could peek?"), what_if_it_could_peek, of_this_run=False),
    Panel(
        "no-key",
        N_("What if no key is left?"),
        lambda run: nothing_to_see(run, *looked_at(run)),
        fields=("n_heads", "position_kind"),
        of_attention=True,
    ),
    Panel(
        "cross-padding",
        N_("And in cross-attention?"),
        another_sequence,
        fields=("n_heads", "position_kind"),
        of_attention=True,
    ),
    ablation("n_layers", "n_heads", "residual"),
)

show_model_page(TITLE, PANELS, files=what_to_take)
