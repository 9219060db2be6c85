"""What each layer does: the stream after the embedding and after every layer."""

import pandas as pd

from blocks.inspection import source
from blocks.inspection.flow_facts import FlowFacts
from blocks.observe import flow as flow_measures
from blocks.observe.run import Run
from pages.figures import flow
from pages.figures.numbers import hundredths
from pages.figures.theme import Picture
from pages.ui import layers
from pages.ui.chart import columns, show
from pages.ui.explain import explained
from pages.ui.frame import section
from pages.ui.history import run_before
from pages.ui.language import _, sentences
from pages.ui.said import say
from pages.ui.tables import show_table


def layer_facts(run: Run) -> FlowFacts:
    """The stream after each layer, with what it is called."""
    return FlowFacts(run, layers.flow(run))


def says_growth(facts: FlowFacts) -> str:
    """How the stream grows from layer to layer."""
    text = _(
        "The stream's RMS is {start} after the embedding, {first} after layer 1, {last} at the end."
    )
    start, first, last = map(hundredths, (facts.start, facts.first, facts.end))
    said = text.format(start=start, first=first, last=last)
    more = _("Every layer adds to the residual stream; see whether any layer stands out.")
    if facts.run.config.norm.norm_placement == "post":
        more = _("Post-norm brings every layer's output back to the same scale.")
    return sentences(said, more)


def table(stream: pd.DataFrame) -> pd.DataFrame:
    """The stream after every layer, with the length of a token's vector."""
    found = {
        _("stage"): stream["label"],
        _("mean"): stream["mean"],
        _("std"): stream["std"],
        _("min"): stream["min"],
        _("max"): stream["max"],
        _("token norm (RMS · √d_model)"): stream["token_norm"],
    }
    return pd.DataFrame(found).round(4)


@section
def what_passes(run: Run) -> None:
    """The sentence, the picture and the table."""
    code = (*source.layer_source(run.config), flow_measures.moments)
    with explained(("flow", "block", "residual"), code, key="layers"):
        say(says_growth, run, facts=layer_facts)
    left, right = columns([6, 5])
    with left:
        show(draw_layers, run, run_before(run), key="layer_bands")
    with right:
        found = table(layers.flow(run))
        show_table(found, key="layer_table")


def draw_layers(run: Run, before: Run | None) -> Picture:
    """The stream after every layer, and the ghost of the setting before."""
    ghost = layers.ghost(before, run)
    return flow.bands(layers.flow(run), ghost, title=_("The residual stream after each layer"), _=_)
