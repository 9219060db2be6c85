"""What a model is made of: every parameter, by formula; what changes it; what is in it."""

import pages.ui.entrance  # noqa: F401

import streamlit as st

from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.parameters import ideas, shared
from pages.panels.parameters.breakdown import draw_pieces, opened_facts, size_rows, where_they_are
from pages.panels.parameters.changes import (
    change_rows,
    changes_facts,
    draw_changes,
    growth_facts,
    what_changes_it,
    where_it_goes,
)
from pages.panels.parameters.changes_picture import OVER
from pages.panels.parameters.code import the_code
from pages.panels.parameters.config_file import your_own_file
from pages.panels.parameters.conversion import what_a_fault_does
from pages.panels.parameters.file_ledger import where_tensors_went
from pages.panels.parameters.published_models import (
    draw_published,
    published_facts,
    published_rows,
    what_others_have,
)
from pages.panels.parameters.weight_values import (
    draw_values,
    how_values_are_spread,
    is_shown,
    shown_values,
    value_facts,
)
from pages.ui import link, panel, words
from pages.ui.cached import count_facts
from pages.ui.chart import drawn
from pages.ui.export import take_away
from pages.ui.frame import FIRST_COUNTED, counted_run, show_page
from pages.ui.panel import Panel

TITLE = N_("Parameters")


def body() -> None:
    """The model that is counted, and the questions."""
    run = counted_run(panel.fields(PANELS))
    st.caption(words.counted(lambda each: words.parameter_count(each.config), run, words.shape))
    panel.show(PANELS, run, files=what_to_take)


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep."""
    config, values = run.config, shown_values(run)
    opened = config, link.value("breakdown"), link.value("opened_piece")
    files = {
        "parameters": lambda: shared.part_rows(count_facts(config)),
        "weights_bytes": lambda: size_rows(count_facts(config)),
        "changes": lambda: change_rows(changes_facts(config)),
        "published_models": lambda: published_rows(published_facts(config)),
    }
    has_values = is_shown(*values)
    if has_values:
        files |= {
            "weight_values": lambda: value_facts(*values).values.moments,
            "weight_bins": lambda: value_facts(*values).values.bins,
        }

    def pictures() -> list[Picture]:
        return [
            drawn(draw_pieces, *opened, facts=opened_facts),
            drawn(draw_changes, config, facts=changes_facts),
            *(drawn(draw, config, facts=growth_facts) for draw in OVER),
            drawn(draw_published, config, facts=published_facts),
            *([drawn(draw_values, *values, facts=value_facts)] if has_values else []),
        ]

    take_away(config, files, pictures, words.parameter_count(config))


PANELS = (
    Panel(
        "breakdown",
        N_("Where are the parameters?"),
        where_they_are,
        fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "tie_embeddings"),
    ),
    Panel(
        "changes",
        N_("What changes the count?"),
        what_changes_it,
        fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "tie_embeddings"),
    ),
    Panel(
        "growth",
        N_("What grows fastest?"),
        where_it_goes,
        fields=("n_layers", "d_model", "n_kv_heads", "d_ff", "tie_embeddings"),
    ),
    ideas.PANEL,
    Panel(
        "published",
        N_("How large are other models?"),
        what_others_have,
        fields=("n_layers", "d_model", "n_kv_heads", "d_ff"),
    ),
    Panel(
        "config-json",
        N_("Your config.json"),
        your_own_file,
        fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff"),
    ),
    Panel(
        "values",
        N_("How are weights distributed?"),
        how_values_are_spread,
        fields=("initialization", "n_layers", "seed"),
    ),
    Panel("ledger", N_("Where does each tensor go?"), where_tensors_went),
    Panel("conversion-faults", N_("Is the conversion correct?"), what_a_fault_does),
    Panel(
        "code",
        N_("The model as code"),
        the_code,
        fields=("norm_placement", "activation", "position_kind", "n_kv_heads", "n_experts"),
    ),
)

show_page(TITLE, body, first_shown=FIRST_COUNTED)
