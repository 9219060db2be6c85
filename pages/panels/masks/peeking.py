"""Why the mask exists: one GPT trained with it and without it, and what each of them writes."""

from functools import lru_cache

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
from pages.figures.theme import Picture, Translate
from pages.panels.masks import peeking_picture
from pages.ui import cached, link, present, words
from pages.ui.chart import show
from pages.ui.controls import switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, current_language, sentences
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.settings import memory_budget
from pages.ui.steps import in_series

AT_ONCE, IN_CLASS = 5, 60  # updates; signs of a text that is presented
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
    """The recorded trainings, where both of them ship."""
    masked, peeking = map(recorded, specs)
    return (masked, peeking) if masked and peeking else None


@lru_cache(maxsize=32)
def peeking_facts(both: tuple[Learned, ...], vocab_size: int) -> Peeking:
    """What one says about the other."""
    masked, peeking = both
    return training.compared(masked, peeking, vocab_size)


def says_peeking(found: Peeking) -> str:
    """What the mask is good for, in the numbers of both."""
    text = _(
        "After {n} steps the training loss is {masked_loss:.2f} nats with the mask and "
        "{peeking_loss:.2f} without it. Where the text ends and the model must continue on "
        "its own, the losses are {masked:.2f} and {peeking:.2f}, respectively."
    )
    said = text.format(
        n=found.n_updates,
        masked_loss=found.masked_loss,
        peeking_loss=found.peeking_loss,
        masked=found.masked.loss,
        peeking=found.peeking.loss,
    )
    if not found.is_cheating:
        return said
    verdict = _(
        "Without the mask the model copies the next token instead of predicting it; when it "
        "generates, there is no next token to copy."
    )
    return sentences(said, verdict)


def says_run(specs: Pair, *, is_recorded: bool) -> str:
    """Where the numbers are from, and all that is needed to get them again."""
    spec = specs[0]
    text = _(
        "Both models are GPTs with {n_layers} layers and d_model {d_model}, trained for {n} "
        "steps of {batch} × {seq_len} tokens with the same initial weights (seed {seed}) and "
        "the same batches. Solid lines show the training loss, with or without the mask. "
        "Dotted lines show the mean loss on the token after a held-out text ({batch} texts, "
        "cut at lengths up to {seq_len}). Both continuations are sampled at temperature "
        "{temperature} with the same seed, from the same prompt."
    )
    said = text.format(
        n_layers=spec.config.n_layers,
        d_model=spec.config.d_model,
        n=spec.recipe.n_steps,
        batch=spec.recipe.batch_size,
        seq_len=spec.task.seq_len,
        temperature=TEMPERATURE,
        seed=spec.seed,
    )
    return sentences(words.trained(is_recorded=is_recorded), said)


def draw_losses(facts: Peeking, *, _: Translate) -> Picture:
    """The losses so far."""
    return peeking_picture.losses(facts, names(), _=_)


def names() -> dict[str, str]:
    """What both are called."""
    return {name: _(label) for name, label in NAMES.items()}


@section
def what_if_it_could_peek(run: Run) -> None:
    """The recorded pair, or the same trained here and now."""
    code = (StoryTask.batch, peeking_spec, training.writing_loss)
    place = explained(("peeking", "masks"), code, key="peeking")
    with present.aside(), st.container(horizontal=True, vertical_alignment="center"):
        switch("train_peeking", _("Train both models here"))
        estimate = st.empty()
    is_live = link.value("train_peeking")
    specs = pair(current_language(), run.seed if is_live else 0, run.device)
    both = _trained(specs) if is_live else finished(specs)
    if both is None:
        return
    shown = both, specs[0].config.vocab_size
    with place:
        say(says_peeking, *shown, facts=peeking_facts)
    curves, texts = st.columns([3, 2]) if present.is_on() else (st.container(), st.container())
    with curves:
        show(draw_losses, *shown, facts=peeking_facts, key="peeking_losses")
        note(says_run(specs, is_recorded=not is_live))
    with texts:
        both_texts(peeking_facts(*shown))
    if not is_live:
        text = _("takes about {n:.0f} s")
        estimate.caption(text.format(n=max(1, len(specs) * _seconds(specs[0]))))


def shorten(text: str, most: int) -> str:
    """The beginning of a text."""
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
    for column, name, look in zip(places, names().values(), looks, strict=True):
        with column:
            text = _("**{model}** after {n} steps: {share} of its sentences are grammatical")
            share = percent(look.grammatical)
            st.markdown(text.format(model=name, n=look.step, share=share))
            shown = shorten(look.text, IN_CLASS) if present.is_on() else look.text
            st.code(shown, language=None, wrap_lines=True)
