"""The attention of one fixed row, as the model learns."""

import functools

import streamlit as st

from blocks.observe import heads as head_measures
from blocks.observe.run import Run
from blocks.training.training_run import TrainingRun
from pages.figures import births, heads
from pages.sections.heads import one_head
from pages.ui import head_words, labelled, layers, link, runs, watched
from pages.ui.chart import show
from pages.ui.controls import choose, slide
from pages.ui.explain import heading, note
from pages.ui.language import _
from pages.ui.training_fields import HEAD_MEASURES, LOOKED_AT


def how_heads_come_to_be(run: TrainingRun) -> int:
    """All heads at a kept step, one of them large, and all of them over all kept steps.

    Returns the step that is looked at.
    """
    code = (head_measures.frame,)
    heading(_("How attention comes to be"), ("heads", "induction"), code, key="births")
    _input_choice()
    step = step_choice(run)
    seen = watched.looked_at(run, step)
    shown = seen, labelled.selected_layer(seen), labelled.selected_head(seen)
    token = labelled.pinned_token(seen)
    _all_and_one(*shown, token)
    _over_steps(run, shown[1], shown[2], step)
    return step


def _input_choice() -> None:
    choose("looked_at", _("The example that it reads"), LOOKED_AT)
    if link.value("looked_at") == "own":
        st.text_area(
            _("Sentence"),
            height=70,
            label_visibility="collapsed",
            **link.view("text", link.value("text")),
        )


def step_choice(run: TrainingRun) -> int:
    """The kept step that is looked at: the nearest to the link's, or the newest."""
    steps, asked = run.snapshots.steps, link.value("at_step")
    step = steps[-1] if asked is None else run.snapshots.at(asked)[0]
    if len(steps) > 1:
        slide("at_step", _("Step · those with saved weights"), steps, step)
    return step


def _all_and_one(seen: Run, layer: int, head: int, token: int) -> None:
    st.info(head_words.habits_sentence(seen), icon=":material/lightbulb:")
    left, right = st.columns(2)
    shown = seen, layer, head, token
    with left:
        show(
            draw_tiles,
            *shown,
            key="trained_tiles",
            alt=head_words.tiles_alt,
            on_click=functools.partial(_open_head, seen.config.n_heads),
        )
    with right:
        one_head(*shown)


def _over_steps(run: TrainingRun, layer: int, head: int, step: int) -> None:
    choose("head_measure", _("Where its weight goes"), HEAD_MEASURES)
    measure = link.value("head_measure")
    kept = run.snapshots.steps
    row = watched.read_tokens(run.spec.task)
    shown = run.id, kept, row, measure, layer, head, step
    show(draw_births, *shown, key="head_births", alt=births_alt, on_click=open_point)
    note(births_sentence(*shown))


def draw_tiles(run: Run, layer: int, head: int, token: int):
    """A row of tiles for every layer."""
    return heads.overview(
        watched.head_tiles(run),
        watched.labelled_tiles(run),
        columns=watched.tile_columns(run),
        selected=layers.tile(run, layer, head),
        pinned=labelled.row_share(run, token),
        _=_,
    )


def draw_births(
    run_id: str, kept: tuple, row: tuple, measure: str, layer: int, head: int, step: int
):
    """One measure of every head at every kept step."""
    n_heads = runs.runs().get(run_id).spec.config.n_heads
    return births.heads_over_steps(
        watched.shares_by_step(run_id, kept, row, measure),
        selected=layer * n_heads + head,
        now=step,
        title=head_words.measure_title(measure),
        _=_,
    )


def births_sentence(run_id: str, kept: tuple, row: tuple, measure: str, *_shown: int) -> str:
    """Which head reads so most, and since when."""
    return head_words.births_sentence(watched.shares_by_step(run_id, kept, row, measure), measure)


def births_alt(*shown) -> str:
    """The picture in words."""
    return births_sentence(*shown)


def _open_head(n_heads: int, customdata: list) -> None:
    """A tile was clicked."""
    layer, head = divmod(int(customdata[0]), n_heads)
    link.change("layer", layer)
    link.change("head", head)


def open_point(customdata: list) -> None:
    """A point of a line was clicked: its head, at its step."""
    step, layer, head = (int(number) for number in customdata)
    link.change("at_step", step)
    link.change("layer", layer)
    link.change("head", head)
