"""What the panels of phase changes share: a run that ships or is trained, and its clock."""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st

from blocks.phases.clock import Clock, Kept
from blocks.phases.facts import ClockFacts, clock_facts
from blocks.phases.recorded import Series, recorded
from blocks.training.tasks import MODULAR, TaskKind
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, line
from pages.show.chart import show
from pages.show.controls import slide
from pages.show.parts import Controls
from pages.show.steps import in_series, works
from pages.stage import link
from pages.state.values import State
from pages.words.language import _

N_SEEDS = 10
LOWEST = 1e-3  # nats: below it a loss is drawn at the edge


def found(series: Series) -> tuple[Any, ...]:
    """All values of a series, shipped or trained here; none before it has come to its end."""
    known = recorded(series) or works().found(series)
    return tuple(known) if len(known) == series.n_steps else ()


def clock(kind: str, state: State) -> Clock:
    """The training of a task with the seed that is chosen."""
    return Clock(kind=TaskKind(kind), seed=state.phase_seed)


def shown_step(series: Clock, state: State) -> int:
    """The look that is nearest to the step of the link."""
    return nearest(series.setup.steps, state[step_field(series.kind)])


def nearest(steps: Iterable[int], step: int) -> int:
    """The look nearest to a step."""
    return min(steps, key=lambda each: abs(each - step))


def step_field(kind: TaskKind) -> str:
    """The step of the clock that a task is trained on; of one task it says nothing of another."""
    if kind in MODULAR:
        return "clock_step"
    return "induction_step" if kind is TaskKind.INDUCTION else "bit_step"


@lru_cache(maxsize=64)
def facts_of(series: Clock, step: int) -> ClockFacts:
    """What all panels read off a training that is whole."""
    return clock_facts(series, found(series), step)


def says_untrained(series: Series) -> str | None:
    """In place of everything, where it neither ships nor was trained here."""
    if found(series):
        return None
    return _(
        "This run does not come with Blockscope. Training it here takes a minute or more, and the "
        "time left is shown meanwhile. Then you can move through it step by step."
    )


def so_far(series: Clock, kept: tuple[Kept, ...]) -> Chart:
    """The losses of a training that is not at its end."""
    return Chart(
        _("Loss so far"),
        pd.DataFrame(kept),
        Axis(_("step"), (0, series.setup.steps[-1]), of="step"),
        Axis(_("loss, nats"), from_0=True),
        [
            line("loss", Look(_("training examples"), palette.LEARNED)),
            line("held_out_loss", Look(_("never seen"), palette.HELD_OUT)),
        ],
        hover=_("step {n}: {value}").format(n="{x}", value="{y:.3g}"),
        legend=Legend.FOOT,
    )


def train(series: Series, place: str) -> None:
    """Train it where the reader asks, then show it."""
    if not link.is_set_here("train_phase"):
        st.button(
            _("Train it here"),
            icon=":material/model_training:",
            on_click=link.change,
            args=("train_phase", True),
            key=f"phase_begin_{place}",
        )
        return
    bar, curve = st.container(), st.empty()

    def draws(found: Sequence[Any]) -> None:
        kept = tuple(each for each in found if isinstance(each, Kept))
        if isinstance(series, Clock) and len(kept) > 1:
            with curve:
                show(so_far, series, kept, key=f"phase_so_far_{place}_{len(found)}")

    with bar:
        done = in_series(series, key=f"phase_steps_{place}", asked_by="train_phase", draws=draws)
    if len(done.found) == series.n_steps:
        st.rerun()


def seed_choice(place: str) -> None:
    """Other seeds begin with other weights and other batches; `place`: the panel."""
    label = _("Seed · 0 is ready, others are trained here")
    slide("phase_seed", label, range(N_SEEDS), place=place)


def step_slider(field: str, steps: Iterable[int], step: int, place: str) -> None:
    """The clock of a training; `place`: the panel that it stands in."""
    slide(field, _("Training step"), steps, step, place=place)


def step_choice(place: str, *, is_aside: bool = True) -> Controls:
    """The clock of a training, in the panel `place`; aside before a class that watches no step."""

    def by(series: Clock, step: int) -> None:
        step_slider(step_field(series.kind), series.setup.steps, step, place)

    return Controls(by, is_aside=is_aside)


def beyond(x: float, y: float) -> str:
    """Where the name of a point lies, as seen from the middle of its picture: behind it."""
    edge = 0.38 * math.hypot(x, y)  # sin of an eighth of a half turn
    down = "top" if y > edge else "bottom" if y < -edge else "middle"
    return f"{down} {'right' if x > edge else 'left' if x < -edge else 'center'}"


def steps_axis(facts: ClockFacts) -> Axis:
    """The one axis of all curves."""
    return Axis(_("step"), (0, facts.steps[-1]), of="step")


def now(facts: ClockFacts, n_plots: int = 1) -> list[Level]:
    """The step that is looked at, in each plot."""
    step = facts.now.step
    return [Level(x=step, color=palette.PINNED, dash="solid", plot=i) for i in range(n_plots)]
