"""The target, written step by step: what was chosen, what could have been, what became of it."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from blocks.text.beam import BeamConfig, BeamSearch
from pages.figures import beam_tree
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.language import _
from pages.ui.seq2seq import decoding, decoding_words
from pages.ui.seq2seq.decoding import Search, Standing
from pages.ui.seq2seq.decoding_controls import (
    force,
    go_on_from,
    open_hypothesis,
    search_controls,
    step_controls,
)
from pages.ui.seq2seq.decoding_tables import results
from pages.ui.steps import in_steps


def how_it_is_written(here: Standing) -> None:
    """The target as it stands, what was tried, and what could come next."""
    code = (BeamSearch.advance, BeamConfig.score)
    place = explained(("beam_search",), code, key="decoding")
    step_controls(here)
    with st.container(border=True, key="target_so_far"):
        st.markdown(decoding_words.translation(here))
        st.markdown(decoding_words.target_chips(here), help=decoding_words.legend())
    notes = (decoding_words.sentence(here), decoding_words.against_grammar(here))
    place.info(" ".join(filter(None, notes)), icon=":material/lightbulb:")
    if said := decoding_words.mask_note(here):
        note(said)
    what_was_looked_at(here)


def written(search: Search) -> Standing:
    """Write the target, in sight of the reader where it takes long; what stands then."""
    write(search)
    return decoding.standing(search)


def write(search: Search) -> None:
    """As many tokens as the search needs."""
    steps = [_step(search, step) for step in range(1, search.n_steps + 1)]
    in_steps(steps, what=search, key="writing")


def _step(search: Search, step: int) -> Callable[[], None]:
    return lambda: decoding.writer(search).advance_to(step)


def what_was_looked_at(here: Standing) -> None:
    """The tree of the search, and what could come next where the reader stands."""
    left, right = columns([7, 5])
    with left:
        if here.n:
            show(
                draw_tree,
                here,
                key="beam_tree",
                alt=decoding_words.tree_alt,
                on_click=partial(open_hypothesis, here),
            )
            go_on_from(here)
            note(decoding_words.tree_sentence(here))
            results(here)
            if said := decoding_words.window_note(here):
                note(said)
    with right:
        show(
            draw_choices,
            here,
            key="next_choices",
            alt=decoding_words.choices_alt,
            on_click=partial(force, here),
        )
        note(decoding_words.choices_sentence(here))
        search_controls(here.search)


def draw_tree(here: Standing):
    """All hypotheses, and the path to the result."""
    result = set(decoding.path(decoding.result(here)))
    return beam_tree.tree(decoding.shown_nodes(here), result=result, chosen=here.place, _=_)


def draw_choices(here: Standing):
    """The likeliest next tokens, and the one that was taken."""
    after = decoding.run_of(here).target.labels[-1]
    taken = decoding.written_next(here)
    return beam_tree.choices(decoding.next_choices(here), after=after, taken=taken, _=_)
