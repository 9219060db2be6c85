"""A text that the model has no tokens for: how much of it, and a model here that reads it."""

from collections.abc import Iterator
from functools import lru_cache

import streamlit as st

from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from blocks.text.legibility import Legibility, legibility
from blocks.weights.known import MODELS, language_of
from pages.page import opening
from pages.server import address, brought, starts
from pages.show.inputs import sample_buttons
from pages.stage import link, progress, tokens, weights
from pages.state.values import State
from pages.words.language import _, enumeration, sentences


def note_what_is_not_read(run: Run, state: State) -> None:
    """One line where a model reads bytes or scraps, with the way to one that reads words.

    A lesson says itself what its text shows, and asks for it first.
    """
    if not run.weights or run.weights.startswith(starts.KNOWN) or progress.now():
        return
    text = state.text
    found = _legibility(text, run.input.vocabulary)
    if found.is_good:
        return
    reader = next(readers(text, state), None)
    with st.container(
        horizontal=True, vertical_alignment="center", border=True, key="hardly_legible"
    ):
        others = "" if reader else says_who_reads(text, may_fetch=address.serves_one_person())
        st.markdown(sentences(says_legibility(found), others), width="stretch")
        if reader:
            title, preset = reader
            st.button(
                _("Read it with {model}").format(model=title),
                on_click=_read_with,
                args=(preset, text),
                icon=":material/swap_horiz:",
                key="read_with",
            )
        is_home = address.page_here() == link.HOME_PAGE
        if not (reader or is_home):
            query = link.elsewhere(link.HOME_PAGE)
            st.page_link("app.py", label=_("Real models"), query_params=query)
        if is_home and weights.tells_stories():
            sample_buttons(run)


def says_who_reads(text: str, *, may_fetch: bool) -> str:
    """Which models that people know read a text that none here does, and how they get here."""
    language = language_of(text)
    models = [m for m in MODELS if m.architecture is Architecture.GPT and language in m.languages]
    absent = [model.title for model in models if not opening.here(model)]
    if not absent:
        return _("Blockscope knows of no model that reads it better; try English or Chinese.")
    told = _(
        "{models} can read {language}. Whoever runs this server can add one in a folder named"
        " in `BLOCKSCOPE_FOLDERS`."
    )
    if may_fetch:
        told = _("{models} can read {language}. Fetch one under “Real models” on Home.")
    return told.format(models=enumeration(absent), language=_(language))


def says_legibility(found: Legibility) -> str:
    """How much of a text is read as bytes, or in scraps."""
    if found.is_in_bytes:
        return _(
            "The model's vocabulary lacks {n} of these {all} characters. It reads them in "
            "pieces (bytes), so its results for them mean little."
        ).format(n=found.as_bytes, all=found.characters)
    return _(
        "The model's vocabulary lacks {n} of the {all} words of three letters or more. The "
        "model reads them in fragments of one or two letters, so its results for them mean "
        "little."
    ).format(n=found.in_scraps, all=found.words)


def readers(text: str, state: State) -> Iterator[tuple[str, str]]:
    """The models here whose tokenizers have tokens for a text: title and name, the smallest first.

    One is opened only where those before it do not read the text.
    """
    ours = _(starts.start(link.FIRST_ON_HOME).title), link.FIRST_ON_HOME
    models = sorted(MODELS, key=lambda model: model.n_parameters)
    real = ((m.title, opening.here(m)) for m in models if m.architecture is Architecture.GPT)
    for title, preset in (ours, *real):
        if preset and preset != state.preset and _reads(preset, text):
            yield title, preset


def _reads(preset: str, text: str) -> bool:
    if brought.is_name(preset) and not brought.is_sound(preset):
        return False
    return _legibility(text, starts.start(preset).weights).is_good


@lru_cache(maxsize=64)
def _legibility(text: str, vocabulary: str) -> Legibility:
    """Kept: every rerun asks for it, and a long text takes half a second."""
    return legibility(text, tokens.tokenizer_of(vocabulary))


def _read_with(preset: str, text: str) -> None:
    link.change("preset", preset)
    link.change("text", text)
