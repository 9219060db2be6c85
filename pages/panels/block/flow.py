"""What flows through a block: the block drawn, and what its values look like beside it."""

from typing import Any

import pandas as pd

from blocks.inspection import source
from blocks.inspection.flow_facts import FlowFacts, Loudest, loudest
from blocks.model.kinds import NormKind, NormPlacement
from blocks.observe import flow as flow_measures
from blocks.observe.run import Run
from pages.figures import flow
from pages.figures.counting import told_apart
from pages.figures.numbers import hundredths
from pages.figures.theme import Picture
from pages.panels.block import strip_picture
from pages.ui import cached, labelled, link, panel, sinks
from pages.ui.chart import columns, show
from pages.ui.explain import explained
from pages.ui.frame import section
from pages.ui.history import run_before
from pages.ui.language import _, literal, sentences
from pages.ui.said import say
from pages.ui.tables import show_table


def flow_facts(run: Run, layer: int, is_apart: bool) -> FlowFacts:
    """Every stage of a layer, with what it is called; `is_apart`: without the sinks."""
    seen, text = cached.recording(run), run.input.text
    ends = (seen.tensor(name, layer)[:, text] for name in ("resid_pre", "resid_post"))
    return FlowFacts(run, labelled.stages(run, layer, is_apart), loudest(*ends), is_apart)


def says_flow(facts: FlowFacts) -> str:
    """What the stream does in this run, and why."""
    text = _(
        "In this run, the residual stream enters the layer with an RMS of {start} and leaves "
        "it with an RMS of {end}."
    )
    said = [
        text.format(start=hundredths(facts.entering), end=hundredths(facts.end)),
        _reason(facts.run),
    ]
    if facts.loudest is not None:
        said.insert(1, _one_token(facts.run, facts.loudest, facts.is_apart))
    most = facts.largest_write
    if most is not None and facts.run.config.norm.residual:
        text = _("The sub-layer that adds the most is {part} (RMS {rms}).")
        said.insert(-1, text.format(part=most["label"], rms=hundredths(most["rms"])))
    return sentences(*said)


def _one_token(run: Run, found: Loudest, is_apart: bool) -> str:
    """That the RMS over all tokens is that of a few, and what it is of the others."""
    text = _(
        "{token} contributes most to that: it leaves with an RMS of {rms}, while the median "
        "token enters with {before} and leaves with {after}."
    )
    if is_apart:
        text = _("{token} is left out of these figures: it leaves with an RMS of {rms}.")
    return text.format(
        token=literal(told_apart(run.input.labels)[found.token]),
        rms=hundredths(found.rms),
        before=hundredths(found.median_before),
        after=hundredths(found.median_after),
    )


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


def table(stages: pd.DataFrame) -> pd.DataFrame:
    """Every stage with its moments."""
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


@section
def what_flows(run: Run) -> None:
    """The sentence, both pictures on the same rows, and the table."""
    layer = labelled.selected_layer(run)
    is_apart = sinks.is_wanted()
    code = (*source.layer_source(run.config), flow_measures.moments)
    with explained(("block", "flow", "residual"), code, key="flow"):
        say(says_flow, run, layer, is_apart, facts=flow_facts)
    sinks.sinks_switch(run, "flow")
    left, right = columns([5, 7])
    with left:
        stage = labelled.selected_stage(run, layer)
        show(draw_strip, run, layer, stage, is_apart, key="strip", on_click=open_stage)
    with right:
        show(draw_bands, run, layer, run_before(run), is_apart, key="bands")
    found = table(labelled.stages(run, layer, is_apart))
    show_table(found, key="flow_table")


def open_stage(customdata: list[Any]) -> None:
    """A part of the drawing was clicked: its panel opens."""
    link.change("stage", customdata[0])
    panel.open_panel("stage")


def draw_strip(run: Run, layer: int, stage: str, is_apart: bool) -> Picture:
    """The block, as it ran."""
    return strip_picture.block_strip(labelled.stages(run, layer, is_apart), selected=stage, _=_)


def draw_bands(run: Run, layer: int, before: Run | None, is_apart: bool) -> Picture:
    """The values at each stage, and the ghost of the setting before."""
    ghost = None
    if before is not None and layer < before.config.n_layers:
        ghost = cached.flow(before, layer, sinks.set_apart(before, is_apart))
    return flow.bands(labelled.stages(run, layer, is_apart), ghost, _=_)
