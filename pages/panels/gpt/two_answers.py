"""What decides between two answers: each head and layer, directly, switched off, or patched."""

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np
import pandas as pd
import streamlit as st

from blocks.inspection import logit_difference
from blocks.inspection.contribution_graph import linear
from blocks.inspection.logit_difference import METHODS, AnswerFacts, Direct
from blocks.model.faults import N_
from blocks.model.models import Encoder
from blocks.observe.interventions import Intervention, heads_of, part_choices
from blocks.observe.recording import Recording, record
from blocks.observe.run import Input, Run
from blocks.observe.sweep import batches, outputs_of_each
from pages.figures.counting import from_one
from pages.figures.theme import Picture
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels import interventions
from pages.server import cached, probed
from pages.server.passes import says_each_part
from pages.show import inputs
from pages.show.chart import columns, show
from pages.show.explain import explained, note
from pages.show.interventions import controls, words
from pages.show.said import say
from pages.show.steps import in_steps
from pages.show.tables import show_table
from pages.stage import link, present, tokens
from pages.stage.press import press
from pages.state import labelled
from pages.state.values import State
from pages.words.language import _, current_language, literal, sentences
from pages.words.numbers import percent

ROOM, NOTED = 440, 140  # pixels of a picture before a class, less what a change needs
LEFT_ALONE = 0.1  # of what a head does most: less is told as nothing
N_OFFERED, MOST_OFFERED = 40, 120
LABELS = {
    "direct": N_("direct contribution"),
    "ablation": N_("ablation"),
    "patching": N_("patching from another text"),
}
OF_HEADS = {
    "direct": N_("What each head adds to the logit difference"),
    "ablation": N_("How far the logit difference falls without each head"),
    "patching": N_(
        "How far the logit difference falls when each head's output is replaced by its output"
        " on the other text"
    ),
}
OF_PARTS = {
    "direct": N_("What each sub-layer adds to the logit difference"),
    "ablation": N_("How far the logit difference falls without each sub-layer"),
    "patching": N_(
        "How far the logit difference falls when each sub-layer's output is replaced by its "
        "output on the other text"
    ),
}
OF_ALL = {
    "direct": N_("What each head and each sub-layer adds to the logit difference"),
    "ablation": N_("How far the logit difference falls without each head and each sub-layer"),
    "patching": N_(
        "How far the logit difference falls when each output is replaced by its value on the "
        "other text"
    ),
}


def offered(run: Run, position: int, *asked: int) -> tuple[int, ...]:
    """The answers to choose from: the likeliest tokens, those of the text, those `asked` for."""
    logits = cached.recording(run).output[0, position]
    likely = logits.topk(min(N_OFFERED, len(logits))).indices.tolist()
    found = tuple(dict.fromkeys((*likely, *run.input.token_ids)))[:MOST_OFFERED]
    return tuple(dict.fromkeys((*found, *asked)))


def chosen(run: Run, position: int, state: State) -> tuple[int, int]:
    """A and B: the reader's where the model has them, or else the two likeliest."""
    likely = offered(run, position)
    a = _asked("answer_a", run, likely[0], state)
    return a, _asked("answer_b", run, next((each for each in likely if each != a), a), state)


def _asked(name: str, run: Run, likeliest: int, state: State) -> int:
    asked: int | None = state[name]
    return likeliest if asked is None or asked >= run.config.vocab_size else asked


@lru_cache(maxsize=64)
def direct_of(run: Run, position: int, a: int, b: int) -> Direct | None:
    """What each part adds; None where the stream is no plain sum."""
    if not logit_difference.is_a_sum(run.config):
        return None
    model = cast(Encoder, cached.model(run))
    with cached.turn(run.device):
        return logit_difference.direct(run, model, position, a, b)


@lru_cache(maxsize=1)
def other_recording(run: Run, other: Input) -> Recording:
    """What every head and part wrote for another text."""
    read = replace(run, input=other)
    model = cached.model(run)
    with cached.turn(run.device):
        return record(
            model, read.values(), mask=read.build_mask(), keep={*part_choices(run.config)}
        )


@lru_cache(maxsize=1024)
def logits_with(
    run: Run,
    parts: tuple[Intervention, ...],
    position: int,
    watched: tuple[int, ...],
    other: Input | None,
) -> np.ndarray:
    """The logits of some tokens with each of these parts changed alone: (part, token).

    Each less the mean over the vocabulary.
    """
    seen_other = None if other is None else other_recording(run, other)
    model, seen = cached.model(run), cached.recording(run)
    with cached.turn(run.device):
        found = outputs_of_each(run, model, seen, parts, position, other=seen_other)
    return logit_difference.centered(found)[:, list(watched)].cpu().numpy()


