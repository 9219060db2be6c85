"""Which placement learns: placements trained side by side, here and now."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import streamlit as st

from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.training import race as training
from blocks.training.pace import measured_pace
from blocks.training.race import (
    DEEP,
    GUESS,
    N_LETTERS,
    RECIPE,
    SHALLOW,
    SMOOTH,
    RaceFacts,
    race_spec,
)
from blocks.training.racer import Race, Racer
from blocks.training.recorded import Learned, recorded
from blocks.training.spec import TrainingSpec
from pages.figures.chart import Chart, line
from pages.figures.series import placement_look, training_losses
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.normalization import shared
from pages.server import cached
from pages.show import words
from pages.show.chart import show
from pages.show.controls import choose, slide, switch
from pages.show.explain import explained, note
from pages.show.parts import Shown
from pages.show.said import say
from pages.show.steps import in_series, works
from pages.show.ways import way
from pages.stage import present
from pages.state.link_fields.normalization import RACE_DEPTHS, RACE_RATES, RACE_WARMUPS
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, enumeration, fill, sentences

AT_ONCE = 5
Racers = tuple[tuple[str, TrainingSpec], ...]
Losses = tuple[tuple[str, float], ...]


def racers(run: Run, state: State) -> Racers:
    """The reader's own placement, and those beside it, each with what is trained."""
    return tuple((name, _spec(run, name, state)) for name in shared.chosen_placements(run, state))


def _spec(run: Run, placement: str, state: State) -> TrainingSpec:
    return race_spec(
        run.config,
        placement,
        n_layers=state.race_depth,
        learning_rate=float(state.race_learning_rate),
        warmup_steps=int(state.race_warmup),
        seed=run.seed,
        device=run.device,
    )


def race_facts(wanted: Racers, found: tuple[Learned, ...]) -> RaceFacts:
    """What each has learned in the pieces that a race has made so far."""
    n_updates = len(found) // len(wanted) * AT_ONCE
    return _race_facts(wanted, tuple(_race(wanted).learned(found)), n_updates)


def finished_facts(wanted: Racers) -> RaceFacts | None:
    """What each had learned in the end, where runs of all of them ship."""
    found = tuple(filter(None, (recorded(spec) for _name, spec in wanted)))
    return _race_facts(wanted, found, training.N_UPDATES) if len(found) == len(wanted) else None


@lru_cache(maxsize=32)
def _race_facts(wanted: Racers, learned: tuple[Learned, ...], n_updates: int) -> RaceFacts:
    names = [name for name, _spec in wanted]
    losses = [each.losses for each in learned]
    facts = training.race_facts(names, losses, wanted[0][1], n_updates)
    return replace(facts, without_warmup=_without_warmup(wanted))


def _without_warmup(wanted: Racers) -> Losses:
    """The last losses of the same runs without their warm-up, where these ship."""
    if not wanted[0][1].recipe.warmup_steps:
        return ()
    cold = (
        (name, replace(spec, recipe=spec.recipe.replace(warmup_steps=0))) for name, spec in wanted
    )
    found = finished_facts(tuple(cold))
    return found.losses if found else ()


def _race(wanted: Racers) -> Race:
    return Race(tuple(spec for _name, spec in wanted), training.N_UPDATES, AT_ONCE)


def says_race(facts: RaceFacts) -> str:
    """Which of them learned."""
    called = shared.names(name for name, _loss in facts.losses)
    listed = _listed(facts.losses)
    text = _(
        "The task is to sort {letters} letters. The loss after {n_updates} steps, by norm "
        "placement, is {listed} nats. Guessing at random gives {guess:.2f}."
    )
    said = [fill(text, facts, listed=listed, letters=N_LETTERS, guess=GUESS)]
    if facts.diverged:
        text = _("Diverged (the loss is no longer finite): {lost}. Set a lower learning rate.")
        said.append(text.format(lost=enumeration(called[name] for name in facts.diverged)))
    if facts.is_over and facts.stuck:
        text = _("Hardly better than random guessing: {stuck}.")
        said.append(text.format(stuck=enumeration(called[name] for name in facts.stuck)))
    return sentences(*said, _says_warmup(facts))


def _says_warmup(facts: RaceFacts) -> str:
    """Whom the warm-up helps, and whom it only slows down."""
    if not (facts.is_over and facts.without_warmup):
        return ""
    listed, now = _listed(facts.without_warmup), dict(facts.losses)
    said = [_("Without the warm-up the loss is {listed} nats.").format(listed=listed)]
    called = shared.names(now)
    helped = [called[name] for name, loss in facts.without_warmup if now[name] < loss]
    slowed = [called[name] for name, loss in facts.without_warmup if now[name] >= loss]
    if helped:
        text = _("Norm placements that benefit from small first updates: {names}.")
        said.append(text.format(names=enumeration(helped)))
    if slowed:
        text = _("Norm placements that the warm-up only slows down: {names}.")
        said.append(text.format(names=enumeration(slowed)))
    return sentences(*said)


def _listed(losses: Losses) -> str:
    called = shared.names(name for name, _loss in losses)
    return enumeration(f"{called[name]} {loss:.2f}" for name, loss in losses)


def says_race_and_next(facts: RaceFacts) -> str:
    return sentences(says_race(facts), _try_next(facts))


