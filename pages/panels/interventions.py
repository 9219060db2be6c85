"""Changing something inside the model, and what comes of it: on every page that shows one."""

from functools import partial
from itertools import chain

import streamlit as st

from blocks.inspection import output_change
from blocks.model.faults import N_
from blocks.observe.interventions import Intervention, heads_of
from blocks.observe.run import Run
from blocks.observe.sweep import batches
from pages.figures.theme import Picture
from pages.panels import interventions_picture
from pages.ui import inputs, labelled, link, phone
from pages.ui.chart import columns, show
from pages.ui.controls import switch
from pages.ui.explain import explained
from pages.ui.frame import section
from pages.ui.interventions import controls, measured, words
from pages.ui.language import _
from pages.ui.lessons import progress
from pages.ui.panel import Panel
from pages.ui.said import tell
from pages.ui.steps import in_steps
from pages.ui.views import pin_token


def ablation(*fields: str) -> Panel:
    """The panel on a page that shows a model; `fields` are the settings it answers to there."""
    return Panel(
        controls.PANEL, N_("Switch a part off"), what_if, of_predictions=True, fields=fields
    )


@section
def what_if(run: Run) -> None:
    """Switch a part off, or let something else pass there; every picture shows the changed run."""
    code = (Intervention.changed, output_change.output_change)
    with explained(("interventions",), code, key="changes"):
        draw = partial(_controls, run)
        phone.folded(_("Change"), draw, key="change_fold", is_folded=_is_only_looked_at())
    what_moved(run if run.interventions else _tried(run), labelled.pinned_token(run))
    if not run.interventions:
        st.caption(_("This change takes effect only here until you apply it."))
    switch("each_in_turn", _("Ablate every head and every whole part in turn"))
    if link.value("each_in_turn"):
        each_in_turn(run.untouched, labelled.pinned_token(run))


def _controls(run: Run) -> None:
    with st.container(border=True):
        controls.change_controls(run)
        controls.other_text(run)
        controls.made(run)


def _is_only_looked_at() -> bool:
    """Whether a lesson shows a change that it has made, and asks for no other."""
    lesson = progress.now()
    return bool(lesson and not lesson.step.task)


def _tried(run: Run) -> Run:
    """The change that the controls describe, before it is applied."""
    return inputs.changed(run, (controls.chosen(run),))


def what_moved(run: Run, token: int) -> None:
    """The output against that of the untouched model."""
    tell(words.sentence(run, token))
    left, right = columns(2)
    with left:
        show(draw_moved, run, token, key="output_moved", alt=words.moved_alt, on_click=pin_token)
    if measured.reads_tokens(run):
        with right:
            show(draw_candidates, run, token, key="output_moved_to", alt=words.candidates_alt)


def each_in_turn(run: Run, token: int) -> None:
    """What every head, attention and feed-forward layer is worth for one token."""
    together = batches(run, heads_of(run.config))
    steps = [partial(measured.moved_without, run, parts, token) for parts in together]
    done = in_steps(steps, what=(run, token), key="effects", asked_by="each_in_turn")
    found = tuple(chain.from_iterable(done.found))
    if not found:
        return
    tell(words.effect_sentence(run, token, found))
    show(
        draw_effects,
        run,
        token,
        found,
        words.marked(run),
        key="effects",
        alt=words.effects_alt,
        on_click=partial(controls.switch_off, run),
    )


def draw_moved(run: Run, token: int) -> Picture:
    """How far the output moved at each token."""
    moved = measured.moved(run)
    return interventions_picture.tokens(
        moved, run.input.labels, unit=words.unit(run), pinned=token, _=_
    )


def draw_candidates(run: Run, token: int) -> Picture:
    """The likeliest tokens before and after."""
    label = run.input.labels[token]
    return interventions_picture.candidates(measured.candidates(run, token), token=label, _=_)


def draw_effects(
    run: Run, _token: int, found: tuple[float, ...], marked: tuple[int, ...]
) -> Picture:
    """All parts, each switched off alone."""
    grid = measured.grid(run, found)
    columns = words.part_columns(run)
    return interventions_picture.grid(grid, columns, unit=words.unit(run), marked=marked, _=_)
