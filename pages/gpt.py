"""A GPT, live: the tokens it reads, the one that comes next, and the text it writes."""

import pages.ui.entrance  # noqa: F401

from collections.abc import Callable
from functools import partial

import streamlit as st

from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.gpt import shared
from pages.panels.gpt.next_token import draw_next, what_comes_next
from pages.panels.gpt.reading import draw_lens, draw_surprise, what_each_layer_says, what_surprises
from pages.panels.gpt.shared import current_sampling
from pages.panels.gpt.writing import (
    Text,
    draw_chances,
    draw_growth,
    draw_reads,
    go_on,
    text_so_far,
    what_is_remembered,
    what_is_written,
)
from pages.panels.inputs import what_goes_in
from pages.panels.interventions import ablation
from pages.panels.parameter_table import draw_parameters, what_it_is_made_of
from pages.ui import cached, chips, labelled, panel, words
from pages.ui.chart import drawn
from pages.ui.explain import explained
from pages.ui.export import take_away
from pages.ui.frame import close_page, open_page, recorded, section, subtitle
from pages.ui.panel import Panel

TITLE = N_("GPT: the next token")


def main() -> None:
    """What goes in, and the questions."""
    run = open_page(TITLE, Architecture.GPT, PANELS)
    what_goes_in(run)
    recorded(run)
    subtitle(words.summary(run))
    panel.show(PANELS, run, files=what_to_take)
    close_page(TITLE)


def at_a_position(draw: Callable[[Run, int], None]) -> Callable[[Run], None]:
    """A panel about the token that is pinned."""
    return lambda run: draw(run, labelled.pinned_token(run))


def what_is_next(run: Run) -> None:
    """What comes after the pinned token."""
    what_comes_next(run, labelled.pinned_token(run), current_sampling())


def what_it_writes(run: Run) -> Callable[[], None]:
    """The text as it grows; what takes long goes on once the page stands."""
    text, place = what_is_written(run, current_sampling())
    return partial(go_on, text, place)


def what_it_keeps(run: Run) -> None:
    """The cache that the text took so far."""
    what_is_remembered(text_so_far(run, current_sampling()))


@section
def what_is_read(run: Run, position: int) -> None:
    """The text as tokens with their ids."""
    place = explained(("tokenization",), key="tokens")
    place.info(shared.count_sentence(run), icon=":material/lightbulb:")
    left, right = st.columns([7, 4], gap="large")
    with left:
        chips.show(shared.chips(run, position), key="token_chips")
    with right:
        shared.tokens_read(run)


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep."""
    text, position = text_so_far(run, current_sampling()), labelled.pinned_token(run)
    found = text.writer.tokens[: text.n_tokens]
    tables_to_take = {
        "tokens": shared.read_tokens(run),
        "next_tokens": shared.vocabulary(run, position, text.sampling),
        "written": shared.frame(run, found),
        "lens": shared.lens_table(run),
        "surprise": shared.read_surprise(run),
        "parameters": cached.parameters(run.config),
    }
    take_away(run.config, tables_to_take, pictures(text, position), words.take_away_caption(run))


def pictures(text: Text, position: int) -> list[Picture]:
    """All that is drawn, those of new tokens where there are any."""
    run = text.run
    found = [drawn(draw_next, run, position, text.sampling), drawn(draw_lens, run, position)]
    if text.n_tokens:
        found.append(drawn(draw_chances, *text, text.opened))
        found.append(drawn(draw_reads, *text[:3], text.opened))
        found.append(drawn(draw_growth, *text))
    if not shared.surprise(run).empty:
        found.append(drawn(draw_surprise, run, position))
    return [*found, drawn(draw_parameters, run)]


PANELS = (
    Panel("next", N_("What comes next?"), what_is_next, fields=("n_layers", "d_model", "n_heads")),
    Panel(
        "writing",
        N_("How does it write?"),
        what_it_writes,
        fields=("n_layers", "d_model", "n_heads"),
    ),
    Panel(
        "tokens",
        N_("What does it read?"),
        at_a_position(what_is_read),
        fields=("n_layers", "d_model"),
    ),
    Panel(
        "kv-cache",
        N_("KV cache"),
        what_it_keeps,
        fields=("n_layers", "n_heads", "n_kv_heads", "d_head", "dtype"),
    ),
    Panel(
        "logit-lens",
        N_("Logit lens"),
        at_a_position(what_each_layer_says),
        fields=("n_layers", "norm_placement", "tie_embeddings"),
    ),
    Panel(
        "surprise",
        N_("What surprises it?"),
        at_a_position(what_surprises),
        fields=("n_layers", "d_model", "n_heads"),
    ),
    ablation("n_layers", "n_heads", "residual"),
    Panel(
        "parameters",
        N_("Parameters"),
        what_it_is_made_of,
        fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "tie_embeddings"),
    ),
)

main()
