"""The model writes on: each new token, and what the heads read to make it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from blocks import ConfigError
from blocks.inspection.new_tokens import MOST_DRAWN, NewTokens
from blocks.model.faults import N_
from blocks.observe.interventions import lasting
from blocks.observe.run import Run
from blocks.text.bpe import END
from blocks.text.generation import Generation, context_start
from pages.figures.counting import from_one
from pages.page.declared import Panel
from pages.page.frame import refuse
from pages.panels.gpt import shared, writing_picture
from pages.panels.gpt.growing import Text, Writer, is_as_masked, new_tokens, text_so_far, writer_of
from pages.server.settings import MAX_NEW_TOKENS
from pages.show.chart import columns, show
from pages.show.controls import enter
from pages.show.explain import explained, note
from pages.show.fold import fold
from pages.show.inputs import written
from pages.show.mixers import attend_somewhere
from pages.show.parts import File, Matrix
from pages.show.views import sinks_switch
from pages.stage import link, present, tokens
from pages.state.fields import CHAT, TEXT
from pages.state.values import State
from pages.words import chips, terms
from pages.words.chips import Chip
from pages.words.language import _, current_language, fill, ngettext, say_fault, sentences
from pages.words.numbers import percent

AT_A_PRESS, AN_ANSWER = 20, 128
ONE_TOKEN = N_("Generate one token")
AT_ONCE, A_MOMENT = 0.3, 0.1  # seconds


def says_mask(run: Run) -> str:
    """Text grows causally whatever the mask of the run; empty where that is the same."""
    if len(lasting(run.interventions)) < len(run.interventions):
        return _(
            "Ablated parts stay ablated when new tokens are generated; other changes do "
            "not carry over to them."
        )
    if is_as_masked(run):
        return ""
    return _(
        "The mask is set to {mask}, but generation is autoregressive: later tokens do not "
        "exist yet, so a causal mask applies."
    ).format(mask=terms.option(run.mask.mask_kind))


def says_token(facts: NewTokens) -> str:
    """With what chance the opened token was drawn, and who looked where to make it."""
    text = _(
        "New token {opened:from_one}, {label:token}, was sampled with probability "
        "{token.probability:percent} (the model's own probability: "
        "{token.model_probability:percent})."
    )
    said = fill(text, facts, label=facts.labels[facts.opened])
    return sentences(said, _end(facts), _context(facts), _sharpest(facts))


def _end(facts: NewTokens) -> str:
    """Where a trained model has come to the end of a text, and yet goes on."""
    written = facts.labels[: facts.opened + 1]
    if facts.is_ended:
        return _("This is an end token of the model, so nothing follows it.")
    if not facts.run.weights or END not in written:
        return ""
    text = _(
        "New token {number:from_one} is {end:token}, the end-of-text token; what follows is a new "
        "text."
    )
    return fill(text, number=written.index(END), end=END)


def _context(facts: NewTokens) -> str:
    """From where its context begins."""
    text = ngettext(
        "The context is full (max_seq_len {run.config.max_seq_len}): it has been shifted, and the "
        "first {token.context_start} token of the text is no longer visible.",
        "The context is full (max_seq_len {run.config.max_seq_len}): it has been shifted, and the "
        "first {token.context_start} tokens of the text are no longer visible.",
        facts.token.context_start,
    )
    return fill(text, facts) if facts.token.context_start else ""


def _sharpest(facts: NewTokens) -> str:
    """Which head put most on one token."""
    found = facts.sharpest
    if found is None:
        return _(
            "There are no attention weights, because the layers keep a state instead of "
            "attending to earlier tokens."
        )
    text = _(
        "The sharpest attention is in layer {layer:from_one}, head {head:from_one}: {weight:.0%} "
        "of its weight is on {token:token} (position {position:from_one})."
    )
    if found.beyond_sinks:
        text = _(
            "Apart from sinks, the sharpest attention is in layer {layer:from_one}, head "
            "{head:from_one}: {weight:.0%} of its weight is on {token:token} (position "
            "{position:from_one})."
        )
    place = {"token": facts.keys[found.key], "position": facts.first_key + found.key}
    chance = _("The weights are random, so every head attends almost uniformly.")
    return sentences(fill(text, found, **place), "" if facts.run.weights else chance)


def what_is_written(run: Run, state: State) -> Callable[[], None]:
    """The text so far; what takes long goes on once the page stands."""
    put_to_it(run, state)
    sampling = shared.current_sampling(state)
    writer = writer_of(run, sampling, state.sampling_seed)
    said_at = explained(("sampling", "kv_cache"), (Generation.advance, context_start), key="writes")
    writing_controls(writer, state)
    if fault := tokens.prompt_fault():
        st.warning(say_fault(fault), icon=":material/block:")
    if said := says_mask(run):
        note(said)
    write(writer, AT_ONCE, state)
    text = text_so_far(run, sampling, state)
    with st.container(key="text_so_far"):
        place = st.empty()
    show_text(text, place, state)
    said = press(_(ONE_TOKEN))
    if text.n_tokens:
        facts = new_tokens(*text, opened_token(text, state), state.sinks_apart)
        said = says_token(facts)
        one_token(text, facts, state)
    how_it_is_drawn(state)
    said_at.info(said, icon=":material/lightbulb:")
    return partial(go_on, text, place)


def put_to_it(run: Run, state: State) -> None:
    """Of a model that can be asked, the text or question itself, with the two ways to put it."""
    if CHAT not in tokens.prompts():
        return
    is_asked = tokens.prompt() == CHAT
    with st.container(horizontal=True, vertical_alignment="bottom", key="put_to_it"):
        st.text_input(
            _("Question to the model") if is_asked else _("Text to continue, or a question"),
            **written(run, link.view("text", state.text, "put_to_it")),
        )
        for way, label, icon in (
            (CHAT, _("Ask it"), ":material/chat:"),
            (TEXT, _("Continue"), ":material/east:"),
        ):
            st.button(
                label,
                icon=icon,
                key=f"put_as_{way}",
                type="primary" if (way == CHAT) == is_asked else "secondary",
                on_click=_put,
                args=(way, AN_ANSWER if way == CHAT else AT_A_PRESS),
            )


def _put(way: str, n_tokens: int) -> None:
    link.change("prompt", way)
    link.change("n_new_tokens", n_tokens)


def writing_controls(writer: Writer, state: State) -> None:
    """Step, play, stop, start again, and how many tokens."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="writing"):
        ended = writer.is_ended
        _to("step", _(ONE_TOKEN), ":material/skip_next:", 1, "secondary", state, is_ended=ended)
        more_tokens("play", state, is_ended=ended)
        st.button(_("Stop"), icon=":material/stop:", key="stop", on_click=_stop, args=(writer,))
        st.button(
            _("Start again"),
            icon=":material/restart_alt:",
            key="start_again",
            on_click=link.change,
            args=("n_new_tokens", 0),
        )
        with present.aside():
            enter("n_new_tokens", _("New tokens"), width=130)


