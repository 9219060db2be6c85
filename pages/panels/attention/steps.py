"""The filmstrip of one head: from queries and keys to what is written."""

import re
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import streamlit as st

from blocks.inspection import head_steps, source
from blocks.inspection.head_facts import HeadFacts, steps_taken
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.page.frame import section
from pages.panels.attention import arithmetic, matrices, shared, step_picture, strip_picture
from pages.panels.attention.arithmetic import number
from pages.panels.attention.walk import cell_choice, step_choice, step_keys, walked
from pages.server.brought import whose_weights
from pages.show import share
from pages.show.chart import show
from pages.show.explain import explained, note
from pages.show.parts import Matrix
from pages.show.said import say
from pages.show.views import sinks_switch
from pages.stage import link, present, progress
from pages.stage.phone import is_phone
from pages.state import labelled
from pages.state.values import State
from pages.words.language import _, bracketed, enumeration, fill, literal, ngettext, sentences
from pages.words.numbers import percent

Cell = tuple[str, int, int]  # step, key, feature
PART = re.compile(r" \d/\d$")  # of a token that is one byte of a sign


def chosen_cell(run: Run, state: State) -> Cell:
    """The step that is shown large, and the key and feature in it that are written out.

    Unless the reader says otherwise: the key that the pinned token reads most.
    """
    step, key, taken = state.attention_step, state.key, steps_taken(run.config)
    if step not in taken:
        step = taken[0] if step == "project" else "scaled"
    if key is None:
        key = shared.head_facts(run, *labelled.selection(run, state)).most_read()[0][0]
    return step, min(key, len(run.input.labels) - 1), state.feature


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    return (*shared.at(run, state), state.sinks_apart, *chosen_cell(run, state))


def says_reads(facts: HeadFacts) -> str:
    """Where the pinned token reads from in this head, and whose weights these are."""
    head, token = shared.called(facts), shared.token(facts.run, facts.query)
    if facts.is_blind:
        text = _("In {head}, {token} cannot attend to any key: its row is all zeros.")
        return text.format(head=head, token=token)
    read = enumeration(
        bracketed(shared.token(facts.run, key), percent(weight))
        for key, weight in facts.most_read()
    )
    text = _("In {head}, {token} (position {query:from_one}) attends mostly to {read}. {source}")
    source = whose_weights(facts.run.weights)
    if not facts.run.weights:
        source = _("The weights are random (seed {seed}): no role has been learned.")
    source = source.format(seed=facts.run.seed)
    return fill(text, facts, head=head, token=token, read=read, source=source)


STEP_SENTENCES = {
    "project": N_(
        "Attention reads a vector x of {run.config.d_model} numbers for every token; multiplied "
        "by W_Q, it becomes a query of {d_head} numbers. W_K and W_V produce keys and values in "
        "the same way."
    ),
    "qkv": N_(
        "Every token has three vectors of {d_head} numbers: a query (what it looks for), a key "
        "(what it can be found by) and a value (what it passes on)."
    ),
    "scores": N_(
        "The dot products of the query of {token} with all keys are its scores, which range from "
        "{raw}."
    ),
    "scaled": N_("Divided by √{d_head}, the scores of {token} range from {scaled}."),
    "cap": N_(
        "cap · tanh(score / cap) compresses the scores: those of {token} now range from {capped}."
    ),
    "bias": N_(
        "The farther away a key is, the more its score is reduced: the scores of {token} "
        "now range from {biased}."
    ),
    "mask": N_(
        "The mask hides {n_masked} of {n} keys from {token}; its remaining scores range from "
        "{masked}."
    ),
    "softmax": N_(
        "Softmax turns the scores of {token} into weights ({pattern}) that sum to {weight_sum:.3f}."
    ),
    "mix": N_(
        "The values, each multiplied by its weight, are summed into a vector of norm {mixed:.3f}."
    ),
    "gate": N_(
        "The gate, a sigmoid computed from the attention input, leaves a vector of norm "
        "{passed_on:.3f}."
    ),
    "write": N_(
        "The output projection maps {d_head} numbers to d_model = {run.config.d_model}: this "
        "head adds a vector of norm {written:.3f}; the vectors of all heads are summed."
    ),
    "heads": N_(
        "With all {run.config.n_heads} heads side by side, Concat(head 1 … head "
        "{run.config.n_heads}) · W_O is the sum of what each head writes on its own, here a "
        "vector of norm {together:.3f}."
    ),
}


