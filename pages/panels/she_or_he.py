"""A story in two clicks: does the model think of a name as she or he, and which head knows?"""

from functools import lru_cache
from typing import Any

import streamlit as st

from blocks.inspection import known_names
from blocks.inspection.known_names import STORIES, Asked, Knower, NameFacts
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from pages.figures.counting import from_one
from pages.panels import she_or_he_picture
from pages.panels.gallery import MODEL as LARGER
from pages.server import brought, cached, starts
from pages.show.chart import show
from pages.show.controls import switch
from pages.show.explain import note
from pages.stage import link, tokens
from pages.state.link_fields.home import LONGEST_NAME
from pages.state.values import State
from pages.words.language import _, current_language, literal, sentences
from pages.words.numbers import percent

MODEL, GPT = "stories-en-zh", "pages/gpt.py"


def run_about(name: str, language: str, device: str) -> Run:
    """The small model that tells stories, at the end of the sentence that names somebody."""
    start, reader = starts.start(MODEL), tokens.tokenizer_of(MODEL)
    ids = tuple(reader.encode(STORIES[language].begins.format(name=name)))
    return Run(
        config=start.config,
        weights=start.weights,
        input=Input(
            tokens=tuple(tokens.label_of(reader, each) for each in ids),
            token_ids=ids,
            vocabulary=MODEL,
        ),
        mask=MaskConfig(mask_kind=start.mask_kind),
        device=device,
    )


@lru_cache(maxsize=64)
def about(name: str, language: str, device: str) -> NameFacts:
    """What follows this name, with every head and without each."""
    run, story, reader = run_about(name, language, device), STORIES[language], starts.model(MODEL)
    ids = ([reader.tokenizer.encode(word)[0] for word in words] for words in (story.she, story.he))
    model, seen = cached.model(run), cached.recording(run)
    with cached.turn(run.device):
        return known_names.name_facts(name, run, model, seen, *ids)


@lru_cache(maxsize=8)
def who_knows(language: str, device: str) -> Knower:
    """The head on which it hangs, over all names of the stories that the model has read."""
    return known_names.knower([about(name, language, device) for name in STORIES[language].names])


@lru_cache(maxsize=64)
def asked(name: str, language: str, device: str, is_off: bool) -> Asked:
    known = who_knows(language, device)
    return Asked(STORIES[language], about(name, language, device), known, is_off)


@lru_cache(maxsize=64)
def bars(name: str, language: str, device: str, is_off: bool) -> tuple[Asked, tuple[str, ...]]:
    """What the bars show, and how it is written at them: as in the sentence beside them."""
    facts = asked(name, language, device, is_off)
    return facts, tuple(map(percent, facts.chances))


@lru_cache(maxsize=8)
def heads(language: str, device: str) -> tuple[Knower, tuple[str, ...], str]:
    """What each head moves, how that is written, and the word that it moves."""
    known = who_knows(language, device)
    shares = tuple(map(percent, known.each.ravel().tolist()))
    return known, shares, STORIES[language].words[0]


def she_or_he(state: State) -> None:
    """Type a name, see she or he, switch off the one head that knows."""
    language, device = current_language(), state.device
    story = STORIES[language]
    name = " ".join(state.friend.split()) or story.first
    is_off = state.without_head
    facts = asked(name, language, device, is_off)
    with st.container(border=True, gap="small", key="she_or_he"):
        st.markdown("#### " + _("She or he? Type a name, then switch off the head that knows"))
        left, right = st.columns(2, gap="medium")
        with left:
            _controls(facts)
        with right:
            st.markdown(says_which(facts))
            at = name, language, device, is_off
            show(she_or_he_picture.two_bars, *at, facts=bars, key="she_or_he_bars")
        left, right = st.columns(2, gap="medium", vertical_alignment="center")
        with left:
            note(says_how(facts))
        with right:
            show(she_or_he_picture.each_head, language, device, facts=heads, key="she_or_he_heads")
        _ways(facts)


