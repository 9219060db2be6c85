"""What the panels of attention share: the head, what is looked at in it, how it is called."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from blocks.inspection import head_facts as heads
from blocks.inspection import head_steps
from blocks.inspection.head_facts import HeadFacts, Sharpest, Window
from blocks.inspection.mask_steps import StepFacts
from blocks.inspection.score_gradient import ScoreGradient
from blocks.observe.run import Run
from pages.figures import counting
from pages.figures.counting import from_one, told_apart
from pages.page.declared import Panel
from pages.server import cached
from pages.show import views
from pages.show.choices import chooses
from pages.show.parts import Controls
from pages.show.views import attending_layer_choice, head_choice
from pages.show.ways import click_sets
from pages.stage import link, progress
from pages.state import labelled, sinks
from pages.state.values import State
from pages.words.language import _, literal
from pages.words.numbers import percent


@lru_cache(maxsize=2)
def attention(run: Run, layer: int) -> head_steps.AttentionSteps:
    """One layer taken apart, on the device of the run."""
    seen, model = cached.recording(run), cached.model(run)
    with cached.turn(run.device):
        return head_steps.attention_steps(
            seen, model, run.config, layer, run.build_mask(), replace=run.replacements(model)
        )


@lru_cache(maxsize=4)
def one_head(run: Run, layer: int, head: int) -> head_steps.HeadSteps:
    return head_steps.head_steps(attention(run, layer), head)


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    return (run, *labelled.selection(run, state))


def head_facts(run: Run, layer: int, head: int, query: int) -> HeadFacts:
    return HeadFacts(run, layer, head, query, one_head(run, layer, head))


def drawn_facts(
    run: Run, layer: int, head: int, query: int, is_apart: bool, *cell: Any
) -> HeadFacts:
    """The same as it is drawn: `is_apart`: sinks are; `cell`: the step, key and feature."""
    facts = HeadFacts(run, layer, head, query, one_head(run, layer, head), *cell)
    return replace(facts, apart=sinks.set_apart(run, is_apart))


@lru_cache(maxsize=64)
def sharpest(run: Run, query: int, is_apart: bool) -> Sharpest:
    """Where the pinned token reads most from one other token; `is_apart`: sinks are."""
    seen, layers = cached.recording(run), run.config.attention_layers
    row = slice(query, query + 1)
    rows = [seen.pattern(layer, queries=row) for layer in layers]
    found = heads.sharpest(rows, query, sinks.set_apart(run, is_apart))
    return found._replace(layer=layers[found.layer])


def token(run: Run, i: int) -> str:
    return literal(told_apart(run.input.labels)[i])


def head_called(layer: int, head: int) -> str:
    return counting.head_called(layer, head, _)


def sinks_switch(panel: str) -> Controls:
    return Controls(lambda run: views.sinks_switch(run, panel))


def called(facts: HeadFacts | ScoreGradient) -> str:
    return head_called(facts.layer, facts.head)


def says_sharpest(found: Sharpest, labels: tuple[str, ...]) -> str:
    """What the button says that goes there."""
    text = _("Strongest attention: {head} ({share} on {key})")
    if found.beyond_sinks:
        text = _("Strongest apart from sinks: {head} ({share} on {key})")
    head = head_called(found.layer, found.head)
    return text.format(head=head, share=percent(found.weight), key=labels[found.key])


def says_window(facts: HeadFacts | StepFacts, drawn: Window) -> str:
    """Which tokens are drawn and how much of the pinned row they hold; nothing where all are."""
    if drawn.is_whole:
        return ""
    text = _(
        "Tokens {first} to {last} of {n} are shown, around the pinned one; they receive "
        "{share} of its weight. All numbers are computed over all tokens."
    )
    share = percent(facts.held(drawn))
    return text.format(first=from_one(drawn.first), last=drawn.end, n=drawn.n, share=share)


@chooses("layer", "head")
def layer_and_head(run: Run, state: State) -> None:
    """The layer and head that the whole page looks at, and a way to a telling one."""
    at = labelled.selection(run, state)
    of_layer, of_head, place = _places(run)
    with of_layer:
        attending_layer_choice(run)
    with of_head:
        head_choice(run, at.head, at.layer)
    if progress.now():
        return  # a lesson has chosen where to look
    there = sharpest(run, at.token, state.sinks_apart)
    if not there.weight:
        return  # the token reads none but itself
    place.button(
        says_sharpest(there, told_apart(run.input.labels)),
        icon=":material/my_location:",
        on_click=go_to,
        args=there[:2],
        key="sharpest",
        disabled=there[:2] == at[:2],
        help=_("The head in which the pinned token puts the largest weight on another token."),
    )


def _places(run: Run) -> Sequence[DeltaGenerator]:
    """Of the layer, which only one of several has, of the head, and of the way to a telling one."""
    is_one, in_lesson = run.config.n_layers == 1, bool(progress.now())
    widths = ([1] if is_one else [3, 8]) if in_lesson else [6, 5] if is_one else [3, 3, 5]
    found = st.columns(widths, vertical_alignment="bottom")
    return found[0], found[0 if is_one else 1], found[-1]


def go_to(layer: int, head: int) -> None:
    link.change("layer", layer)
    link.change("head", head)


open_head = click_sets("layer", "head")  # of the table, or among the sinks
of_a_head = partial(Panel, choices=layer_and_head, of_attention=True, in_any_layer=True, at=at)
