"""Home: type a sentence, see its way through a model; then three doors."""

import pages.ui.entrance  # noqa: F401

from collections.abc import Iterable
from itertools import chain
from typing import Any

import streamlit as st

from blocks.cost.parameters import total_parameters
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.panels.gallery import gallery
from pages.panels.home import reading
from pages.panels.real_models import real_models
from pages.ui import brought, link, opening, runs, weights
from pages.ui.frame import MENU, PAGE_OF_PART, recorded, section, show_page, shown_run
from pages.ui.language import LANGUAGES, _, current_language, literal, ngettext
from pages.ui.lessons import own, progress, wall
from pages.ui.link_fields.compare import Kept, text_of

TITLE = N_("Watch a Transformer read your sentence")
HOME, BLOCK, ENCODER, GPT = "app.py", "pages/block.py", "pages/encoder.py", "pages/gpt.py"
PARAMETERS, COST = "pages/parameters.py", "pages/cost.py"
TRAINING = "pages/training.py"
COURSE, SHARED_HEADS = {"preset": "course"}, {"preset": "llama-3.1-8b"}
Way = tuple[str, str, dict[str, Any]]
EXPERIMENTS: tuple[Way, ...] = (
    (N_("What comes next? A small GPT tells a story"), GPT, {"panel": "next"}),
    (N_("Why this word? Hide one token at a time"), GPT, {"panel": "leave-one-out"}),
    (N_("Which word is hidden? An encoder guesses"), ENCODER, {"panel": "prediction"}),
    (
        N_("How does a model translate? Watch it align two languages"),
        "pages/seq2seq.py",
        {"panel": "decoding"},
    ),
    (
        N_("Where does a word read from? Step by step"),
        PAGE_OF_PART["attention"],
        {"panel": "steps"},
    ),
    (
        N_("How does a head find what came before? Induction"),
        BLOCK,
        {"preset": "induction", "layer": "1", "token": "26", "panel": "heads"},
    ),
    (N_("Train a model yourself and watch it learn"), TRAINING, {}),
    (
        N_("How small can a model be and still do its job?"),
        "pages/efficiency.py",
        {"preset": "translator", "panel": "frontier"},
    ),
    (
        N_("Why does pre-norm train deeper?"),
        PAGE_OF_PART["norm"],
        {**COURSE, "panel": "theory"},
    ),
    (N_("Can a token peek ahead? Look for a leak"), "pages/masks.py", {"panel": "leaks"}),
    (
        N_("Why must a GPT not peek? Training with and without the mask"),
        "pages/masks.py",
        {"panel": "peeking"},
    ),
    (
        N_("How does word order get into the model?"),
        PAGE_OF_PART["position"],
        {"panel": "kinds"},
    ),
    (
        N_("Mixture of experts: which token goes where?"),
        PAGE_OF_PART["feed_forward"],
        {**COURSE, "n_experts": "8", "n_active_experts": "2", "panel": "experts"},
    ),
    (
        N_("Do more heads cost more parameters?"),
        BLOCK,
        {**COURSE, "n_heads": "16", "panel": "parameters"},
    ),
    (
        N_("Where do GPT-2's 124 million parameters sit? Part by part"),
        PARAMETERS,
        {"preset": "gpt2-small", "panel": "breakdown"},
    ),
    (
        N_("What does it take to train GPT-2?"),
        COST,
        {"preset": "gpt2-small", "panel": "training"},
    ),
    (
        N_("MHA or GQA? Two models side by side"),
        "pages/compare.py",
        {
            **SHARED_HEADS,
            "kept": text_of((Kept("MHA", (*SHARED_HEADS.items(), ("n_kv_heads", "32"))),)),
            "context_len": "32768",
            "panel": "differences",
        },
    ),
)
N_FIRST = 3
ARCHITECTURES: tuple[Way, ...] = (
    (N_("Parameters of GPT-2, Llama, Qwen and more"), PARAMETERS, {"panel": "published"}),
    (N_("Paste a config.json"), PARAMETERS, {"panel": "config-json"}),
    (N_("FLOPs, memory and run time"), COST, {"panel": "flops"}),
    (N_("Two models side by side"), "pages/compare.py", {"panel": "differences"}),
)


def body() -> None:
    """Ten seconds: what this is, and what to do first."""
    run = shown_run(Architecture.GPT)
    if progress.now():
        progress.end()
        st.rerun()
    introduction(run)
    left_lesson()
    recorded(run)
    front_page()