def _try_next(facts: RaceFacts) -> str:
    n_layers, called = facts.spec.config.n_layers, shared.names(dict(facts.losses))
    if facts.is_over and facts.stuck and n_layers > SHALLOW:
        text = _("Now try {n} layers. Does training then work with norm placement {stuck}?")
        if not facts.spec.recipe.warmup_steps:
            text = _(
                "Now try {n} layers, or a warm-up. Does training then work with norm "
                "placement {stuck}?"
            )
        return text.format(n=SHALLOW, stuck=enumeration(called[name] for name in facts.stuck))
    if facts.is_over and not facts.stuck and n_layers < DEEP:
        text = _("All of them learn at this depth. Now try {n} layers.")
        if len(called) == 2:
            text = _("Both learn at this depth. Now try {n} layers.")
        return text.format(n=DEEP)
    return ""


def says_setting(facts: RaceFacts, *, is_recorded: bool) -> str:
    """What was trained, with all that is needed to do it again."""
    text = _(
        "Each model is a GPT of {config.n_layers} layers of the same kind as yours, with d_model "
        "{config.d_model}."
    )
    more = _(
        "Each learns to sort {letters} letters: {n} steps of {batch} examples, AdamW, "
        "learning rate {recipe.learning_rate:g}, {recipe.warmup_steps} warm-up steps, no gradient "
        "clipping, seed {seed}; weights initialized as in the theory ({drawn}). Curves are moving "
        "averages over {smooth} steps."
    )
    spec, drawn = facts.spec, terms.option(facts.spec.config.initialization)
    sizes = {"n": facts.n_planned, "letters": N_LETTERS, "batch": RECIPE.batch_size}
    said = fill(more, spec, drawn=drawn, smooth=SMOOTH, **sizes)
    return sentences(fill(text, spec), words.trained(is_recorded=is_recorded), said)


def losses(facts: RaceFacts) -> Chart:
    """Loss over updates, a curve a placement."""
    names = shared.names(name for name, _loss in facts.losses)
    curves = [
        line("loss", placement_look(name, names[str(name)]), rows=rows)
        for name, rows in facts.curves.groupby("placement", sort=False)
    ]
    title, n = _("Training loss of each run"), facts.n_planned
    return training_losses(title, curves, n_updates=n, guess=GUESS, tall=210, _=_)


@section
def who_learns(run: Run, state: State) -> None:
    """The same stack with its norm in each place, trained on the same batches."""
    place = explained(("race", "residual"), (training.race_spec, Racer), key="race_story")
    with present.aside():
        left, middle, right, last = st.columns([4, 4, 3, 4], vertical_alignment="center")
    with left:
        slide("race_depth", _("Layers per model"), RACE_DEPTHS)
    with middle:
        choose("race_learning_rate", _("Learning rate"), RACE_RATES, label_of=str)
    with right:
        choose("race_warmup", _("Warm-up steps"), RACE_WARMUPS, label_of=str)
    with last:
        switch("race", _("Train side by side now"))
    wanted = racers(run, state)
    if state.race:
        each = _("of {n} training steps each").format(n=AT_ONCE)
        found = in_series(_race(wanted), key="race_steps", asked_by="race", each=each).found
        if len(found) >= len(wanted):
            _shown(wanted, tuple(found), place=place, facts=race_facts, state=state)
    elif finished_facts(wanted) is not None:
        _shown(wanted, place=place, facts=finished_facts, state=state)
    else:
        _offered(wanted)


def _offered(wanted: Racers) -> None:
    """What stands in place of a run that was not recorded: it can be made here, now."""
    works().prepare(wanted[0][1].device)
    text = _(
        "This run was not recorded. You can train here now: {runs} models learn to sort "
        "{letters} letters, {n} steps each, in about {seconds:.0f} s altogether."
    )
    numbers = {"runs": len(wanted), "letters": N_LETTERS, "n": training.N_UPDATES}
    st.info(text.format(seconds=_seconds(wanted), **numbers), icon=":material/info:")
    way(_("Train now"), "race_now", icon=":material/play_arrow:", race=True)


@lru_cache(maxsize=32)
def _seconds(wanted: Racers) -> float:
    """About how long all of them take, from a few timed updates of the first."""
    spec = wanted[0][1]
    with cached.turn(spec.device):
        update = measured_pace(spec).update
    return max(1.0, len(wanted) * training.N_UPDATES * update)


def _shown(*values: Any, place: Any, facts: Callable[..., Any], state: State) -> None:
    """The losses of all, and what they say."""
    with place:  # a lesson says itself what comes next
        say(says_race if state.lesson else says_race_and_next, *values, facts=facts)
    show(losses, *values, facts=facts, key="race_curves")
    note(says_setting(facts(*values), is_recorded=facts is finished_facts))


def at(run: Run, state: State) -> tuple[Hashable, ...] | None:
    wanted = racers(run, state)
    return (wanted,) if finished_facts(wanted) else None


PANEL = Panel(
    "race",
    N_("Which norm placement trains best?"),
    who_learns,
    fields=("norm_kind", "activation"),
    reads_input=False,
    of_this_run=False,
    at=at,
    facts=finished_facts,
    shows=(Shown(losses, "race_curves"),),
)
