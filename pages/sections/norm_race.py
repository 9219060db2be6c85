"""Why pre-norm trains deeper: placements trained side by side, here and now."""

import streamlit as st

from blocks import ConfigError
from blocks.observe.run import Run
from blocks.training import race as training
from pages.figures import race as pictures
from pages.ui import link
from pages.ui.chart import show
from pages.ui.controls import choose, slide, switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.normalization import controls, race
from pages.ui.normalization.depth_words import names
from pages.ui.normalization.fields import RACE_DEPTHS, RACE_RATES, RACE_WARMUPS
from pages.ui.steps import in_steps


@section
def who_learns(run: Run) -> None:
    """The same stack with its norm in each place, trained on the same batches."""
    code = (training.race_spec, training.Racer)
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
    wanted = race.racers(run)
    try:
        done = in_steps(race.steps(wanted), what=wanted, key="race_steps", is_asked=True)
    except ConfigError as error:
        controls.refused(error.faults[0])
        return
    n = race.n_updates(wanted, len(done.found))
    if not n:
        return
    place.info(race.sentence(wanted, n), icon=":material/lightbulb:")
    show(draw_race, wanted, n, key="race_curves", alt=race.alt)
    note(race.note(wanted))


def draw_race(wanted: race.Racers, n: int):
    """The losses so far."""
    called = names([name for name, _spec in wanted])
    n_updates, guess = training.N_UPDATES, training.GUESS
    return pictures.losses(race.curves(wanted, n), called, n_updates=n_updates, guess=guess, _=_)
