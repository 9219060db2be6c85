"""What do experts cost? Parameters and FLOPs of the mixture, beside those of dense layers."""

from functools import lru_cache

import pandas as pd

from blocks import ModelConfig
from blocks.cost.parameters import active_parameters
from blocks.inspection import routing
from blocks.inspection.routing import Layout, LayoutFacts
from blocks.model.faults import N_
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Look, bars
from pages.figures.theme import faint
from pages.page.declared import Panel
from pages.panels.cost.shared import capacity_note
from pages.panels.feed_forward import shared
from pages.show.parts import Beside, Say, Shown, Table
from pages.words.language import _, fill, sentences

ROW, PALE = 62, faint(palette.FEED_FORWARD, 0.45)


@lru_cache(maxsize=16)
def layout_facts(config: ModelConfig) -> LayoutFacts:
    return routing.layout_facts(config)


def says_no_layer(config: ModelConfig) -> str | None:
    return shared.no_wide_layer() if config.attention_only else None


def says_layouts(facts: LayoutFacts) -> str:
    """What experts buy."""
    text = _(
        "The MoE model has {mixture.total:,} parameters, {growth:.1f} times as many as the dense "
        "model. Each token uses {mixture.active:,} of them ({active_share:percent}), with "
        "{flops_growth:.1f} times the dense model's feed-forward FLOPs per token."
    )
    return sentences(fill(text, facts), capacity_note(facts.config))


def layout_name(layout: Layout) -> str:
    """What one of the compared layouts is called."""
    text = _("{n_experts} experts, {n_active} active")
    if layout.n_shared:
        text = _("{n_experts} experts, {n_active} active, {n_shared} shared")
    return fill(_("dense, d_ff {d_ff:,}") if layout.n_experts == 1 else text, layout)


def layout_table(facts: LayoutFacts) -> pd.DataFrame:
    """The compared layouts, exactly."""
    names = [_("feed-forward"), _("total parameters"), _("active parameters"), _("FLOPs per token")]
    rows = [(layout_name(each), each.total, each.active, each.flops) for each in facts.layouts]
    return pd.DataFrame(rows, columns=names)


def totals(facts: LayoutFacts) -> Chart:
    """Parameters that are there, and those that one token meets."""
    most = max(each.total for each in facts.layouts)
    return Chart(
        _("Parameters of the model: total and active"),
        facts.layouts,
        Axis(_("parameters"), (0, 1.35 * most)),
        Axis(names=[*map(layout_name, facts.layouts)]),
        [
            bars("total", Look(_("total"), PALE), text="{total:,}"),
            bars("active", Look(_("active per token")), text="{active:,}"),
        ],
        hover="{x:,}",
        tall=ROW * len(facts.layouts),
    )


PANEL = Panel(
    "expert-cost",
    N_("What do experts cost?"),
    fields=("n_experts", "n_active_experts", "d_expert", "n_shared_experts", "d_ff"),
    reads_input=False,
    concepts=("experts",),
    code=(active_parameters,),
    at=lambda run: (run.config,),
    absent=says_no_layer,
    facts=layout_facts,
    shows=(
        Say(says_layouts),
        Beside(
            Shown(totals, "expert_totals"),
            Table(layout_table, "totals_table", counts=(1, 2, 3)),
            widths=(5, 6),
        ),
    ),
)