def how_it_is_drawn(state: State) -> None:
    """With which settings tokens are drawn, on one line that opens to change them."""
    text = _("Sampling: temperature {temperature:g}, top_k {top_k}, top_p {top_p:g}, seed {seed}")
    names = ("temperature", "top_k", "top_p")
    values = {name: state[name] for name in names}
    label = sentences(text.format(**values, seed=state.sampling_seed), _whose(names))
    opened = fold(label, key="how_it_is_drawn", icon=":material/tune:")
    if not opened.open:
        return
    with opened:
        controls = (shared.temperature, shared.top_k, shared.top_p)
        *columns, last = st.columns(4)
        for column, draw in zip(columns, controls, strict=True):
            with column:
                draw("_writing")
        with last:
            enter("sampling_seed", _("Sampling seed"))


def _whose(names: tuple[str, ...]) -> str:
    """Who says how tokens of a published model are drawn, where the reader has not."""
    said = tokens.chat()
    if said is None or not link.state().keys().isdisjoint(names):
        return ""
    if said.is_told:
        return _("(as the model's files specify)")
    return _("(a cautious default, since the model's files specify nothing)")


def press(button: str) -> str:
    return _("There is no new token yet. Press “{button}”.").format(button=button)


def several_tokens() -> str:
    return _("Generate {n} tokens").format(n=AT_A_PRESS)


def more_tokens(key: str, state: State, *, is_ended: bool = False) -> None:
    icon = ":material/play_arrow:"
    _to(key, several_tokens(), icon, AT_A_PRESS, "primary", state, is_ended=is_ended)


def _to(
    key: str, label: str, icon: str, more: int, type: Any, state: State, *, is_ended: bool
) -> None:
    n = state.n_new_tokens
    st.button(
        label,
        icon=icon,
        key=key,
        type=type,
        disabled=n >= MAX_NEW_TOKENS or is_ended,
        on_click=link.change,
        args=("n_new_tokens", min(n + more, MAX_NEW_TOKENS)),
    )


def _stop(writer: Writer) -> None:
    link.change("n_new_tokens", min(link.value("n_new_tokens"), len(writer.tokens)))


def write(writer: Writer, seconds: float, state: State) -> None:
    """Write for a moment; where the device cannot, say so and end the page."""
    try:
        writer.write(state.n_new_tokens, seconds=seconds)
    except ConfigError as error:
        faults = error.faults
    else:
        return
    refuse(faults)


def go_on(text: Text, place: Any = None) -> None:
    """Write what is still to be written, in sight of the reader; any touch interrupts it.

    `place`: where the text stands, if it does.
    """
    wanted = link.value("n_new_tokens")
    if text.n_tokens >= wanted or text.writer.is_ended:
        return
    while text.n_tokens < wanted and not text.writer.is_ended:
        write(text.writer, A_MOMENT, link.now())
        text = text._replace(n_tokens=min(wanted, len(text.writer.tokens)))
        if place:
            show_text(text, place, link.now())
    st.rerun()


