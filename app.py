"""Home: type a sentence, see its way through a model; then three doors."""

import pages.page.entrance  # noqa: F401

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import streamlit as st

from blocks.cost.parameters import total_parameters
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.lessons import joining, own
from pages.page import opening
from pages.page.frame import MENU, recorded, section, show_page, shown_run
from pages.panels import course_map
from pages.panels.gallery import gallery
from pages.panels.home import reading
from pages.panels.questions import ARCHITECTURES, EXPERIMENTS, questions
from pages.panels.real_models import real_models
from pages.panels.she_or_he import she_or_he
from pages.server import brought, runs
from pages.stage import link, present, progress, weights
from pages.state.values import State
from pages.words import glossary
from pages.words.language import LANGUAGES, _, current_language, literal, ngettext

TITLE = N_("Watch a Transformer read your sentence")
HOME = "app.py"
N_FIRST, N_ASKED = 3, 9


def body() -> None:
    """Ten seconds: what this is, and what to do first."""
    if not progress.now():
        joining.on_home()
    run = shown_run(Architecture.GPT)
    if progress.now():
        progress.end()
        st.rerun()
    if not present.is_on():
        introduction(run)
        left_lesson()
    recorded(run)
    front_page()


def introduction(run: Run) -> None:
    """What runs here, the way into a lesson or a class, and the other language."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(what_runs(run), width="stretch")
        with st.popover(
            _("Real models"), icon=":material/public:", key=f"real_models_{link.value('preset')}"
        ):  # closed once one runs
            real_models(link.now())
        with st.popover(_("Take a lesson"), icon=":material/school:", key="to_lessons"):
            joining.by_code()
            lessons(progress.names())
        for lang, name in LANGUAGES.items():
            if lang != current_language():
                st.button(name, type="tertiary", on_click=link.change, args=("lang", lang))


def what_runs(run: Run) -> str:
    """Whose model it is, and how large; what it lacks is said right below."""
    if run.weights and weights.tells_stories():
        return _(
            "A pocket-sized model with {parameters:,} parameters runs here. It knows "
            "children's stories in English and Chinese and little else; “Real models” offers "
            "models that know more."
        ).format(parameters=total_parameters(run.config))
    sizes = ngettext(
        "{n} layer and {parameters:,} parameters",
        "{n} layers and {parameters:,} parameters",
        run.config.n_layers,
    ).format(n=run.config.n_layers, parameters=total_parameters(run.config))
    return _whose(run).format(model=literal(opening.title(link.value("preset"))), sizes=sizes)


def _whose(run: Run) -> str:
    """The sentence about a model that ships with us, was trained or opened here, or is random."""
    start = weights.started_from()
    if weights.is_another_model(Architecture.GPT) or weights.lost_to(Architecture.GPT):
        return _("A GPT the size of {model} runs here as you type: {sizes}.")
    if not run.weights:
        return _("A GPT with random weights runs here as you type: {sizes}.")
    if brought.is_name(start.weights):
        return _("{model}, opened with its own weights, runs here as you type: {sizes}.")
    if start.weights.startswith(runs.PREFIX):
        return _("The model that you have trained runs here as you type: {sizes}.")
    return _("{model} runs here as you type: {sizes}.")


def left_lesson() -> None:
    """The way back into a lesson that was left."""
    if not (found := progress.left()):
        return
    now, query = found
    text = _("{title} · step {n} of {all}")
    label = text.format(title=now.lesson.title, n=now.i + 1, all=len(now.lesson.steps))
    path = progress.page_file(now.step.page)
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="left_lesson"):
        st.markdown(
            _("You have an unfinished lesson. Your guesses and settings are saved:"),
            width="content",
        )
        st.page_link(path, label=label, icon=":material/school:", query_params=query)


@section
def front_page(state: State) -> None:
    """The sentence and the doors, which lead on with what is typed."""
    reading(state)
    if present.is_on():
        return
    she_or_he(state)
    course_map.offer()
    doors()
    gallery()


def doors() -> None:
    """A question, a lesson, or a page: what most people look for stands first."""
    left, middle, right = st.columns((4, 3, 3), gap="small")
    with left, door(_("Start with a question"), key="ask"):
        questions(EXPERIMENTS[:N_ASKED])
        with st.popover(_("More questions"), type="tertiary", key="questions"):
            questions(EXPERIMENTS[N_ASKED:])
    with middle:
        with door(_("Take a lesson"), key="start"):
            some_lessons(progress.names())
        with door(_("Evaluate an architecture"), key="weigh"):
            questions(ARCHITECTURES)
    with right, door(_("Look around"), key="look_around"):
        all_pages()
        glossary.offer_all(key="glossary")


def some_lessons(names: Sequence[str]) -> None:
    """The first ones; the others and a reader's own behind their names."""
    lessons(names[:N_FIRST])
    with st.container(horizontal=True, gap="small"):
        if more := names[N_FIRST:]:
            with st.popover(_("More lessons"), type="tertiary", key="lessons"):
                lessons(more)
        with st.popover(_("Bring your own lesson"), type="tertiary", key="bring_lesson"):
            own.way_to_bring()


def door(title: str, *, key: str) -> Any:
    """A card, as high as those beside it."""
    card = st.container(border=True, height="stretch", gap="xsmall", key=key)
    card.markdown(f"#### {title}")
    return card


def lessons(names: Iterable[str]) -> None:
    """Each leads to its first step, with how long it takes."""
    for found in filter(None, map(progress.lesson, names)):
        path, query = progress.way_in(found)
        label = _("{title} · {n} min").format(title=found.title, n=found.minutes)
        st.page_link(path, label=label, query_params=query, help=found.summary)


def all_pages() -> None:
    """All pages, in running text."""
    with st.container(horizontal=True, gap="small"):
        for path, label, icon in chain(*MENU):
            if path != HOME:
                query = link.elsewhere(path)
                st.page_link(path, label=_(label), icon=icon, query_params=query)


show_page(TITLE, body, Architecture.GPT, is_calm=True)
