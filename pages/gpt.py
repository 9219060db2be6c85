"""A GPT, live: the tokens it reads, the one that comes next, and the text it writes."""

import streamlit as st

from blocks.faults import N_
from blocks.kinds import Architecture
from blocks.run import Run
from pages.sections.changes import what_if
from pages.sections.inputs import what_goes_in
from pages.sections.next_token import draw_next, what_comes_next
from pages.sections.parameters import draw_parameters, what_it_is_made_of
from pages.sections.reading import draw_lens, draw_surprise, what_each_layer_says, what_surprises
from pages.sections.writing import (
    Text,
    draw_chances,
    draw_growth,
    draw_reads,
    go_on,
    what_is_remembered,
    what_is_written,
)
from pages.ui import cached, chips, generated, gpt_tables, labelled, next_words, predicted, words
from pages.ui.chart import drawn
from pages.ui.explain import heading
from pages.ui.export import take_away
from pages.ui.frame import close_page, open_page, recorded, section
from pages.ui.language import _
from pages.ui.sampling_controls import current_sampling

TITLE = N_("GPT: the next token")


def main() -> None:
    """The story of the page, from top to bottom."""
    run = open_page(TITLE, Architecture.GPT)
    st.caption(_("It reads tokens, says how likely each other one is to come next, and writes."))
    what_goes_in(run)
    recorded(run)
    st.caption(words.summary(run))
    position, sampling = labelled.pinned_token(run), current_sampling()
    what_is_read(run, position)
    what_comes_next(run, position, sampling)
    what_if(run)
    text, place = what_is_written(run, sampling)
    what_is_remembered(text)
    what_each_layer_says(run, position)
    what_surprises(run, position)
    what_it_is_made_of(run)
    what_to_take(text, position)
    close_page(TITLE)
    go_on(text, place)


@section
def what_is_read(run: Run, position: int) -> None:
    """The text as tokens with their ids."""
    heading(_("The tokens it reads"), ("tokenization",), key="tokens")
    left, right = st.columns([7, 4], gap="large")
    with left:
        chips.show(next_words.chips(run, position), key="token_chips")
        st.caption(next_words.count_sentence(run))
    with right:
        gpt_tables.tokens_read(run)


def what_to_take(text: Text, position: int) -> None:
    """Tables, pictures and configuration, to keep."""
    st.subheader(_("Take it with you"))
    run, found = text.run, text.writer.tokens[: text.n_tokens]
    tables_to_take = {
        "tokens": gpt_tables.read_tokens(run),
        "next_tokens": gpt_tables.vocabulary(run, position, text.sampling),
        "written": generated.frame(run, found),
        "lens": predicted.lens_table(run),
        "surprise": gpt_tables.read_surprise(run),
        "parameters": cached.parameters(run.config),
    }
    take_away(run.config, tables_to_take, pictures(text, position), words.take_away_caption(run))


def pictures(text: Text, position: int) -> list:
    """All that is drawn, those of new tokens where there are any."""
    run = text.run
    found = [drawn(draw_next, run, position, text.sampling), drawn(draw_lens, run, position)]
    if text.n_tokens:
        found.append(drawn(draw_chances, *text, text.opened))
        found.append(drawn(draw_reads, *text[:3], text.opened))
        found.append(drawn(draw_growth, *text))
    if not predicted.surprise(run).empty:
        found.append(drawn(draw_surprise, run, position))
    return [*found, drawn(draw_parameters, run)]


main()
