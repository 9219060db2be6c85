"""What a model is made of: every parameter, by formula, and counted."""

from blocks.cost.parameters import count_parameters
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels import parameter_table_picture
from pages.ui import labelled, tables, words
from pages.ui.chart import columns, show
from pages.ui.explain import explained
from pages.ui.language import _
from pages.ui.said import say


def what_it_is_made_of(run: Run, *, of_one_block: bool = False) -> None:
    """Every parameter, by formula, and counted; of the whole model, or of one of its blocks."""
    with explained(("parameters",), (count_parameters,), key="parameters"):
        words.parameter_total(run.config.one_block() if of_one_block else run.config)
    left, right = columns([5, 6])
    with left:
        show(draw_parameters, run, of_one_block, key="parameter_bars", alt=words.parameters_alt)
    with right:
        tables.parameters(labelled.parameters(run, of_one_block=of_one_block))
    say(words.parameter_sentence, run)


def draw_parameters(run: Run, of_one_block: bool = False) -> Picture:
    """Where the parameters are."""
    return parameter_table_picture.part_bars(
        labelled.parameters(run, of_one_block=of_one_block), _=_
    )