def sweep(run: Run, method: str) -> list[tuple[Intervention, ...]]:
    """The parts that are changed at the same time, batch by batch; none for what is direct."""
    if method == "direct":
        return []
    return list(batches(run, logit_difference.changes_of(run.config, method)))


@lru_cache(maxsize=16)
def answer_facts(
    run: Run, position: int, a: int, b: int, method: str, n_batches: int, other: Input | None
) -> AnswerFacts:
    """What the first batches of a method showed."""
    logits = cached.recording(run).output[0, position].float()
    probabilities = logits.softmax(-1)
    found = direct_of(run, position, a, b)
    in_other = None
    if method == "direct" and found is not None:
        answers = found.answers
    else:
        watched = offered(run, position, a, b)
        rows = [
            logits_with(run, parts, position, watched, other)
            for parts in sweep(run, method)[:n_batches]
        ]
        now = logit_difference.centered(logits)[[a, b]].cpu().numpy()
        answers = now[:, None] - np.concatenate(rows)[:, [watched.index(a), watched.index(b)]].T
    if other is not None:
        seen = other_recording(run, other).output[0]
        there = seen[min(position, len(seen) - 1)].float()
        in_other = float(there[a] - there[b])
    return AnswerFacts(
        run,
        position,
        (tokens.label(run, a), tokens.label(run, b)),
        (float(logits[a]), float(logits[b])),
        (float(probabilities[a]), float(probabilities[b])),
        method,
        answers,
        found,
        in_other,
    )


def says_answers(facts: AnswerFacts) -> str:
    """The difference, which heads speak most for A and for B, and what they do to each."""
    heads = [_for_a(facts), _for_b(facts)]
    taken = (
        _("The mean over the vocabulary has been subtracted from each logit here.")
        if any(heads)
        else ""
    )
    return sentences(_difference(facts), _so_far(facts), *heads, taken)


def says_shortly(facts: AnswerFacts) -> str:
    """For a class: the difference, and which head speaks most for A."""
    head = facts.strongest(is_head=True)
    strongest = "" if head is None else _strongest(facts, head)
    return sentences(_difference(facts), _so_far(facts), strongest)


def _difference(facts: AnswerFacts) -> str:
    text = _(
        "After {token}: {a} {p_a}, {b} {p_b}. The logit of {a} is {size:.2f} above that of {b}."
    )
    if facts.difference < 0:
        text = _(
            "After {token}: {a} {p_a}, {b} {p_b}. The logit of {a} is {size:.2f} below that of {b}."
        )
    return text.format(
        token=literal(facts.run.input.labels[facts.position]),
        size=facts.size,
        p_a=percent(facts.probabilities[0]),
        p_b=percent(facts.probabilities[1]),
        **_named(facts),
    )


def _named(facts: AnswerFacts) -> dict[str, str]:
    return {name: literal(label) for name, label in zip("ab", facts.labels, strict=True)}


def _so_far(facts: AnswerFacts) -> str:
    n_all = len(heads_of(facts.run.config))
    if facts.n_measured == n_all:
        return ""
    return _("Parts tried so far: {n} of {all}.").format(n=facts.n_measured, all=n_all)


def _for_a(facts: AnswerFacts) -> str:
    """What the strongest head for A does, and what others make up for."""
    head = facts.strongest(is_head=True)
    if head is None:
        return ""
    repaired = _repaired(facts, head) if facts.method == "ablation" else ""
    return sentences(_strongest(facts, head), _does(facts, head), repaired)


def _strongest(facts: AnswerFacts, head: int) -> str:
    text = {
        "direct": _("Of all heads, {head} adds most to the difference: {effect:.2f}."),
        "ablation": _(
            "Of all heads, {head} matters most for the difference: with it switched off, the "
            "difference falls from {before:.2f} to {left:.2f} (by {effect:.2f})."
        ),
        "patching": _(
            "In the other text the difference is {other:.2f}. Of all heads, {head} changes "
            "the difference most: with its output taken from the other text, it is "
            "{left:.2f}."
        ),
    }[facts.method]
    return text.format(
        head=words.part_called(facts.run, head),
        effect=facts.effects[head],
        before=facts.difference,
        left=facts.left(head),
        other=facts.other or 0.0,
    )


def _does(facts: AnswerFacts, head: int) -> str:
    """What a head does to A and to B, what it does most first."""
    pair = sorted(
        zip(facts.labels, facts.answers[:, head], strict=True), key=lambda at: -abs(at[1])
    )
    most = abs(pair[0][1])
    text = {
        "direct": _("This head {first} and {second}."),
        "ablation": _("Including its effect through later parts, the head {first} and {second}."),
        "patching": _("Compared with its output in the other text, the head {first} and {second}."),
    }[facts.method]
    first, second = (_moves(label, value, most) for label, value in pair)
    return text.format(first=first, second=second)


