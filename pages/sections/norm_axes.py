"""What each norm averages over, what comes out, and what that depends on."""

import streamlit as st

from blocks.inspection import norm_compared
from blocks.model import normalization
from blocks.observe.run import Run
from pages.figures import norm_axes, norm_outputs
from pages.ui import labelled
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.normalization import controls, measured, tables, words
from pages.ui.said import say

CODE = (
    normalization.LayerNorm,
    normalization.RMSNorm,
    normalization.BatchNorm,
    norm_compared.dependence,
)


@section
def what_norms_see(run: Run, layer: int) -> None:
    """The three norms on the same values of this run."""
    stage, token = controls.shown_norm_input(run, layer), labelled.pinned_token(run)
    with explained(("norm_axes", "normalization"), CODE, key="norms"):
        say(words.axes_sentence, run)
    show(draw_axes, run, token, key="norm_axes", alt=words.axes_alt)
    left, right = columns(2)
    shown = run, layer, stage
    with left:
        show(draw_tokens, *shown, token, key="norm_tokens", alt=words.outputs_alt)
    with right:
        show(draw_features, *shown, key="norm_features", alt=words.outputs_alt)
    say(words.outputs_sentence, *shown)


@section
def what_they_depend_on(run: Run, layer: int) -> None:
    """Whether a token leaves a norm otherwise when others stand around it."""
    shown = run, layer, controls.shown_norm_input(run, layer)
    with explained(("norm_axes", "normalization"), CODE, key="dependence"):
        say(words.dependence_sentence, *shown)
    left, right = st.columns([5, 4])
    with left:
        tables.dependence(*shown)
    with right:
        tables.running(*shown)
    note(words.dependence_note(*shown))


def draw_axes(run: Run, token: int):
    """The cells that share their statistics."""
    batch, _seq_len = run.input.shape
    shape = norm_axes.Shape(batch, run.input.labels, run.config.d_model)
    n_tokens = batch * len(run.input.labels)
    grids = [
        norm_axes.Grid("LayerNorm", *words.grid_note("layernorm", n_tokens, shape.d_model)),
        norm_axes.Grid("RMSNorm", *words.grid_note("rmsnorm", n_tokens, shape.d_model)),
        norm_axes.Grid("BatchNorm", *words.grid_note("batchnorm", n_tokens, shape.d_model)),
    ]
    return norm_axes.shared_cells(grids, shape, pinned=token, _=_)


def draw_tokens(run: Run, layer: int, stage: str, token: int):
    """Over the features of each token."""
    found = measured.compared(run, layer, stage).per_token
    labels = run.input.labels
    return norm_outputs.of_tokens(found, words.norm_names(), labels, pinned=token, _=_)


def draw_features(run: Run, layer: int, stage: str):
    """Over all tokens, of each feature."""
    found = measured.compared(run, layer, stage).per_feature
    return norm_outputs.of_features(found, words.norm_names(), _=_)
