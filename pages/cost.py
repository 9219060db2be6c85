"""What a model costs: operations, memory, time, training; counted, estimated and measured."""

from collections.abc import Callable

import streamlit as st

from blocks import ModelConfig
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
from pages.ui import link, panel, present
from pages.ui.chart import drawn
from pages.ui.compare import beside, changes
from pages.ui.cost import chosen, counted, frames, tables, words
from pages.ui.cost.controls import shape_controls
from pages.ui.export import take_away
from pages.ui.frame import close_page, open_counting_page
from pages.ui.panel import Panel

TITLE = N_("Cost")


def main() -> None:
    """The model that is counted, how it is used, and the questions."""
    run = open_counting_page(TITLE)
    st.caption(
        beside.said_of_both(lambda each: words.counted_model(each.config), run, changes.between)
    )
    with present.aside():
        shape_controls()
    panel.show(PANELS, run, files=what_to_take)
    close_page(TITLE)


def of_the_config(draw: Callable[[ModelConfig], None]) -> Callable[[Run], None]:
    """A panel that counts: the configuration is all that it needs."""
    return lambda run: draw(run.config)


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep."""
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


PANELS = (
    Panel("flops", N_("FLOPs, by operation"), of_the_config(how_much_is_computed)),
    Panel("crossover", N_("n² against n"), of_the_config(where_attention_overtakes)),
    Panel("memory", N_("Memory"), of_the_config(where_memory_goes)),
    Panel("roofline", N_("Time here"), how_fast_here),
    Panel("sweeps", N_("Sweeps"), how_it_grows),
    Panel("formats", N_("Number formats"), which_format_pays),
    Panel("attention-growth", N_("Ways to attend"), which_attention_pays),
    Panel("training", N_("The cost of training"), of_the_config(what_training_takes)),
)

main()