def _moves(label: str, value: float, most: float) -> str:
    """What a head does to one answer, where it does `most` to one of the two."""
    text = (
        _("raises the logit of {token} by {size:.2f}")
        if value > 0
        else _("lowers the logit of {token} by {size:.2f}")
    )
    if abs(value) < LEFT_ALONE * most:
        text = _("leaves the logit of {token} almost unchanged ({value:.2f})")
    return text.format(token=literal(label), size=abs(value), value=value)


def _repaired(facts: AnswerFacts, head: int) -> str:
    """What it adds directly, against what is lost without it."""
    if facts.direct is None:
        return ""
    text = _(
        "This head adds {direct:.2f} to the difference directly, but later parts read its "
        "output too, so the difference falls by more than that."
    )
    if facts.made_up[head] > 0:
        text = _(
            "This head adds {direct:.2f} to the difference directly; when it is off, other "
            "parts make up for {repaired:.2f}."
        )
    return text.format(direct=facts.direct.parts[head], repaired=facts.made_up[head])


def _for_b(facts: AnswerFacts) -> str:
    head = facts.strongest(is_head=True, sign=-1)
    if head is None:
        return ""
    text = _("Of all heads, {head} favors {b} over {a} most ({effect:.2f}).")
    name = words.part_called(facts.run, head)
    said = text.format(head=name, effect=facts.effects[head], **_named(facts))
    return sentences(said, _does(facts, head))


def table(facts: AnswerFacts) -> pd.DataFrame:
    """Every head and whole part, the largest first."""
    every = heads_of(facts.run.config)[: facts.n_measured]
    found = {
        _("layer"): [from_one(part.layer) for part in every],
        _("part"): [words.part_named(part) for part in every],
        _("name"): [
            "" if part.head is None else probed.badge(facts.run, part.layer, part.head)
            for part in every
        ],
    }
    if facts.direct is not None:
        found[_(LABELS["direct"])] = facts.direct.parts[: facts.n_measured].round(3)
    if facts.method != "direct":
        found[_(LABELS[facts.method])] = facts.effects.round(3)
    if facts.method == "ablation" and facts.direct is not None:
        found[_("made up for by other parts")] = facts.made_up.round(3)
    for answer, label, values in zip("AB", facts.labels, facts.answers, strict=True):
        found[f"{answer}: {label}"] = values.round(3)
    order = np.argsort(-np.abs(np.nan_to_num(facts.effects)), kind="stable")
    return pd.DataFrame(found).iloc[order].dropna()  # a layer without heads


@section
def what_decides(run: Run, state: State) -> None:
    """The two answers, the method, the pictures, the table."""
    changed, run, position = run, run.untouched, labelled.pinned_token(run, state)
    code = (logit_difference.direct, linear)
    place = explained(("two_answers", "interventions"), code, key="two_answers")
    a, b = chosen(run, position, state)
    row = st.container(horizontal=True, vertical_alignment="center")
    method = choices(run, position, a, b, state, row)
    other = other_input(run, a, b, state) if method == "patching" else None
    if other == run.input:
        place.info(
            _("The other text is the same as this one. Change a word in it."),
            icon=":material/lightbulb:",
        )
        return
    parts, watched = sweep(run, method), offered(run, position, a, b)
    steps = [partial(logits_with, run, each, position, watched, other) for each in parts]
    what = (run, position, method, other)
    done = in_steps(steps, what=what, key="deciding", asked_by="decided_by") if steps else None
    if done is not None and not done.found:
        return
    shown = run, position, a, b, method, len(done.found) if done else 0, other
    with place:
        say(says_shortly if present.is_on() else says_answers, *shown, facts=answer_facts)
        if changed.interventions:
            st.markdown(says_changed(changed, position, a, b))
    pictures(run, shown, ROOM - NOTED if changed.interventions else ROOM)
    if not changed.interventions:
        with row if present.is_on() else st.container():
            way_to_switch_off(answer_facts(*shown))
    note(
        _(
            "Blue favors A, orange favors B. Heads and whole sub-layers have separate color "
            "scales. Click a cell to switch that part off everywhere on the page."
        )
    )
    show_table(table(answer_facts(*shown)), key="answer_table", n_names=2, height=318)


def says_changed(run: Run, position: int, a: int, b: int) -> str:
    """What is left of the difference where the model is changed inside."""
    text = _(
        "All this is measured on the unchanged model. In the changed one, the logit of {a} less "
        "that of {b} is {difference:.2f}."
    )
    names = {"a": literal(tokens.label(run, a)), "b": literal(tokens.label(run, b))}
    return text.format(**names, difference=difference_in(run, position, a, b))


