"""An encoder–decoder, live: a source is read whole, and a target is written token by token."""

from collections.abc import Callable

import streamlit as st

from blocks.faults import N_
from blocks.kinds import Architecture
from blocks.run import Run
from pages.sections.architectures import draw_flops, three_architectures, what_they_learn_from
from pages.sections.inputs import input_fold
from pages.sections.parameters import draw_parameters, what_it_is_made_of
from pages.sections.seq2seq_alignment import alignment
from pages.sections.seq2seq_attention import three_attentions
from pages.sections.seq2seq_decoding import (
    draw_choices,
    draw_tree,
    how_it_is_written,
    written,
)
from pages.sections.seq2seq_memory import memory
from pages.sections.seq2seq_missing import when_the_source_is_missing
from pages.ui import cached, panel
from pages.ui.chart import drawn
from pages.ui.export import take_away
from pages.ui.frame import close_page, must_fit, open_page, recorded, subtitle
from pages.ui.panel import Panel
from pages.ui.seq2seq import decoding, inputs, words
from pages.ui.seq2seq.architectures import compared, lengths
from pages.ui.seq2seq.decoding import Standing
from pages.ui.words import take_away_caption

TITLE = N_("Encoder and decoder: a translator")


def main() -> None:
    """The source, and the questions."""
    base = open_page(TITLE, Architecture.ENCODER_DECODER)
    source(base)
    must_fit(decoding.longest(base))
    here = written(decoding.current_search(base))
    run = decoding.run_of(here)
    recorded(run)
    subtitle(words.summary(run))
    panel.show(PANELS, run, here, files=what_to_take)
    close_page(TITLE)


def source(run: Run) -> None:
    """The source, and who may see whom, on one line that opens to change them."""
    fold = input_fold(run)
    if not fold.open:
        return
    left, right = fold.columns([6, 4])
    with left:
        inputs.source_controls(run)
    with right:
        inputs.target_mask_controls()
        inputs.link_to_training()


def of_a_run(draw: Callable[[Run], None]) -> Callable[[Run, Standing], None]:
    """A panel about source and target as they stand."""
    return lambda run, here: draw(run)


def two_tokens(run: Run, _here: Standing) -> None:
    """The tokens of source and target that are outlined."""
    inputs.token_choices(run)


def what_it_is_made_of_here(run: Run) -> None:
    """The parameters, and the share of the three attentions."""
    what_it_is_made_of(run)
    st.caption(words.attention_share_note(run.config))


def what_to_take(run: Run, here: Standing) -> None:
    """Tables, pictures and configuration, to keep."""
    tables = {
        "search": decoding.nodes(here),
        "next_tokens": decoding.next_choices(here),
        "flow": cached.whole_flow(run),
        "architectures": compared(run.config, *lengths(run)),
        "parameters": cached.parameters(run.config),
    }
    figures = [
        *([drawn(draw_tree, here)] if here.n else []),
        drawn(draw_choices, here),
        drawn(draw_flops, run),
        drawn(draw_parameters, run),
    ]
    take_away(run.config, tables, figures, take_away_caption(run))


PANELS = (
    Panel("decoding", N_("The target, token by token"), lambda run, here: how_it_is_written(here)),
    Panel("attention", N_("Three kinds of attention"), of_a_run(three_attentions), two_tokens),
    Panel("alignment", N_("Alignment"), of_a_run(alignment), two_tokens),
    Panel("encoder-output", N_("What the encoder hands over"), of_a_run(memory), two_tokens),
    Panel("without-source", N_("Without the source"), when_the_source_is_missing),
    Panel("parameters", N_("Parameters"), of_a_run(what_it_is_made_of_here)),
    Panel("architectures", N_("Three architectures"), of_a_run(three_architectures)),
    Panel("pretraining", N_("What they are trained on"), lambda *_values: what_they_learn_from()),
)

main()