def says_step(facts: HeadFacts) -> str:
    """What this step did to the pinned row, in numbers."""
    rows = ("raw", "scaled", "capped", "biased", "masked", "pattern")
    span = _("{least} to {most}").format(least="{}", most="{}")
    spans = {name: span.format(*map(number, facts.reach(name))) for name in rows}
    lengths = ("mixed", "passed_on", "written", "together")
    found: dict[str, Any] = spans | {name: facts.length(name) for name in lengths}
    n, d_head = len(facts.labels), facts.steps.d_head
    token = shared.token(facts.run, facts.query)
    said = fill(_(STEP_SENTENCES[facts.step]), facts, n=n, d_head=d_head, token=token, **found)
    return sentences(said, *_besides(facts))


def _besides(facts: HeadFacts) -> Iterator[str]:
    """What a class would ask: where a mask acts that hides nothing here, why a sign is split."""
    query, n_masked = facts.most_masked
    if facts.step == "mask" and n_masked and not facts.n_masked:
        text = _("The mask acts on other rows: for {token}, for example, it hides {n} keys.")
        yield text.format(token=shared.token(facts.run, query), n=n_masked)
    parts = [label.rpartition(" ") for label in facts.labels if PART.search(label)]
    if facts.step in ("project", "qkv") and parts:
        text = _(
            "The vocabulary has no token for {sign}; its bytes are read as several tokens, marked "
            "1/{n} to {n}/{n}."
        )
        yield text.format(sign=literal(parts[0][0]), n=parts[0][2].partition("/")[2])


def says_drawn(facts: HeadFacts) -> str:
    """What is not drawn: tokens beyond the window, features beyond the first, dropout."""
    run, notes = facts.run, [shared.says_window(facts, facts.drawn(matrices.MOST_TOKENS))]
    notes.append(_says_features(facts))
    if facts.apart and facts.step == "mask":
        notes.append(
            _(
                "The color scale is that of the scores before the mask; it ends at the magnitude "
                "that only 1% of them exceed, and those are marked with a dot."
            )
        )
    elif facts.apart:
        notes.append(
            _(
                "Each matrix has its own color scale, which ends at the magnitude that only "
                "1% of its values exceed; those values are marked with a dot."
            )
        )
    if run.training and run.config.dropout > 0:
        notes.append(_("Training mode: values before dropout are shown."))
    if run.input.shape[0] > 1:
        notes.append(_("The first sequence of the batch is shown."))
    return sentences(*notes)


