"""The wide layer at widths from 1 to 8 times d_model."""

import functools

import streamlit as st

from blocks.inspection import ratios as measures
from blocks.observe.run import Run
from pages.figures import ratios
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.feed_forward import measured, tables, tabulated, words
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.steps import in_steps


@section
def other_widths(run: Run, layer: int) -> None:
    """What the width costs, by formula, and what the layer then writes, by running it."""
    code = (measures.count_wide, measures.flops_per_token, measures.at_width)
    place = explained(("feed_forward", "parameters"), code, key="ratio")
    wanted = measured.affordable_ratios(run)
    if len(wanted) < len(measures.RATIOS):
        note(words.too_wide(run, wanted))
    steps = [functools.partial(measured.at_ratio, run, layer, ratio) for ratio in wanted]
    done = in_steps(steps, what=("ratios", run, layer), key="ratios")
    if not done.found:
        return
    rows = tabulated.ratio_rows(done.found)
    place.info(words.ratio_sentence(run, layer, rows), icon=":material/lightbulb:")
    pictures = {"cost": draw_cost, "written": draw_written, "changed": draw_changed}
    for column, (name, draw) in zip(st.columns(3), pictures.items(), strict=True):
        with column:
            show(draw, run, layer, rows, key=f"ratio_{name}", alt=words.ratio_alt)
    note(words.ratio_note(run))
    tables.ratios(rows)


def draw_cost(run: Run, layer: int, rows: tuple[tuple[float, ...], ...]):
    """Parameters and FLOPs."""
    return ratios.cost(tabulated.ratio_frame(rows), own=measured.own_ratio(run), _=_)


def draw_written(run: Run, layer: int, rows: tuple[tuple[float, ...], ...]):
    """The size of the write."""
    own, size = measured.own_ratio(run), measured.own_write(run, layer)
    return ratios.written(tabulated.ratio_frame(rows), own=own, own_rms=size, _=_)


def draw_changed(run: Run, layer: int, rows: tuple[tuple[float, ...], ...]):
    """How far the output moves."""
    return ratios.changed(tabulated.ratio_frame(rows), own=measured.own_ratio(run), _=_)
