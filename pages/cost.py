"""What a model costs: operations, memory, time, training; counted, estimated and measured."""

import streamlit as st

from blocks.faults import N_
from blocks.run import Run
from pages.sections.cost_flops import (
    draw_crossing,
    draw_operations,
    how_much_is_computed,
    where_attention_overtakes,
)
from pages.sections.cost_memory import draw_growth, draw_memory, where_memory_goes
from pages.sections.cost_roofline import how_fast_here
from pages.sections.cost_sweeps import how_it_grows, which_attention_pays, which_format_pays
from pages.sections.cost_training import draw_cost, draw_hours, what_training_takes
from pages.ui import link
from pages.ui.chart import drawn
from pages.ui.compare import beside, changes
from pages.ui.cost import chosen, counted, frames, tables, words
from pages.ui.cost.controls import shape_controls
from pages.ui.explain import contents
from pages.ui.export import take_away
from pages.ui.frame import close_page, open_counting_page
from pages.ui.language import _

TITLE = N_("Cost")
CONTENTS = {
    "operations": N_("FLOPs, by operation"),
    "crossover": N_("When does attention overtake the rest?"),
    "roofline": N_("Time: the estimate, and the measurement beside it"),
    "sweeps": N_("Sweeps: one size doubles"),
    "formats": N_("Number formats"),
    "growth_of_kinds": N_("Ways to attend, as n doubles"),
    "memory": N_("Memory"),
    "fits": N_("Does it fit?"),
    "training_cost": N_("What does training take?"),
}


def main() -> None:
    """The story of the page, from top to bottom."""
    run = open_counting_page(TITLE)
    st.caption(_("What a model costs, before anyone builds it."))
    st.caption(
        beside.said_of_both(lambda each: words.counted_model(each.config), run, changes.between)
    )
    shape_controls()
    contents(CONTENTS)
    how_much_is_computed(run.config)
    where_attention_overtakes(run.config)
    how_fast_here(run)
    how_it_grows(run)
    which_format_pays(run)
    which_attention_pays(run)
    where_memory_goes(run.config)
    what_training_takes(run.config)
    what_to_take(run)
    close_page(TITLE)


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep."""
    st.subheader(_("Take it with you"))
    config, shape, is_training = run.config, chosen.shape(), chosen.is_training()
    setup, to_train = chosen.setup(is_training=is_training), chosen.setup(is_training=True)
    operations = config, chosen.pass_kind(config), shape, to_train
    memory = config, setup, shape, is_training, link.value("device"), link.value("usable_memory")
    training = config, chosen.plan(config), shape.n, to_train
    files = {
        "flops": frames.operation_rows(*operations).drop(columns="said"),
        "memory": frames.memory_rows(*memory[:3], is_training=is_training).drop(columns="said"),
        "fits": tables.fits_frame(counted.fits(*memory[:3], *memory[4:], is_training=is_training)),
        "training": frames.cost_rows(*training)[["label", "flops"]],
    }
    figures = [
        drawn(draw_operations, *operations),
        drawn(draw_crossing, config, shape.n),
        drawn(draw_memory, *memory),
        drawn(draw_growth, *memory),
        drawn(draw_cost, *training),
        drawn(draw_hours, *training),
    ]
    take_away(config, files, figures, words.caption(config, shape))


main()