def difference_in(run: Run, position: int, a: int, b: int) -> float:
    """The logit of A less that of B, in a run with its changes."""
    logits = cached.recording(run).output[0, position].float()
    return float(logits[a] - logits[b])


def pictures(run: Run, shown: tuple[Any, ...], room: int) -> None:
    """Heads and whole parts: of many layers in one picture, or else beside each other."""
    look: dict[str, Any] = {"on_click": partial(controls.switch_off, run), "room": room}
    marked = words.marked(run)
    if interventions.is_side_by_side(run):
        show(draw_all_effects, *shown, marked, key="answer_heads", **look)
        return
    left, right = columns([5, 3])
    if interventions.has_heads(run):
        with left:
            show(draw_effects, *shown, marked, True, key="answer_heads", **look)
    with right:
        show(draw_effects, *shown, marked, False, key="answer_parts", **look)


def way_to_switch_off(facts: AnswerFacts) -> None:
    """To what happens without the head that speaks most for A."""
    number = facts.strongest(is_head=True)
    if number is None:
        return
    part = heads_of(facts.run.config)[number]
    label = _("Switch off head {head} of layer {layer}").format(
        head=from_one(part.head or 0), layer=from_one(part.layer)
    )
    press(label, "without_strongest", controls.try_without, part, icon="power_settings_new")


def choices(run: Run, position: int, a: int, b: int, state: State, row: Any) -> str:
    """The two answers, and how each part is weighed; `row`: for the latter before a class."""
    ids = offered(run, position, a, b)
    places = [st.sidebar, st.sidebar, row] if present.is_on() else st.columns([2, 2, 4])
    for_a, for_b, for_method = places
    for column, name, label, shown in (
        (for_a, "answer_a", _("Answer A"), a),
        (for_b, "answer_b", _("Answer B"), b),
    ):
        with column, st.container(key=name):
            view = link.view(name, shown, ids)
            st.selectbox(label, ids, format_func=partial(tokens.label, run), **view)
    methods = METHODS if logit_difference.is_a_sum(run.config) else METHODS[1:]
    asked: str = state.decided_by
    method = asked if asked in methods else methods[0]
    with for_method, st.container(key="decided_by"):
        st.segmented_control(
            _("Measure each part by"),
            methods,
            format_func=lambda name: _(LABELS[name]),
            required=True,
            label_visibility="collapsed" if present.is_on() else "visible",
            **link.view("decided_by", method, (methods, current_language())),
        )
        if said := says_each_part(run) if method == "direct" and not present.is_on() else "":
            st.caption(said)
    return method


def other_input(run: Run, a: int, b: int, state: State) -> Input | None:
    """The text that is patched from; a button swaps A and B in it."""
    text, swap = st.columns([5, 2], vertical_alignment="bottom")
    with text:
        st.text_area(
            _("Other text: change a word but keep the number of tokens"),
            height=68,
            **link.view("other_text", state.other_text),
        )
    ids = logit_difference.swapped(run.input.token_ids, a, b)
    with swap:
        st.button(
            _("Swap A and B in the text"),
            icon=":material/swap_horiz:",
            on_click=link.change,
            args=("other_text", tokens.text_of(tokens.tokenizer(), ids)),
            disabled=tuple(ids) == run.input.token_ids,
            key="swap_answers",
        )
    patch = logit_difference.changes_of(run.config, "patching")[:1]
    return inputs.changed(run, patch).other


def draw_effects(*shown: Any) -> Picture:
    """The facts of these values as cells; the last two: the parts switched off, whether heads."""
    *values, marked, of_heads = shown
    facts = answer_facts(*values)
    return interventions.grid(
        facts.run,
        facts.effects.tolist(),
        marked,
        of_heads=of_heads,
        title=_((OF_HEADS if of_heads else OF_PARTS)[facts.method]),
        unit=_("logit difference"),
        is_signed=True,
    )


def draw_all_effects(*shown: Any) -> Picture:
    """The same of many layers, with heads and whole parts in one picture."""
    *values, marked = shown
    facts = answer_facts(*values)
    return interventions.deep_grid(
        facts.run,
        facts.effects.tolist(),
        marked,
        title=_(OF_ALL[facts.method]),
        unit=_("logit difference"),
        is_signed=True,
    )


PANEL = Panel(
    "two-answers",
    N_("Why this answer and not that?"),
    what_decides,
    of_predictions=True,
    fields=("n_layers", "n_heads", "norm_placement"),
    instruments=("direct", "ablation", "patching"),
)