def _says_features(facts: HeadFacts) -> str:
    """How much of long vectors is drawn, if not all."""
    n, most = matrices.MOST_FEATURES, matrices.MOST_OF_ALL_HEADS
    if facts.widest <= n:
        return ""
    if facts.step == "heads" and facts.steps.around.concat.shape[1] > most:
        n_heads = -(-most // facts.steps.d_head)
        text = ngettext(
            "Only {n_heads} head and {n} features are drawn.",
            "Only {n_heads} heads and {n} features are drawn.",
            n_heads,
        )
        return text.format(n_heads=n_heads, n=n)
    return _("Only the first {n} features of long vectors are drawn.").format(n=n)


def says_at_the_wall(facts: HeadFacts) -> str:
    """What a class would otherwise misread in the picture."""
    if facts.step == "scaled" and facts.apart:
        return _("Each matrix has its own color scale.")
    return _says_features(facts) if facts.step == "heads" else ""


@section
def steps_of_a_head(run: Run, state: State) -> None:
    """All steps small, one of them large, and one cell of it in numbers."""
    at, cell, is_apart = labelled.selection(run, state), chosen_cell(run, state), state.sinks_apart
    facts = shared.drawn_facts(run, *at, is_apart, *cell)
    share.OPEN_TITLE.keep(
        f"{_(PANEL.title)} · {_(matrices.STEP_TITLES[facts.step])}"
    )  # as a lecture has it
    if present.is_on():
        _on_one_screen(facts, state)
        return
    code = (*source.heads_source(), head_steps.attention_steps)
    concepts = ("attention_steps", "attention", "attention_ideas")
    beside = arithmetic.written_out(facts)
    with explained(concepts, code, key="filmstrip", beside=beside):
        say(says_reads, run, *at, facts=shared.head_facts)
    sinks_switch(run, "steps")
    values = run, *at, is_apart, cell[0]
    strip = strip_picture.so_far if progress.now() else strip_picture.strip
    show(strip, *values, facts=shared.drawn_facts, key="strip", on_click=open_step)
    step_choice(facts)
    if is_phone():
        if progress.now():  # whose text may name a key
            cell_choice(facts)
        st.markdown(says_step(facts))
        with st.container():  # below which the way from cell to cell stays in sight
            _step_large(facts, step_picture.narrow, state)
            walked(facts)
    else:
        cell_choice(facts)
        st.markdown(says_step(facts))
        _step_large(facts, step_picture.step, state)
    if said := says_drawn(facts):
        note(said)
    _in_numbers(beside)


def _on_one_screen(facts: HeadFacts, state: State) -> None:
    """For a projector: one step, and the cell in numbers; keys lead through the steps.

    A lesson has keys of its own: the steps wait in the sidebar.
    """
    sentence = st.container()
    if not progress.now():
        keys, sentence = st.columns([5, 17], vertical_alignment="center")
        with keys, st.container(horizontal=True):
            step_keys(facts)
    steps = steps_taken(facts.run.config)
    at, last = (matrices.number_of(step, steps) for step in (facts.step, steps[-1]))
    said = sentences(says_step(facts), says_at_the_wall(facts))
    sentence.markdown(f"**{at}/{last} · {shared.called(facts)}** {said}")
    if step_picture.presented_size(facts).is_in_full:
        _step_large(facts, step_picture.presented, state)
        _in_numbers(arithmetic.in_short(facts, " · "))
    else:
        left, right = st.columns([7, 5], vertical_alignment="center")
        with left:
            _step_large(facts, step_picture.presented, state)
        with right:
            _in_numbers(arithmetic.in_short(facts, "  \n"))
    with st.sidebar:
        if progress.now():
            step_choice(facts)
        cell_choice(facts)


def _step_large(facts: HeadFacts, draw: Callable[..., Picture], state: State) -> None:
    at, cell = (facts.layer, facts.head, facts.query), (facts.step, facts.key, facts.feature)
    values = facts.run, *at, state.sinks_apart, *cell
    show(draw, *values, facts=shared.drawn_facts, key="step", on_click=open_cell)


def _in_numbers(text: str) -> None:
    with st.container(border=True, key="in_numbers"):
        st.markdown(text)


def open_step(customdata: list[Any]) -> None:
    link.change("attention_step", customdata[0])


def open_cell(customdata: list[Any]) -> None:
    """A cell was clicked: its query is pinned, its key or feature written out."""
    query, column, is_key = (int(number) for number in customdata[:3])
    if query != link.value("token"):
        link.change("token", query)
        link.redraw_everything()
    link.change("key" if is_key else "feature", column)


PANEL = shared.of_a_head(
    "steps",
    N_("What does a head do?"),
    steps_of_a_head,
    instruments=("attention",),
    has_steps=True,
    fields=("d_model", "n_heads", "n_kv_heads", "d_head", "position_kind"),
    at=at,
    facts=shared.drawn_facts,
    shows=(Matrix(strip_picture.strip, "strip"), Matrix(step_picture.step, "step")),
)