def show_text(text: Text, place: Any, state: State) -> None:
    """What was read, and each new token with the chance it was drawn with."""
    opened = opened_token(text, state)
    facts = new_tokens(*text, opened)
    labels, token_ids = text.run.input.tokens or (), text.run.input.token_ids[-chips.FEW :]
    read = zip(labels[-chips.FEW :], tokens.roles(text.run, token_ids), strict=True)
    of_new = tokens.roles(text.run, [token.token_id for token in facts.found], "written")
    new = enumerate(zip(facts.labels, facts.found, of_new, strict=True))
    found = [Chip(label, "", role) for label, role in read] + [
        Chip(label, percent(token.probability), "pinned" if i == opened else role)
        for i, (label, token, role) in new
    ]
    roles = ("read", "written", "pinned")
    is_special = any(chip.role == chips.SPECIAL for chip in found)
    with place.container(border=True):
        if text.n_tokens and tokens.prompt() == CHAT:
            st.chat_message("assistant").text(_answer(facts))
        st.markdown(chips.as_markdown(found))
        legend = chips.legend((*roles, chips.SPECIAL) if is_special else roles)
        st.caption(sentences(legend, _says_end(len(labels)), _says_begun(text)))


def _says_end(n_read: int) -> str:
    """That of a long text the end alone is shown; empty of any other."""
    if n_read <= chips.FEW:
        return ""
    text = _("Of the {n:,} tokens read, the last {shown} are shown.")
    return text.format(n=n_read, shown=chips.FEW)


def _answer(facts: NewTokens) -> str:
    reader = tokens.tokenizer_of(facts.run.input.vocabulary)
    return tokens.text_of(reader, [token.token_id for token in facts.found]).strip()


def _says_begun(text: Text) -> str:
    """Why there are new tokens before anyone asked for one."""
    if not text.n_tokens or "n_new_tokens" in link.state():
        return ""
    return _("The first new tokens have already been generated; “{again}” removes them.").format(
        again=_("Start again")
    )


def opened_token(text: Text, state: State) -> int:
    """The new token that is opened, from 0: the reader's, or else the newest."""
    chosen = state.new_token
    return (chosen if 0 < chosen <= text.n_tokens else text.n_tokens) - 1


def one_token(text: Text, facts: NewTokens, state: State) -> None:
    """How probable each new token was, and what was read to make the one that is opened."""
    values, draw = (*text, facts.opened, state.sinks_apart), writing_picture.chances
    sinks_switch(text.run, "writing")
    left, right = columns(2)
    with left:
        show(draw, *values, facts=new_tokens, key="chances", on_click=open_token, room=270)
    if attend_somewhere(text.run.config):
        with right:
            show(writing_picture.reads, *values, facts=new_tokens, key="reads", room=270)
            if facts.before_window:
                note(says_window(facts))
    with present.aside():
        new_token_choice(facts.labels, state)


def says_window(facts: NewTokens) -> str:
    """Of a long text, which of the tokens read are drawn, and what the heads put on the others."""
    text = _(
        "The last {shown} of the {n:,} tokens that the heads read are shown. The {before_window:,} "
        "before them receive {share:.0%} of all attention, and the first token alone "
        "{first:.0%}."
    )
    shares = (facts.put_on_first(n) for n in (facts.before_window, 1))
    counted = dict(zip(("share", "first"), shares, strict=True))
    return fill(text, facts, shown=MOST_DRAWN, n=len(facts.keys), **counted)


def new_token_choice(labels: tuple[str, ...], state: State) -> None:
    """Which new token is opened: by name here, or by a click on its bar."""
    chosen = min(state.new_token, len(labels))
    with st.container(key="new_token"):
        st.selectbox(
            _("New token to inspect"),
            range(len(labels) + 1),
            format_func=lambda i: f"{i} · {labels[i - 1]}" if i else _("the newest"),
            **link.view("new_token", chosen, (labels, current_language())),
        )


def open_token(customdata: list[Any]) -> None:
    link.change("new_token", from_one(customdata[0]))


def as_written(run: Run, state: State) -> tuple[Any, ...]:
    """The text as far as it has come, the token that is opened, and whether sinks are apart."""
    text = text_so_far(run, shared.current_sampling(state), state)
    return *text, opened_token(text, state), state.sinks_apart


PANEL = Panel(
    "writing",
    N_("How does it write?"),
    what_is_written,
    of_predictions=True,
    fields=("n_layers", "d_model", "n_heads"),
    at=as_written,
    facts=new_tokens,
    shows=(
        File(lambda facts: facts.table(), "written"),
        Matrix(writing_picture.chances, "chances"),
        Matrix(writing_picture.reads, "reads"),
    ),
)
