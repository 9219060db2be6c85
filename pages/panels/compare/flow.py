"""What passes through the layers of A and B, and one layer of both, stage by stage."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from blocks.inspection import two_runs
from blocks.inspection.two_runs import RunNumbers, TwoFlows
from blocks.model.faults import N_
from blocks.observe import heads as head_measures
from blocks.observe.run import Run
from pages.figures import flow
from pages.figures.beside import on_one_scale
from pages.figures.counting import from_one
from pages.figures.numbers import readable
from pages.figures.theme import Picture
from pages.panels.compare import pair_picture as pictures
from pages.panels.compare import runs, shared
from pages.panels.compare.shared import Pair, Row
from pages.server import cached
from pages.show.chart import show
from pages.show.controls import pick
from pages.show.explain import explained, note
from pages.show.said import say
from pages.show.tables import show_whole
from pages.show.views import one_of_layers
from pages.stage import link
from pages.state import labelled
from pages.state.link_fields.compare import COMPARED_MOMENTS
from pages.state.values import State
from pages.words.language import _, literal, sentences

STAGES = {
    "resid_post": N_("the stream after the layer"),
    "attention_out": N_("attention output"),
    "feed_forward_out": N_("feed-forward output"),
}
MOMENTS = {
    "rms": "RMS",
    "std": N_("std"),
    "mean": N_("mean"),
    "min": N_("min"),
    "max": N_("max"),
    "outlier_share": N_("beyond 3 std"),
}


@lru_cache(maxsize=32)
def flow_facts(pair: Pair, stage: str, moment: str) -> TwoFlows:
    """One statistic of one stage in all layers of both."""
    both = (
        two_runs.over_layers(cached.whole_flow(run), stage, moment, runs.stack(run))
        for run in pair.both
    )
    return TwoFlows(stage, moment, *both)


@lru_cache(maxsize=32)
def run_numbers(run: Run) -> RunNumbers:
    """The end and the growth of the stream, and the mean entropy of all heads of all layers."""
    flow = two_runs.over_layers(cached.whole_flow(run), "resid_post", "rms", runs.stack(run))
    first, last = flow["value"].iloc[[0, -1]]
    heads = (
        head_measures.frame(runs.pattern(run, i)[None], runs.mask(run, i))
        for i in run.config.attention_layers
    )
    means = [table["entropy_bits"].mean() for table in heads]
    bits = float(np.mean(means)) if means else np.nan
    return RunNumbers(end=float(last), growth=float(last / first), entropy_bits=bits)


def says_flow(facts: TwoFlows) -> str:
    """Both after the last common layer, and where they part most."""
    start, last = facts.both.iloc[0], facts.both.iloc[-1]
    text = _(
        "{stage}, {moment}: A goes from {a_start} to {a_end}, and B from {b_start} to {b_end}, up"
        " to layer {last}. A and B are furthest apart {where}."
    )
    said = text.format(
        stage=_capital(_(STAGES[facts.stage])),
        moment=_(MOMENTS[facts.moment]),
        a_start=readable(start["value_a"]),
        a_end=readable(last["value_a"]),
        b_start=readable(start["value_b"]),
        b_end=readable(last["value_b"]),
        last=int(last["layer"]),
        where=_where(facts.furthest),
    )
    n_a, n_b = facts.n_layers
    if n_a == n_b:
        return said
    return sentences(said, _("Layers: {n_a} in A, {n_b} in B.").format(n_a=n_a, n_b=n_b))


def _where(layer: int) -> str:
    return _("at layer {layer}").format(layer=layer) if layer else _("before the first layer")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def rows(pair: Pair) -> list[Row]:
    """What the runs of both show."""
    a, b = (run_numbers(run) for run in pair.both)
    bits, label = "{:.2f}".format, _("mean entropy of the heads (bits)")
    found = [
        Row(_("RMS of the stream after the last layer"), a.end, b.end, readable),
        Row(_("growth factor of the stream across layers"), a.growth, b.growth, shared.times),
    ]
    if pair.without_attention:
        return found
    found.append(Row(label, a.entropy_bits, b.entropy_bits, bits))
    if pair.reads_the_same:
        label, apart = (
            _("mean distance between heads with the same number (0 to 1)"),
            runs.distances,
        )
        mean = float(apart(pair).mean())
        found.append(Row(label, 0.0, mean, "{:.3f}".format, is_between=True))
    return found


def stages_table(pair: Pair, layer: int) -> pd.DataFrame:
    """RMS of every stage of a layer that both have, and its change."""
    a, b = (labelled.stages(run, layer) for run in pair.both)
    both = b.merge(a, on="stage", suffixes=("_b", "_a"))
    shown = {
        _("stage"): both["label_b"],
        "RMS · A": both["rms_a"],
        "RMS · B": both["rms_b"],
        _("B − A"): both["rms_b"] - both["rms_a"],
    }
    return pd.DataFrame(shown).round(4)


def what_passes(pair: Pair, state: State) -> None:
    """The stream through the layers of both, and the stages of one layer."""
    place = explained(("flow", "residual"), key="pair_flow")
    layer = shared.selection(pair, state).layer
    shown = pair, *flow_choice(pair, state)
    with place:
        say(says_flow, *shown, facts=flow_facts)
    show(draw_flow, *shown, layer, key="pair_flow_lines", on_click=open_layer(pair))
    show_whole(shared.table(rows(pair)))
    if pair.n_layers > 1:
        one_of_layers(range(pair.n_layers), layer)
    if any(run.has_target for run in pair.both):
        note(_("For an encoder–decoder, the encoder is compared, since it reads the text."))
        return
    for side, column in enumerate(st.columns(2)):
        with column:
            st.caption(literal(shared.names(pair)[side]))
            show(draw_stages, pair, layer, side, key=f"pair_bands_{side}")
    with st.expander(_("RMS of the stages both models share"), icon=":material/table:"):
        show_whole(stages_table(pair, layer))


def flow_choice(pair: Pair, state: State) -> tuple[str, str]:
    """The stage that is followed, of those that both have, and by which number."""
    attention_only = any(run.config.attention_only for run in pair.both)
    known = [*STAGES][:2] if attention_only else [*STAGES]
    stage, moment = state.compared_stage, state.compared_moment
    stage = stage if stage in known else known[0]
    left, right = st.columns(2)
    with left:
        label = _("Follow across layers")
        pick("compared_stage", label, known, label_of=lambda name: _(STAGES[name]), shown=stage)
    with right:
        of, label = lambda name: _(MOMENTS[name]), _("Statistic")
        pick("compared_moment", label, COMPARED_MOMENTS, label_of=of, shown=moment)
    return stage, moment


def open_layer(pair: Pair) -> Callable[[list[Any]], None]:
    """A layer on the lines was clicked."""

    def opened(customdata: list[Any]) -> None:
        link.change("layer", max(0, min(int(customdata[0]), pair.n_layers) - 1))

    return opened


def draw_flow(pair: Pair, stage: str, moment: str, layer: int) -> Picture:
    """One number of one stage over the layers."""
    facts, unit = flow_facts(pair, stage, moment), _(MOMENTS[moment])
    title = _("{name}: {said}").format(name=_capital(_(STAGES[stage])), said=unit)
    names = shared.names(pair)
    return pictures.over_layers(
        facts.a, facts.b, names, selected=from_one(layer), title=title, unit=unit, _=_
    )


def draw_stages(pair: Pair, layer: int, side: int) -> Picture:
    """The values at each stage of one side, on the scale of both."""
    title = _("Layer {layer}: the values at each stage").format(layer=from_one(layer))
    both = (flow.bands(labelled.stages(run, layer), None, title=title, _=_) for run in pair.both)
    return on_one_scale(*both)[side]
