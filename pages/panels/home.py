"""The front page: one line to type into, its way through the model, and what comes next."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from blocks.inspection.next_token import NextFacts
from blocks.model.kinds import Architecture
from blocks.observe.run import PaddingSide, Run
from blocks.text.next_word import MOST_TOKENS, next_word
from blocks.text.sampling import SamplingConfig
from pages.figures.counting import read_apart
from pages.figures.theme import SPACE
from pages.page.declared import overflowed
from pages.page.frame import link_to_part, must_fit, ran
from pages.panels import contribution_graph as graph
from pages.panels import contribution_graph_picture
from pages.panels.gpt import growing, next_token_picture
from pages.panels.gpt.next_token import next_facts
from pages.panels.gpt.writing import AN_ANSWER
from pages.panels.home_answer import ROOM, what_it_hangs_on
from pages.panels.home_words import in_three_sentences
from pages.panels.legible import note_what_is_not_read
from pages.server import cached
from pages.session.slot import Slot
from pages.show.believed import says_believed
from pages.show.chart import show
from pages.show.explain import explained_at, note
from pages.show.inputs import current_run, length_note, written
from pages.show.mixers import attend, no_attention
from pages.show.views import pin_token
from pages.stage import link, present, tokens
from pages.stage.press import press
from pages.state import labelled
from pages.state.fields import CHAT
from pages.state.values import State
from pages.words import glossary
from pages.words.language import _, explanation, literal, sentences

MOST_LIKELY = SamplingConfig(temperature=0)

AS_IT_IS = SamplingConfig()

ALMOST_ONE = 1.05  # tokens: that few are told as one
PAUSE = "400ms"
REPLACED = Slot[tuple[str, int | None, str]](
    "replaced", ("", None, "")
)  # a text, the token chosen in it, and what came instead


def reading(state: State) -> None:
    """What is typed, its way through all layers, and the words that may follow."""
    run = current_run(Architecture.GPT)
    must_fit(run)
    one_line(run, state)
    if not present.is_on():
        ask_it()
        length_note(run)
        note_what_is_not_read(run, state)
    ran(run)
    if overflowed(run):
        return
    if not present.is_on():
        in_three_sentences(run, next_facts(run, labelled.pinned_token(run, state), AS_IT_IS))
    left, right = st.columns([7, 3], gap="medium")
    with left:
        its_way(run, labelled.pinned_token(run, state), state)
    with right:
        what_follows(run, state)


def one_line(run: Run, state: State) -> None:
    """Where the reader writes, and the model writes on."""
    line, button = st.columns([6, 1], vertical_alignment="bottom")
    with line:
        st.text_input(
            _("Sentence"),
            label_visibility="collapsed",
            placeholder=_("Type a sentence, in any language"),
            live=PAUSE,
            **written(run, link.live_view("text", state.text)),
        )
    with button:
        st.button(
            _("Next word"),
            icon=":material/edit:",
            type="primary",
            width="stretch",
            key="write_on",
            help=_("Appends the model's most likely next word."),
            disabled=_is_full(run),
            on_click=append_word,
            args=(run,),
        )


def ask_it() -> None:
    """The way to the answer of a chat model, where it can be asked."""
    if CHAT not in tokens.prompts():
        return
    query = {"panel": "writing", "prompt": CHAT, "n_new_tokens": str(AN_ANSWER)}
    st.page_link(
        "pages/gpt.py",
        label=_("Ask: let the model answer this text as if it were a question"),
        icon=":material/chat:",
        query_params={**link.elsewhere("pages/gpt.py"), **query},
    )


def _is_full(run: Run) -> bool:
    return len(run.input.token_ids) >= tokens.most_tokens()


def append_word(run: Run, *begun: int) -> None:
    """The likeliest word, or the one that begins with this token, goes to the end of the text."""
    link.change("text", link.value("text") + _next_word(run, begun))
    link.restore("token")


def _next_word(run: Run, begun: tuple[int, ...]) -> str:
    reader = tokens.tokenizer_of(run.input.vocabulary)
    if growing.is_read_off(run, MOST_TOKENS):
        return next_word(growing.ReadOff(run, begun), reader, begun)
    text = growing.generation(run, MOST_LIKELY, 0, begun=begun)
    with cached.turn(run.device):
        return next_word(text, reader, begun)


def its_way(run: Run, token: int, state: State) -> None:
    """Every token at every layer, with the sources of the pinned one lit."""
    if not attend(run.config):
        no_attention(run.config, "home")
        return
    if not graph.fits(run):
        st.warning(graph.says_too_large(run))
        return
    way, draw = (run, token, graph.least_share(state)), contribution_graph_picture.graph
    facts = graph.graph_facts(*way)
    if present.is_on():
        st.markdown(sentences(graph.says_routes(facts), graph.says_wire(facts)))
    show(draw, *way, facts=graph.graph_facts, key="graph", on_click=pin, room=420)
    if present.is_on():
        return
    left, right = st.columns([4, 1])
    with left:
        said = graph.says_window, graph.says_routes, graph.says_click, graph.says_wires
        tested = says_believed(graph.PANEL.instruments)
        note(sentences(*(says(facts) for says in said), tested))
    with right:
        concept = "contribution_graph"
        with st.container(horizontal=True, gap="xsmall", key="graph_explained"):
            with explained_at((concept,), _("Explained"), key="graph"):
                link_to_part("attention", panel="contribution-graph")
            glossary.offer(explanation(concept), key="graph_words")


def pin(customdata: list[Any]) -> None:
    """A click chooses a token; the last one is followed as the text grows."""
    pin_token(customdata)
    if customdata[0] == labelled.last_token(current_run(Architecture.GPT)):
        link.restore("token")


def what_follows(run: Run, state: State) -> None:
    """The likeliest next words, how open the choice is, and what of the text made them."""
    token = labelled.pinned_token(run, state)
    values, is_last = (run, token, AS_IT_IS), token == labelled.last_token(run)
    may_grow = not is_last or not _is_full(run)
    write = partial(write_after, run) if may_grow else None
    show(
        next_token_picture.few,
        *values,
        facts=next_facts,
        key="following",
        on_click=write,
        room=ROOM,
    )
    way_back(state)
    facts = next_facts(*values)
    shown = *read_apart(run.input.labels), *next_token_picture.few_names(facts)
    note(sentences(says_openness(facts, is_last=is_last, may_grow=may_grow), says_space(shown)))
    with present.aside():
        path = "pages/forward_pass.py"
        label = _("Watch one pass, step by step")
        st.page_link(
            path, label=label, icon=":material/animation:", query_params=link.elsewhere(path)
        )
    if attend(run.config):
        what_it_hangs_on(run, token)


def write_after(run: Run, customdata: list[Any]) -> None:
    """A word was clicked: it follows the pinned token, in place of all that did."""
    before = link.now()
    link.change("text", _until(run, labelled.pinned_token(run, before), before))
    append_word(current_run(Architecture.GPT), int(customdata[0]))
    if not link.now().text.startswith(before.text):
        REPLACED.keep((before.text, before.token, link.now().text))


def way_back(state: State) -> None:
    """The text that a click has replaced, as long as nothing else is written."""
    before, token, written_then = REPLACED.get()
    if before and state.text == written_then:
        label = _("Undo: bring back the earlier text")
        press(label, "bring_back", bring_back, before, token, icon="undo")


def bring_back(text: str, token: int | None) -> None:
    """The text and the token chosen in it, as they were before the click."""
    link.change("text", text)
    link.change("token", token)


def _until(run: Run, token: int, state: State) -> str:
    """The text up to the end of a token; all of it up to the last."""
    if token == labelled.last_token(run):
        return str(state.text)
    is_left = run.input.padding_side is PaddingSide.LEFT
    place = token - (run.input.n_padding if is_left else 0)
    pieces = tokens.reading().pieces
    return str(state.text)[: pieces[place].end if 0 <= place < len(pieces) else None]


def says_space(names: Sequence[str]) -> str:
    """What the sign before a name means; nothing where none has it."""
    if not any(name.startswith(SPACE) for name in names):
        return ""
    return _(
        "␣ marks a space that belongs to the token: the same word with and without a space is"
        " two different tokens."
    )


def says_openness(facts: NextFacts, *, is_last: bool, may_grow: bool = True) -> str:
    """How open the choice is, and what a click writes, where one can."""
    text = _("The model is as uncertain as if choosing among {n} equally likely tokens.")
    if facts.n_alike < ALMOST_ONE:
        text = _("The model is almost certain.")
    n = f"{facts.n_alike:.1f}" if facts.n_alike < 10 else f"{facts.n_alike:,.0f}"
    click = _("Click a word to replace everything after {token} with it.")
    if is_last:
        click = _("Click a word to append it; “Next word” appends the first one.")
    writes = click.format(token=literal(facts.after)) if may_grow else ""
    return sentences(text.format(n=n), writes)
