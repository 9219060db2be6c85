"""What flows through a block: the block drawn, and what its values look like beside it."""

from collections.abc import Hashable
from typing import Any

import pandas as pd

from blocks.inspection import source
from blocks.inspection.flow_facts import FlowFacts, Loudest, loudest
from blocks.model.faults import N_
from blocks.model.kinds import NormKind, NormPlacement
from blocks.observe import flow as flow_measures
from blocks.observe.run import Run
from pages.figures import flow
from pages.figures.counting import told_apart
from pages.figures.theme import Picture
from pages.page import panel
from pages.page.declared import Panel
from pages.panels.block import strip_picture
from pages.server import cached
from pages.show.parts import Beside, Controls, File, Matrix, Say, Table
from pages.show.views import layer_choice, sinks_switch
from pages.stage import link
from pages.stage.history import run_before
from pages.state import labelled, sinks
from pages.state.values import State
from pages.words.language import _, fill, literal, sentences


def flow_facts(run: Run, layer: int, is_apart: bool) -> FlowFacts:
    """Every stage of a layer, with what it is called; `is_apart`: without the sinks."""
    seen, text = cached.recording(run), run.input.text
    ends = (seen.tensor(name, layer)[:, text] for name in ("resid_pre", "resid_post"))
    return FlowFacts(run, labelled.stages(run, layer, is_apart), loudest(*ends), is_apart)


def says_flow(facts: FlowFacts) -> str:
    """What the stream does in this run, and why."""
    text = _(
        "In this run, the residual stream enters the layer with an RMS of {entering:hundredths} "
        "and leaves it with an RMS of {end:hundredths}."
    )
    adds = _("The sub-layer that adds the most is {label} (RMS {rms:hundredths}).")
    most = facts.largest_write if facts.run.config.norm.residual else None
    return sentences(
        fill(text, facts),
        _one_token(facts.run, facts.loudest, facts.is_apart) if facts.loudest else "",
        "" if most is None else fill(adds, most),
        _reason(facts.run),
    )


def _one_token(run: Run, found: Loudest, is_apart: bool) -> str:
    """That the RMS over all tokens is that of a few, and what it is of the others."""
    text = _(
        "{token} contributes most: it leaves with an RMS of {rms:hundredths}, while the "
        "median token enters with {median_before:hundredths} and leaves with "
        "{median_after:hundredths}."
    )
    if is_apart:
        text = _("{token} is left out of these figures: it leaves with an RMS of {rms:hundredths}.")
    return fill(text, found, token=literal(told_apart(run.input.labels)[found.token]))


def _reason(run: Run) -> str:
    norm = run.config.norm
    if not norm.residual:
        return _("Without the residual connection, each part passes on only its own output.")
    if norm.norm_kind is NormKind.NONE:
        return _("Without a norm, nothing brings the stream back to a common scale.")
    if norm.norm_kind is NormKind.BATCH_NORM and not (run.training or run.weights):
        return _(
            "In evaluation mode, BatchNorm uses running statistics. In an untrained model "
            "these are still mean 0 and variance 1, so BatchNorm changes almost nothing. "
            "Turn on training mode."
        )
    match norm.norm_placement:
        case NormPlacement.PRE:
            return _("The norms are on the branches, so nothing rescales the stream itself.")
        case NormPlacement.POST:
            return _("The norms are on the trunk, so the stream is rescaled after every addition.")
        case NormPlacement.SANDWICH:
            return _(
                "Each branch output is normalized before it is added, so all outputs have about "
                "the same size apart from the learned gain."
            )
        case NormPlacement.RES_POST:
            return _(
                "Each branch reads the unnormalized stream, and its output is normalized "
                "before it is added, so nothing rescales the stream itself."
            )
        case NormPlacement.PARALLEL:
            return _(
                "Attention and feed-forward read the same normalized input, and their "
                "outputs are added together."
            )


def table(facts: FlowFacts) -> pd.DataFrame:
    """Every stage with its moments."""
    stages = facts.stages
    found = {
        _("stage"): stages["label"],
        _("mean"): stages["mean"],
        _("std"): stages["std"],
        _("min"): stages["min"],
        _("max"): stages["max"],
        "RMS": stages["rms"],
        _("beyond 3 std"): stages["outlier_share"].map("{:.2%}".format),
    }
    return pd.DataFrame(found).round(4)


def open_stage(customdata: list[Any]) -> None:
    link.change("stage", customdata[0])
    panel.open_panel("stage")


def draw_bands(run: Run, layer: int, is_apart: bool, before: Run | None) -> Picture:
    """Draw the values at each stage, and the ghost of the setting before."""
    ghost = None
    if before is not None and layer < before.config.n_layers:
        ghost = cached.flow(before, layer, sinks.set_apart(before, is_apart))
    return flow.bands(labelled.stages(run, layer, is_apart), ghost, _=_)


def draw_strip(run: Run, layer: int, is_apart: bool, _before: Run | None, stage: str) -> Picture:
    return strip_picture.block_strip(labelled.stages(run, layer, is_apart), selected=stage, _=_)


def of_a_layer(run: Run, state: State) -> tuple[Hashable, ...]:
    """The layer that is looked at, whether sinks are apart, the run before, and the stage."""
    layer = labelled.selected_layer(run, state)
    stage = labelled.selected_stage(run, layer, state)
    return run, layer, state.sinks_apart, run_before(run), stage


def moments(run: Run, layer: int, is_apart: bool) -> pd.DataFrame:
    return cached.flow(run, layer, sinks.set_apart(run, is_apart)).drop(columns="reads")


PANEL = Panel(
    "flow",
    N_("What flows through it?"),
    choices=layer_choice,
    fields=("d_model", "n_heads", "token_mixer", "d_ff", "norm_placement", "norm_kind"),
    concepts=("block", "flow", "residual"),
    code=lambda run: (*source.layer_source(run.config), flow_measures.moments),
    at=of_a_layer,
    shows=(
        Say(says_flow, flow_facts),
        Controls(lambda run: sinks_switch(run, "flow")),
        Beside(
            Matrix(draw_strip, "strip", click=open_stage),
            Matrix(draw_bands, "bands"),
            widths=(5, 7),
        ),
        Table(table, "flow_table", facts=flow_facts),
        File(moments, "flow", counted=("layer",)),
    ),
)
