"""Why the mask exists: one GPT trained with it and without it, and what each of them writes."""

from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import streamlit as st

from blocks.corpora.stories import Language
from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.training import peeking as training
from blocks.training.next_token import StoryTask
from blocks.training.peeking import Peeking, PeekingRace, peeking_spec
from blocks.training.recorded import Learned, recorded
from blocks.training.sample import TEMPERATURE
from blocks.training.spec import TrainingSpec
from pages.figures import palette
from pages.figures.chart import Chart, Look, line
from pages.figures.series import training_losses
from pages.figures.table_rows import each_group
from pages.page.declared import Panel
from pages.page.frame import section
from pages.server import cached
from pages.server.settings import memory_budget
from pages.show import words
from pages.show.chart import show
from pages.show.controls import switch
from pages.show.explain import explained, note
from pages.show.parts import Shown
from pages.show.said import say
from pages.show.steps import in_series
from pages.stage import present
from pages.state.values import State
from pages.words.language import _, current_language, fill, sentences
from pages.words.numbers import percent

AT_ONCE, IN_CLASS = 5, 60  # updates; signs of a text that is presented
COLORS = {"masked": palette.ATTENTION, "peeking": palette.PINNED}
NAMES = {"masked": N_("causal mask"), "peeking": N_("no mask")}
Pair = tuple[TrainingSpec, TrainingSpec]
"""With the mask, and without it."""


def pair(language: str, seed: int, device: str) -> Pair:
    """What is trained on the stories of a language."""
    told = Language(language)
    masked = peeking_spec(told, sees_ahead=False, seed=seed, device=device)
    return masked, peeking_spec(told, sees_ahead=True, seed=seed, device=device)


@lru_cache(maxsize=8)
def _seconds(spec: TrainingSpec) -> float:
    with cached.turn(spec.device):
        return training.measured_seconds(spec)


def finished(specs: Pair) -> tuple[Learned, ...] | None:
    masked, peeking = map(recorded, specs)
    return (masked, peeking) if masked and peeking else None


@lru_cache(maxsize=32)
def peeking_facts(both: tuple[Learned, ...], vocab_size: int) -> Peeking:
    masked, peeking = both
    return training.compared(masked, peeking, vocab_size)


def says_peeking(found: Peeking) -> str:
    """What the mask is good for, in the numbers of both."""
    text = _(
        "After {n_updates} steps the training loss is {masked_loss:.2f} nats with the mask and "
        "{peeking_loss:.2f} without it. Where the text ends and the model must continue on "
        "its own, the losses are {masked.loss:.2f} and {peeking.loss:.2f}, respectively."
    )
    said = fill(text, found)
    if not found.is_cheating:
        return said
    verdict = _(
        "Without the mask the model copies the next token instead of predicting it; when it "
        "generates, there is no next token to copy."
    )
    return sentences(said, verdict)


def says_run(specs: Pair, *, is_recorded: bool) -> str:
    """Where the numbers are from, and all that is needed to get them again."""
    text = _(
        "Both models are GPTs with {config.n_layers} layers and d_model {config.d_model}, trained "
        "for {recipe.n_steps} steps of {recipe.batch_size} × {task.seq_len} tokens with the same "
        "initial weights (seed {seed}) and the same batches. Solid lines show the training loss, "
        "with or without the mask. Dotted lines show the mean loss on the token after a held-out "
        "text ({recipe.batch_size} texts, cut at lengths up to {task.seq_len}). Both continuations "
        "are sampled at temperature {temperature} with the same seed, from the same prompt."
    )
    said = fill(text, specs[0], temperature=TEMPERATURE)
    return sentences(words.trained(is_recorded=is_recorded), said)


def losses(facts: Peeking) -> Chart:
    """Loss over updates, two curves a model.

    Where it must write is measured at some updates only, and drawn dotted with a mark at each.
    """
    dotted: dict[str, Any] = {"dash": "dot", "symbol": "circle", "size": 8}
    kinds = (
        (facts.curves, _("{model}, training"), dict[str, Any]()),
        (facts.writing, _("{model}, generating"), dotted),
    )
    curves = [
        line("loss", Look(label.format(model=_(NAMES[model])), COLORS[model], **look), rows=rows)
        for table, label, look in kinds
        for model, rows in each_group(table, "model")
    ]
    title, n = _("Loss during training and generation"), training.N_UPDATES
    return training_losses(title, curves, n_updates=n, guess=facts.guess, tall=252, _=_)


@section
def what_if_it_could_peek(run: Run, state: State) -> None:
    """The recorded pair, or the same trained here and now."""
    code = (StoryTask.batch, peeking_spec, training.writing_loss)
    place = explained(("peeking", "masks"), code, key="peeking")
    with present.aside(), st.container(horizontal=True, vertical_alignment="center"):
        switch("train_peeking", _("Train both models here"))
        estimate = st.empty()
    is_live = state.train_peeking
    specs = pair(current_language(), run.seed if is_live else 0, run.device)
    both = _trained(specs) if is_live else finished(specs)
    if both is None:
        return
    shown = both, specs[0].config.vocab_size
    with place:
        say(says_peeking, *shown, facts=peeking_facts)
    curves, texts = st.columns([3, 2]) if present.is_on() else (st.container(), st.container())
    with curves:
        show(losses, *shown, facts=peeking_facts, key="peeking_losses")
        note(says_run(specs, is_recorded=not is_live))
    with texts:
        both_texts(peeking_facts(*shown))
    if not is_live:
        text = _("takes about {n:.0f} s")
        estimate.caption(text.format(n=max(1, len(specs) * _seconds(specs[0]))))


def shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()} …"


def _trained(specs: Pair) -> tuple[Learned, ...] | None:
    """As far as both have come; none before the first updates."""
    series = PeekingRace(specs, training.N_UPDATES, AT_ONCE, memory_budget(specs[0].device))
    found = in_series(series, key="peeking_steps", asked_by="train_peeking").found
    return series.learned(found) if len(found) >= len(specs) else None


def both_texts(facts: Peeking) -> None:
    """What each has written at the latest look, side by side."""
    looks = (facts.masked, facts.peeking)
    places = [st.container(), st.container()] if present.is_on() else st.columns(2)
    for column, name, look in zip(places, map(_, NAMES.values()), looks, strict=True):
        with column:
            text = _("**{model}** after {n} steps: {share} of its sentences are grammatical")
            share = percent(look.grammatical)
            st.markdown(text.format(model=name, n=look.step, share=share))
            shown = shorten(look.text, IN_CLASS) if present.is_on() else look.text
            st.code(shown, language=None, wrap_lines=True)


def at(run: Run) -> tuple[Hashable, ...] | None:
    """The recorded pair, where it ships."""
    specs = pair(current_language(), 0, run.device)
    both = finished(specs)
    return (both, specs[0].config.vocab_size) if both else None


PANEL = Panel(
    "peeking",
    N_("What if it could peek?"),
    what_if_it_could_peek,
    of_this_run=False,
    at=at,
    facts=peeking_facts,
    shows=(Shown(losses, "peeking_losses"),),
)
