"""What a model costs: operations, memory, time, training; counted, estimated and measured."""

import pages.page.entrance  # noqa: F401

from collections.abc import Callable
from functools import partial

import streamlit as st

from blocks import ModelConfig
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.page import panel
from pages.page.frame import FIRST_COUNTED, counted_run, show_page
from pages.page.panel import Panel
from pages.panels.cost import bound, fits, one_user, shape, shared
from pages.panels.cost.fits import fit_facts, fit_rows
from pages.panels.cost.fits_chart import draw_growth
from pages.panels.cost.flops import (
    crossover_facts,
    draw_operations,
    how_much_is_computed,
    operation_rows,
    shown_step,
    step_facts,
    where_attention_overtakes,
)
from pages.panels.cost.flops_picture import crossing
from pages.panels.cost.memory import (
    draw_memory,
    how_it_is_used,
    memory_facts,
    memory_rows,
    shown_use,
    where_memory_goes,
)
from pages.panels.cost.roofline import how_fast_here
from pages.panels.cost.shape_charts import front, people
from pages.panels.cost.shape_said import kinds_table
from pages.panels.cost.shared import shape_controls
from pages.panels.cost.sweeps import how_it_grows, which_attention_pays, which_format_pays
from pages.panels.cost.training import (
    cost_rows,
    draw_cost,
    draw_hours,
    shown_training,
    training_facts,
    what_training_takes,
)
from pages.show import words
from pages.show.chart import drawn
from pages.show.export import take_away
from pages.stage import present
from pages.state.values import State
from pages.words.language import sentences

TITLE = N_("Cost")


def body(state: State) -> None:
    """The model that is counted, how it is used, and the questions."""
    run = counted_run(panel.fields(PANELS))
    with present.aside():
        st.caption(words.counted(partial(what_is_counted, state=state), run))
        shape_controls()
    panel.show(PANELS, run, files=what_to_take)


def what_is_counted(run: Run, state: State) -> str:
    n = shared.shape(state).n
    return sentences(shared.counted_model(run.config), shared.says_length(run.config, n))


def of_the_config(draw: Callable[[ModelConfig], None]) -> Callable[[Run], None]:
    """A panel that counts: the configuration is all that it needs."""
    return lambda run: draw(run.config)


def what_to_take(run: Run, state: State) -> None:
    """Tables, pictures and configuration, to keep."""
    config, through = run.config, shared.shape(state)
    step, use = shown_step(config, state), shown_use(run, state)
    training, wanted = shown_training(config, state), shape.asked(run, state)
    files = {
        "flops": lambda: operation_rows(step_facts(*step)),
        "memory": lambda: memory_rows(memory_facts(*use)),
        "fits": lambda: fit_rows(fit_facts(*use)),
        "shape": lambda: kinds_table(shape.kinds_facts(*wanted)),
        "training": lambda: cost_rows(training_facts(*training)),
    }

    def pictures() -> list[Picture]:
        return [
            drawn(draw_operations, *step, facts=step_facts),
            *(
                [drawn(crossing, config, through.n, facts=crossover_facts)]
                if config.has_attention
                else []
            ),
            drawn(draw_memory, *use, facts=memory_facts),
            drawn(draw_growth, *use, facts=fit_facts),
            drawn(front, *wanted, facts=shape.front_facts),
            drawn(people, *wanted, facts=shape.people_facts),
            drawn(draw_cost, *training, facts=training_facts),
            drawn(draw_hours, *training, facts=training_facts),
        ]

    take_away(config, files, pictures, shared.caption(config, through))


PANELS = (
    Panel(
        "flops",
        N_("How many FLOPs?"),
        of_the_config(how_much_is_computed),
        fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff"),
    ),
    Panel(
        "crossover",
        N_("When does n² dominate?"),
        of_the_config(where_attention_overtakes),
        fields=("n_layers", "d_model", "n_kv_heads", "d_ff"),
    ),
    Panel(
        "memory",
        N_("How much memory?"),
        where_memory_goes,
        how_it_is_used,
        fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff"),
    ),
    fits.PANEL,
    bound.PANEL,
    one_user.PANEL,
    Panel(
        "roofline",
        N_("How fast is it here?"),
        how_fast_here,
        fields=("d_model", "n_heads", "n_kv_heads", "d_ff", "device", "dtype"),
    ),
    Panel(
        "sweeps",
        N_("How does it grow?"),
        how_it_grows,
        fields=("d_model", "n_heads", "n_kv_heads", "d_ff", "device", "dtype"),
    ),
    Panel(
        "formats",
        N_("Which number format?"),
        which_format_pays,
        fields=("d_model", "n_heads", "n_kv_heads", "d_ff", "device"),
    ),
    Panel(
        "attention-growth",
        N_("Which attention scales best?"),
        which_attention_pays,
        fields=("d_model", "n_heads", "d_head", "device"),
    ),
    shape.PANEL,
    Panel(
        "training",
        N_("Cost of training"),
        of_the_config(what_training_takes),
        fields=("n_layers", "d_model", "n_kv_heads", "d_ff", "tie_embeddings"),
    ),
)

show_page(TITLE, body, first_shown=FIRST_COUNTED)
