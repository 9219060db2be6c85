"""An encoder–decoder, live: a source is read whole, and a target is written token by token."""

import streamlit as st

from blocks.faults import N_
from blocks.kinds import Architecture
from blocks.run import Run
from pages.sections.architectures import draw_flops, three_architectures, what_they_learn_from
from pages.sections.parameters import draw_parameters, what_it_is_made_of
from pages.sections.seq2seq_alignment import alignment
from pages.sections.seq2seq_attention import three_attentions
from pages.sections.seq2seq_decoding import (
    draw_choices,
    draw_tree,
    how_it_is_written,
    what_was_looked_at,
)
from pages.sections.seq2seq_memory import memory
from pages.sections.seq2seq_missing import when_the_source_is_missing
from pages.ui import cached
from pages.ui.chart import drawn
from pages.ui.explain import contents
from pages.ui.export import take_away
from pages.ui.frame import close_page, must_fit, open_page, recorded
from pages.ui.language import _
from pages.ui.seq2seq import decoding, inputs, words
from pages.ui.seq2seq.architectures import compared, lengths
from pages.ui.seq2seq.decoding import Standing
from pages.ui.words import take_away_caption

TITLE = N_("Encoder and decoder: a translator")
CONTENTS = {
    "decoding": N_("The target, token by token"),
    "three_attentions": N_("Three kinds of attention"),
    "alignment": N_("Alignment"),
    "memory": N_("What the encoder hands over"),
    "missing": N_("When the source goes missing"),
    "parameters": N_("Parameters"),
    "architectures": N_("Three architectures"),
    "pretraining": N_("What they are trained on"),
}


def main() -> None:
    """The story of the page, from top to bottom."""
    base = open_page(TITLE, Architecture.ENCODER_DECODER)
    st.caption(_("The encoder reads a source whole; the decoder writes a target token by token."))
    contents(CONTENTS)
    what_is_read(base)
    must_fit(decoding.longest(base))
    here = how_it_is_written(decoding.current_search(base))
    run = decoding.run_of(here)
    recorded(run)
    what_was_looked_at(here)
    inputs.token_choices(run)
    st.caption(words.summary(run))
    three_attentions(run)
    alignment(run)
    memory(run)
    when_the_source_is_missing(run, here)
    what_it_is_made_of(run)
    st.caption(words.attention_share_note(run.config))
    three_architectures(run)
    what_they_learn_from()
    what_to_take(run, here)
    close_page(TITLE)


def what_is_read(run: Run) -> None:
    """The source, and who may see whom."""
    left, right = st.columns([6, 4])
    with left:
        inputs.source_controls(run)
    with right:
        inputs.target_mask_controls()
        inputs.link_to_training()


def what_to_take(run: Run, here: Standing) -> None:
    """Tables, pictures and configuration, to keep."""
    st.subheader(_("Take it with you"))
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


main()