def _controls(facts: Asked) -> None:
    """The name, some that the model knows, and the switch."""
    look = link.live_view("friend", facts.facts.name)
    st.text_input(_("The name of a friend"), max_chars=LONGEST_NAME, **look)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption(_("Names in the stories:"), width="content")
        for each in (*facts.story.names[2:5], *facts.story.names[6:9]):
            go: dict[str, Any] = {"on_click": link.change, "args": ("friend", each)}
            st.button(each, key=f"friend_{each}", type="tertiary", **go)
    text = _("Heads per layer: {n}. A head chooses which earlier tokens each token reads from.")
    st.caption(text.format(n=starts.start(MODEL).config.n_heads))
    with st.container(horizontal=True, vertical_alignment="center"):
        label = _("Switch off head {head} of layer {layer}").format(**_place(facts))
        switch("without_head", label)
        if not facts.is_known:
            first = facts.story.first
            label, go = _("Try it with {name}").format(name=first), {"args": ("friend", first)}
            st.button(label, key="known_friend", on_click=link.change, **go)


def _place(facts: Asked) -> dict[str, int]:
    part = facts.knower.part
    return {"head": from_one(part.head or 0), "layer": from_one(part.layer)}


def _that_head(facts: Asked) -> dict[str, str]:
    """In a link to the ablation: the head that can be switched off here."""
    part = facts.knower.part
    return {"change_layer": str(part.layer), "change_head": str(part.head or 0)}


def says_which(facts: Asked) -> str:
    """What the model says after the name, and what it would with the head that is off."""
    she, he = facts.story.words
    text = _(
        "After {text}, the small story model continues with *{she}* ({of_her}) or *{he}* "
        "({of_him})."
    )
    if facts.is_off:
        text = _(
            "Without head {head} of layer {layer}, the small story model continues {text} with "
            "*{she}* ({of_her}) or *{he}* ({of_him}); with it, the shares are {her_before} for "
            "*{she}* and {his_before} for *{he}*."
        )
    said = text.format(
        text=literal(facts.story.begins.format(name=facts.facts.name)),
        she=she,
        he=he,
        of_her=percent(facts.chances.she),
        of_him=percent(facts.chances.he),
        her_before=percent(facts.facts.whole.she),
        his_before=percent(facts.facts.whole.he),
        **_place(facts),
    )
    return said if facts.is_known else sentences(said, _says_unknown(facts))


def _says_unknown(facts: Asked) -> str:
    return _(
        "{name} occurs in none of the stories the model was trained on, so the model cannot "
        "know your friend and only guesses, with or without that head."
    ).format(name=literal(facts.facts.name))


def says_how(facts: Asked) -> str:
    """How it was found which head knows."""
    text = _(
        "To find this head, each of the {heads} heads was switched off in turn, for all "
        "{names} names in the stories. Switching off this one changes the share of *{she}* by"
        " {moves} on average; switching off any other changes it by at most {next}."
    )
    return text.format(
        heads=len(facts.facts.heads),
        names=len(facts.story.names),
        she=facts.story.words[0],
        moves=percent(facts.knower.moves),
        next=percent(facts.knower.next_most),
    )


def _ways(facts: Asked) -> None:
    """To every other part of the model; of a name that it does not know, to a model that may."""
    name = facts.facts.name
    look: dict[str, Any] = {"icon": ":material/arrow_forward:"}
    begun = {"lang": current_language(), "preset": MODEL}
    with st.container(horizontal=True, gap="small"):
        label = _("See what every other part of the model does here")
        query = {**begun, "text": facts.story.begins.format(name=name), "panel": "ablation"}
        query |= {"each_in_turn": "true"} | _that_head(facts)
        st.page_link(GPT, label=label, query_params=query, **look)
        if not facts.is_known and facts.story.larger and brought.is_here(LARGER.file):
            label = _("Ask {model}, which has seen more names").format(model=LARGER.title)
            text = facts.story.larger.format(name=name)
            query = {**begun, "preset": LARGER.file, "text": text, "panel": "next"}
            st.page_link(GPT, label=label, query_params=query, **look)