def introduction(run: Run) -> None:
    """What runs here, and the other language."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(what_runs(run), width="stretch")
        with st.popover(
            _("Real models"), icon=":material/public:", key=f"real_models_{link.value('preset')}"
        ):  # closed once one runs
            real_models()
        if not progress.left():
            with st.popover(_("Take a lesson"), icon=":material/school:", key="to_lessons"):
                lessons(progress.names())
        for lang, name in LANGUAGES.items():
            if lang != current_language():
                st.button(name, type="tertiary", on_click=link.change, args=("lang", lang))


def what_runs(run: Run) -> str:
    """Whose model it is, and how large; what it lacks is said right below."""
    if run.weights and weights.tells_stories():
        text = _(
            "A pocket model of {parameters:,} parameters runs here. It knows children's stories in "
            "English and Chinese and little else; “Real models” leads to models that know more."
        )
        return text.format(parameters=total_parameters(run.config))
    sizes = ngettext(
        "{n} layer and {parameters:,} parameters",
        "{n} layers and {parameters:,} parameters",
        run.config.n_layers,
    ).format(n=run.config.n_layers, parameters=total_parameters(run.config))
    return _whose(run).format(model=_name(), sizes=sizes)


def _name() -> str:
    """What people call the model, or what its file is called."""
    found = opening.known(link.value("preset"))
    return found.title if found else literal(_(weights.started_from().title))


def _whose(run: Run) -> str:
    """The sentence about a model that ships with us, was trained or opened here, or is random."""
    start = weights.started_from()
    if weights.is_another_model(Architecture.GPT) or weights.lost_to(Architecture.GPT):
        return _("A GPT of the size of {model} runs here as you type: {sizes}.")
    if not run.weights:
        return _("A GPT with random weights runs here as you type: {sizes}.")
    if brought.is_name(start.weights):
        return _("{model}, opened with its own weights, runs here as you type: {sizes}.")
    if start.weights.startswith(runs.PREFIX):
        return _("The model that you have trained runs here as you type: {sizes}.")
    return _("{model} runs here as you type: {sizes}.")


def left_lesson() -> None:
    """The way back into a lesson that was left, and to the others."""
    if not (found := progress.left()):
        return
    now, query = found
    text = _("{title} · step {n} of {all}")
    label = text.format(title=now.lesson.title, n=now.i + 1, all=len(now.lesson.steps))
    path = progress.page_file(now.step.page)
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="left_lesson"):
        st.markdown(_("You left a lesson. Your guesses and settings are saved:"), width="content")
        st.page_link(path, label=label, icon=":material/school:", query_params=query)
        with st.popover(_("All lessons"), type="tertiary", key="all_lessons"):
            lessons(progress.names())


@section
def front_page() -> None:
    """The sentence and the doors, which lead on with what is typed."""
    reading()
    gallery()
    doors = st.columns(3, gap="small")
    with doors[0], door(_("Take a lesson"), key="start"):
        names = progress.names()
        lessons(names[:N_FIRST])
        with st.container(horizontal=True, gap="small"):
            if more := names[N_FIRST:]:
                with st.popover(_("More lessons"), type="tertiary", key="lessons"):
                    lessons(more)
            with st.popover(_("Join a class"), type="tertiary", key="join_class"):
                wall.way_to_join()
            with st.popover(_("Bring your own lesson"), type="tertiary", key="bring_lesson"):
                own.way_to_bring()
    with doors[1], door(_("Look around"), key="look_around"):
        all_pages()
        with st.popover(_("Start with a question"), type="tertiary", key="questions"):
            questions(EXPERIMENTS)
    with doors[2], door(_("Evaluate an architecture"), key="weigh"):
        questions(ARCHITECTURES)


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


def questions(ways: Iterable[Way]) -> None:
    """Each leads to the panel that answers it."""
    state = link.as_query()
    for question, page, values in ways:
        names = ("lang",) if "preset" in values or page == TRAINING else ("lang", "text")
        kept = {name: state[name] for name in names if name in state}
        st.page_link(page, label=_(question), query_params={**kept, **values})


def all_pages() -> None:
    """All pages, in running text."""
    with st.container(horizontal=True, gap="small"):
        for path, label, icon in chain(*MENU):
            if path != HOME:
                query = link.elsewhere(path)
                st.page_link(path, label=_(label), icon=icon, query_params=query)


show_page(TITLE, body, Architecture.GPT, is_calm=True)
