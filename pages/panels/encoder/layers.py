"""What each layer does: the stream after the embedding and after every layer."""

import pandas as pd

from blocks.inspection import source
from blocks.inspection.flow_facts import FlowFacts
from blocks.model.faults import N_
from blocks.observe import flow as flow_measures
from blocks.observe.run import Run
from pages.figures import flow
from pages.figures.theme import Picture
from pages.page.declared import Panel
from pages.server import cached
from pages.show import layers
from pages.show.parts import Beside, File, Matrix, Say, Table
from pages.stage.history import run_before
from pages.words.language import _, fill, sentences


def layer_facts(run: Run) -> FlowFacts:
    return FlowFacts(run, layers.flow(run))


def says_growth(facts: FlowFacts) -> str:
    """How the stream grows from layer to layer."""
    text = _(
        "The stream's RMS is {start:hundredths} after the embedding, {first:hundredths} after "
        "layer 1, {end:hundredths} at the end."
    )
    more = _("Every layer adds to the residual stream; see whether any layer stands out.")
    if facts.run.config.norm.norm_placement == "post":
        more = _("Post-norm brings every layer's output back to the same scale.")
    return sentences(fill(text, facts), more)


def table(facts: FlowFacts) -> pd.DataFrame:
    """The stream after every layer, with the length of a token's vector."""
    stream = facts.stages
    found = {
        _("stage"): stream["label"],
        _("mean"): stream["mean"],
        _("std"): stream["std"],
        _("min"): stream["min"],
        _("max"): stream["max"],
        _("token norm (RMS · √d_model)"): stream["token_norm"],
    }
    return pd.DataFrame(found).round(4)


def draw_layers(run: Run, before: Run | None) -> Picture:
    """Draw the stream after every layer, and the ghost of the setting before."""
    ghost = layers.ghost(before, run)
    return flow.bands(layers.flow(run), ghost, title=_("The residual stream after each layer"), _=_)


PANEL = Panel(
    "layers",
    N_("What does each layer do?"),
    of_predictions=True,
    fields=("n_layers", "d_model", "norm_placement", "norm_kind", "residual"),
    concepts=("flow", "block", "residual"),
    code=lambda run: (*source.layer_source(run.config), flow_measures.moments),
    at=lambda run: (run, run_before(run)),
    shows=(
        Say(says_growth, layer_facts),
        Beside(
            Matrix(draw_layers, "layer_bands"),
            Table(table, "layer_table", facts=layer_facts),
            widths=(6, 5),
        ),
        File(cached.whole_flow, "layers", counted=("layer",)),
    ),
)
