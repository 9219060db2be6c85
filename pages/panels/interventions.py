"""Changing something inside the model, and what comes of it: on every page that shows one."""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain

import streamlit as st

from blocks.inspection import output_change
from blocks.model.faults import N_
from blocks.observe.interventions import Intervention, heads_of
from blocks.observe.run import Run
from blocks.observe.sweep import batches
from pages.figures.theme import Picture, token_label
from pages.page.frame import section
from pages.page.panel import Panel
from pages.panels import interventions_picture
from pages.server.passes import says_each_part
from pages.show import inputs, phone
from pages.show.chart import columns, show
from pages.show.controls import switch
from pages.show.explain import explained, note
from pages.show.interventions import controls, measured, words
from pages.show.said import tell
from pages.show.steps import in_steps
from pages.show.views import pin_token
from pages.stage import present, progress
from pages.stage.phone import is_phone
from pages.state import labelled
from pages.state.values import State
from pages.words.language import _

Found = tuple[float, ...]
ROOM, ROOM_LEFT = 340, 310  # pixels of a picture before a class; below changes that are listed


def ablation(*fields: str) -> Panel:
    """The panel on a page that shows a model; `fields` are the settings it answers to there."""
    return Panel(
        controls.PANEL,
        N_("Switch a part off"),
        what_if,
        of_predictions=True,
        fields=fields,
        instruments=("ablation",),
    )


@section
def what_if(run: Run, state: State) -> None:
    """Switch a part off, or let something else pass there; every picture shows the changed run."""
    code = (Intervention.changed, output_change.output_change)
    with explained(("interventions",), code, key="changes"):
        draw = partial(_controls, run)
        phone.folded(_("Change"), draw, key="change_fold", is_folded=_is_only_looked_at())
    what_moved(run if run.interventions else _tried(run), labelled.pinned_token(run, state))
    if said := _not_applied(run):
        st.caption(said)
    with nullcontext() if progress.now() else present.aside():  # a lesson may ask for it
        switch("each_in_turn", _("Ablate every head and every sub-layer in turn"))
        if not state.each_in_turn and (said := says_each_part(run)):
            st.caption(said)
    if state.each_in_turn:
        each_in_turn(run.untouched, labelled.pinned_token(run, state))


def _controls(run: Run) -> None:
    """What is changed; before a class how it is changed waits in the sidebar."""
    with st.container(border=not present.is_on()):
        controls.change_controls(run)
        with present.aside():
            controls.other_text(run)
        controls.made(run)


def _not_applied(run: Run) -> str:
    """Where the change that the controls describe takes effect; empty once it is applied.

    A class is not told.
    """
    if present.is_on():
        return ""
    if not run.interventions:
        return _("This change takes effect only here until you apply it.")
    change = controls.chosen(run)
    if change in run.interventions or _is_only_looked_at():
        return ""
    return _(
        "This shows the changes already applied. The one chosen above ({change}) is not among"
        " them until you apply it too."
    ).format(change=words.change(run, change))


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
    room = ROOM_LEFT if run.interventions else ROOM
    with left:
        show(
            draw_moved,
            run,
            token,
            key="output_moved",
            alt=words.moved_alt,
            on_click=pin_token,
            room=room,
        )
    if measured.reads_tokens(run):
        n = measured.N_AT_THE_WALL if present.is_on() else measured.N_CANDIDATES
        with right:
            show(
                draw_candidates,
                run,
                token,
                n,
                key="output_moved_to",
                alt=words.candidates_alt,
                room=room,
            )


def each_in_turn(run: Run, token: int) -> None:
    """What every head, attention and feed-forward layer is worth for one token."""
    together = batches(run, heads_of(run.config))
    steps = [partial(measured.moved_without, run, parts, token) for parts in together]
    done = in_steps(steps, what=(run, token), key="effects", asked_by="each_in_turn")
    found = tuple(chain.from_iterable(done.found))
    if not found:
        return
    tell(words.effect_sentence(run, token, found))
    shown, on_click = (run, token, found, words.marked(run)), partial(controls.switch_off, run)
    if is_side_by_side(run):
        show(draw_deep_effects, *shown, key="effects", on_click=on_click)
    else:
        left, right = columns([5, 3])
        if has_heads(run):
            with left:
                show(draw_effects, *shown, True, key="effects", on_click=on_click)
        with right:
            show(draw_effects, *shown, False, key="part_effects", on_click=on_click)
    if has_heads(run):
        note(says_scales(run, found))


