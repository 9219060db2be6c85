"""The filmstrip of one head: from queries and keys to what is written."""

import streamlit as st

from blocks.inspection import head_steps, source
from blocks.observe.run import Run
from pages.figures import filmstrip
from pages.figures.matrix import Matrix
from pages.ui import present
from pages.ui.attention import arithmetic, controls, frames, step_words
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say

PRODUCTS = {
    "scores": ("q", "k", "raw"),
    "mix": ("pattern", "v", "mixed"),
    "write": ("mixed", "out_weight", "written"),
}
SIDE_BY_SIDE = {
    "qkv": ("q", "k", "v"),
    "scaled": ("raw", "scaled"),
    "bias": ("scaled", "biased"),
    "mask": ("scaled", "masked"),
    "softmax": ("masked", "pattern"),
}


@section
def steps_of_a_head(run: Run, layer: int, head: int, token: int) -> None:
    """All steps small, one of them large, and one cell of it in numbers."""
    step = frames.current_step(run)
    key = frames.chosen_key(run, layer, head, token)
    feature = frames.chosen_feature(run, step)
    cell = key, step, feature
    if present.is_on():
        _on_one_screen(run, layer, head, token, cell)
        return
    code = (*source.heads_source(), head_steps.attention_steps)
    with explained(("attention_steps", "attention"), code, key="filmstrip"):
        say(step_words.reads_sentence, run, layer, head, token)
    shown = run, layer, head, token
    show(
        draw_strip,
        *shown,
        step,
        key="strip",
        alt=step_words.strip_alt,
        on_click=controls.open_step,
    )
    controls.step_choice(run, step)
    controls.cell_choice(run, key, step, feature)
    st.markdown(step_words.step_sentence(*shown, step))
    _step_large(*shown, cell)
    if said := step_words.window_note(*shown):
        note(said)
    cell_in_numbers(*shown, key, step)


def _on_one_screen(run: Run, layer: int, head: int, token: int, cell: tuple[int, str, int]) -> None:
    """For a projector: one step, and beside it the cell in numbers; keys lead through the steps."""
    key, step, feature = cell
    with st.container(horizontal=True, vertical_alignment="center"):
        controls.step_keys(run, step)
        st.markdown(step_words.step_sentence(run, layer, head, token, step), width="stretch")
    left, right = st.columns([7, 5], vertical_alignment="center")
    with left:
        _step_large(run, layer, head, token, cell)
    with right:
        cell_in_numbers(run, layer, head, token, key, step)
    with st.sidebar:
        controls.cell_choice(run, key, step, feature)


def _step_large(run: Run, layer: int, head: int, token: int, cell: tuple[int, str, int]) -> None:
    shown = run, layer, head, token, *cell
    show(draw_step, *shown, key="step", alt=step_words.step_alt, on_click=controls.open_cell)


def cell_in_numbers(run: Run, layer: int, head: int, token: int, key: int, step: str) -> None:
    """Every step of the chosen cell, the current one marked."""
    features = frames.chosen_feature(run, "mix"), frames.chosen_feature(run, "write")
    lines = arithmetic.written_out(run, layer, head, token, key, features)
    with st.container(border=True, key="in_numbers"):
        st.markdown("  \n".join(_line(name, line, name == step) for name, line in lines.items()))


def _line(name: str, line: str, is_current: bool) -> str:
    title = _(frames.STEP_TITLES[name])
    return f":orange[▸ **{title}** →] {line}" if is_current else f"**{title}** → {line}"


def draw_strip(run: Run, layer: int, head: int, token: int, step: str):
    """All steps small."""
    found = frames.strip_frames(run, layer, head, token)
    return filmstrip.strip(
        [(name, Matrix(**frame)) for name, frame in found],
        current=step,
        pinned=frames.window(run, token).inside(token),
        _=_,
    )


def draw_step(run: Run, layer: int, head: int, token: int, key: int, step: str, feature: int):
    """One step large."""

    def matrix(name: str) -> Matrix:
        return Matrix(**frames.matrix(run, layer, head, token, name))

    chosen = filmstrip.Chosen(*frames.inside(run, token, key, feature))
    numbers = filmstrip.Numbers(range(*frames.window(run, token)))
    title = _(frames.STEP_TITLES[step])
    if step in PRODUCTS:
        left, right, result = (matrix(name) for name in PRODUCTS[step])
        right = right.transposed if step == "scores" else right
        return filmstrip.product(left, right, result, chosen, numbers, title=title, _=_)
    names = SIDE_BY_SIDE[step]
    if step == "mask" and "bias" in frames.steps(run):
        names = ("biased", "masked")
    matrices = [matrix(name) for name in names]
    return filmstrip.side_by_side(matrices, chosen, numbers, title=title, _=_)
