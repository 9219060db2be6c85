"""Why pre-norm trains deeper: placements trained side by side, here and now."""

from collections.abc import Callable
from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks import ConfigError
from blocks.observe.run import Run
from blocks.training import race as training
from blocks.training.events import Evaluation
from blocks.training.race import GUESS, N_LETTERS, N_UPDATES, RECIPE, race_spec
from blocks.training.racer import Racer, evaluation
from blocks.training.spec import TrainingSpec
from pages.figures.theme import Picture
from pages.panels.normalization import race_picture as pictures
from pages.panels.normalization import shared
from pages.panels.normalization.shared import chosen_placements, names
from pages.ui import cached, link, terms
from pages.ui.chart import show
from pages.ui.controls import choose, slide, switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, enumeration
from pages.ui.link_fields.normalization import RACE_DEPTHS, RACE_RATES, RACE_WARMUPS
from pages.ui.steps import in_steps, in_turn

AT_ONCE, SMOOTH = 5, 10
STUCK = 0.85 * GUESS
SHALLOW, DEEP = 4, 12
Racers = tuple[tuple[str, TrainingSpec], ...]


def racers(run: Run) -> Racers:
    """The reader's own placement, and those beside it, each with what is trained."""
    return tuple((name, _spec(run, name)) for name in chosen_placements(run))


def _spec(run: Run, placement: str) -> TrainingSpec:
    return race_spec(
        run.config,
        placement,
        n_layers=link.value("race_depth"),
        learning_rate=float(link.value("race_learning_rate")),
        warmup_steps=int(link.value("race_warmup")),
        seed=run.seed,
        device=run.device,
    )


def steps(wanted: Racers) -> list[Callable[[], None]]:
    """A few updates of each in turn, so that the curves grow together."""
    specs = [spec for _name, spec in wanted]
    return in_turn(_train, specs, N_UPDATES, at_once=AT_ONCE)


def _train(spec: TrainingSpec, n_updates: int) -> None:
    with cached.turn(spec.device):
        _racer(spec).losses(n_updates)


@lru_cache(maxsize=12)
def _racer(spec: TrainingSpec) -> Racer[Evaluation]:
    return Racer(spec, evaluation)


def n_updates(wanted: Racers, n_steps: int) -> int:
    """Updates that all of them have made after so many steps."""
    return n_steps // len(wanted) * AT_ONCE


@lru_cache(maxsize=32)
def curves(wanted: Racers, n: int) -> pd.DataFrame:
    """One row an update: placement, update (from 1), loss as the mean of the last few, in nats."""
    tables = [
        pd.DataFrame({"placement": name, "loss": _racer(spec).losses(n)}) for name, spec in wanted
    ]
    for table in tables:
        table["loss"] = table["loss"].rolling(SMOOTH, min_periods=1).mean()
        table["update"] = range(1, len(table) + 1)
    return pd.concat(tables, ignore_index=True)


def sentence(wanted: Racers, n: int) -> str:
    """Which of them learned, and what to try next."""
    ends = curves(wanted, n).groupby("placement", sort=False)["loss"].last()
    called = names(list(ends.index))
    listed = enumeration(
        f"{called[name]} {loss:.2f}" for name, loss in zip(ends.index, ends, strict=True)
    )
    text = _("Loss after {n} steps: {listed} nats. Guessing at random gives {guess:.2f}.")
    said = [text.format(n=n, listed=listed, guess=GUESS)]
    stuck = [called[name] for name, loss in zip(ends.index, ends, strict=True) if not loss < STUCK]
    lost = [name for name, spec in wanted if len(_racer(spec).losses(n)) < n]
    if lost:
        text = _("Diverged, no finite loss any more: {lost}. Set a lower learning rate.")
        said.append(text.format(lost=enumeration(names(lost).values())))
    if n < N_UPDATES:
        return " ".join(said)
    if stuck:
        text = _("Hardly better than random guessing: {stuck}.")
        said.append(text.format(stuck=enumeration(stuck)))
    said.append(_try_next(wanted, n_stuck=len(stuck)))
    return " ".join(said).strip()


def _try_next(wanted: Racers, *, n_stuck: int) -> str:
    spec = wanted[0][1]
    if n_stuck and spec.config.n_layers > SHALLOW:
        text = _("Now set {n} layers: do all learn there? Or a warm-up: does it help?")
        return text.format(n=SHALLOW)
    if not n_stuck and spec.config.n_layers < DEEP:
        return _("All of them learn at this depth. Now try {n} layers.").format(n=DEEP)
    return ""


def race_note(wanted: Racers) -> str:
    """What was trained, with all that is needed to do it again."""
    text = _(
        "Trained live: a GPT of {n_layers} layers, d_model {d_model}, learns to sort "
        "{letters} letters; {n} steps of {batch} examples, AdamW, learning rate "
        "{rate:g}, warm-up {warmup} steps, no clipping, seed {seed}; weights as in "
        "theory ({drawn}). Curves are means over {smooth} steps. Xiong et al. 2020: "
        "with post-norm, gradients near the output are large at initialization, so it "
        "needs a warm-up."
    )
    spec = wanted[0][1]
    return text.format(
        n_layers=spec.config.n_layers,
        d_model=spec.config.d_model,
        letters=N_LETTERS,
        n=N_UPDATES,
        batch=RECIPE.batch_size,
        rate=spec.recipe.learning_rate,
        warmup=spec.recipe.warmup_steps,
        seed=spec.seed,
        drawn=terms.option(spec.config.initialization),
        smooth=SMOOTH,
    )


def alt(wanted: Racers, n: int) -> str:
    """Write the alt text of the curves."""
    return " ".join((_("Training loss of each norm placement."), sentence(wanted, n)))


@section
def who_learns(run: Run) -> None:
    """The same stack with its norm in each place, trained on the same batches."""
    code = (training.race_spec, Racer)
    place = explained(("placement_depth", "residual"), code, key="race_story")
    left, middle, right = st.columns(3)
    with left:
        slide("race_depth", _("Trained layers"), RACE_DEPTHS, link.value("race_depth"))
    with middle:
        choose("race_learning_rate", _("Learning rate"), RACE_RATES, label_of=str)
    with right:
        choose("race_warmup", _("Warm-up steps"), RACE_WARMUPS, label_of=str)
    switch("race", _("Train them side by side now"))
    if not link.value("race"):
        return
    wanted = racers(run)
    try:
        done = in_steps(steps(wanted), what=wanted, key="race_steps", is_asked=True)
    except ConfigError as error:
        shared.refused(error.faults[0])
        return
    n = n_updates(wanted, len(done.found))
    if not n:
        return
    place.info(sentence(wanted, n), icon=":material/lightbulb:")
    show(draw_race, wanted, n, key="race_curves", alt=alt)
    note(race_note(wanted))


def draw_race(wanted: Racers, n: int) -> Picture:
    """The losses so far."""
    called = names([name for name, _spec in wanted])
    n_updates, guess = training.N_UPDATES, training.GUESS
    return pictures.losses(curves(wanted, n), called, n_updates=n_updates, guess=guess, _=_)