def draw_moved(run: Run, token: int) -> Picture:
    """How far the output moved at each token."""
    moved = measured.moved(run)
    return interventions_picture.tokens(
        moved, run.input.labels, unit=words.unit(run), pinned=token, _=_
    )


def draw_candidates(run: Run, token: int, n: int) -> Picture:
    """The likeliest tokens before and after."""
    table, label = measured.candidates(run, token, n), run.input.labels[token]
    return interventions_picture.candidates(table, token=label, _=_)


def has_heads(run: Run) -> bool:
    return any(part.head is not None for part in heads_of(run.config))


def is_side_by_side(run: Run) -> bool:
    """Whether heads and whole parts of many layers are one picture, a column for each layer."""
    return labelled.is_deep(run) and has_heads(run) and not is_phone()


def says_scales(run: Run, found: Found) -> str:
    """How far the two color scales reach."""
    heads, parts = measured.reach(run, found)
    text = _("The two color scales differ: heads reach {heads:.3g}, sub-layers {parts:.3g} {unit}.")
    return text.format(heads=heads, parts=parts, unit=words.unit(run))


def draw_effects(
    run: Run, token: int, found: Found, marked: tuple[int, ...], of_heads: bool
) -> Picture:
    """All heads, or all whole parts, each switched off alone."""
    title = _("Change after {token} with each sub-layer ablated alone")
    if of_heads:
        title = _("Change after {token} with each head ablated alone")
    title = title.format(token=token_label(run.input.labels[token]))
    return grid(run, found, marked, of_heads=of_heads, title=title, unit=words.unit(run))


def draw_deep_effects(run: Run, token: int, found: Found, marked: tuple[int, ...]) -> Picture:
    """All heads and all whole parts of many layers, each switched off alone."""
    title = _("Change after {token} with each head and each sub-layer ablated alone")
    title = title.format(token=token_label(run.input.labels[token]))
    return deep_grid(run, found, marked, title=title, unit=words.unit(run))


def deep_grid(
    run: Run,
    found: Sequence[float],
    marked: tuple[int, ...],
    *,
    title: str,
    unit: str,
    is_signed: bool = False,
) -> Picture:
    """What heads and whole parts of many layers are worth: a cell each."""
    heads, parts = (_cells(run, found, marked, of_heads=of_heads) for of_heads in (True, False))
    return interventions_picture.deep(
        heads, parts, title=title, unit=unit, is_signed=is_signed, _=_
    )


def grid(
    run: Run,
    found: Sequence[float],
    marked: tuple[int, ...],
    *,
    of_heads: bool,
    title: str,
    unit: str,
    is_signed: bool = False,
) -> Picture:
    """What heads, or whole parts, are worth: a cell each."""
    return interventions_picture.grid(
        _cells(run, found, marked, of_heads=of_heads),
        title=title,
        across=_("head") if of_heads else _("a sub-layer"),
        unit=unit,
        is_signed=is_signed,
        _=_,
    )


def _cells(
    run: Run, found: Sequence[float], marked: tuple[int, ...], *, of_heads: bool
) -> interventions_picture.Cells:
    """What heads, or whole parts, are worth, with their names."""
    every = heads_of(run.config)
    numbers = tuple(i for i, part in enumerate(every) if (part.head is not None) is of_heads)
    n_columns = len(numbers) // run.config.n_layers
    return interventions_picture.Cells(
        measured.grid(run, found).ravel()[list(numbers)].reshape(-1, n_columns),
        tuple(words.part_column(every[i]) for i in numbers[:n_columns]),
        tuple(words.part_called(run, i) for i in numbers),
        numbers,
        marked,
    )
