"""Which matrices the score is lost in, and what it takes to get it back."""

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import pandas as pd
import streamlit as st

from blocks.cost.units import bytes_text
from blocks.efficiency import blame_facts as facts_of
from blocks.efficiency import mixed
from blocks.efficiency.blame_facts import BlameFacts, Traced
from blocks.efficiency.compression import Compression, layers
from blocks.efficiency.expected import trace_flops
from blocks.efficiency.frontier import Variant
from blocks.efficiency.names import name_of
from blocks.efficiency.recorded_blame import recorded_blame
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.units import quality_text
from pages.page.frame import section
from pages.panels.efficiency import exemption, made, rounding_picture, score_text, shared
from pages.panels.efficiency.matrix_map_picture import matrix_name
from pages.panels.efficiency.rounding import GRID_FIELDS, chosen, rounding_control
from pages.server import starts
from pages.show import words
from pages.show.chart import show
from pages.show.controls import choose, switch
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.said import say
from pages.show.steps import in_steps
from pages.show.tables import show_whole
from pages.show.ways import way
from pages.stage import link, present
from pages.state.link_fields.efficiency import KEPT_PERCENTS, as_modules
from pages.state.values import State
from pages.words.language import _, sentences
from pages.words.numbers import percent

CODE = (mixed.blame, mixed.row_errors, mixed.kept_rows)
USUAL_KEPT = "int3-keep3"
"""What the fields say unless a reader sets them."""


@lru_cache(maxsize=2048)
def blame_of(weights: str, how: Compression, names: tuple[str, ...]) -> dict[str, float]:
    """The blame of some matrices; `weights` names the model as it was trained."""
    return facts_of.blame_of(starts.calibrated(weights), how, names)


@lru_cache(maxsize=32)
def blame_rows(weights: str, how: Compression) -> pd.DataFrame:
    return facts_of.blame_rows(starts.calibrated(weights), how, partial(blame_of, weights, how))


def without_layer(weights: str, how: Compression) -> str:
    """The recipe that rounds all but the layer of most blame, by its name."""
    return name_of(facts_of.without_layer(blame_rows(weights, how), how))


@lru_cache(maxsize=32)
def blame_facts(weights: str, how: Compression, kept: Compression) -> BlameFacts:
    """What was traced, before and after rows are kept at 8 bits."""
    model = starts.calibrated(weights)
    traced = recorded_blame(weights, name_of(kept)) or Traced(
        rows=blame_rows(weights, how),
        original=made.measured(weights, ""),
        rounded=made.measured(weights, name_of(how)),
        kept=made.measured(weights, name_of(kept)),
        whole_layer=made.measured(weights, without_layer(weights, how)),
    )
    return BlameFacts(**vars(traced), how=how, score_name=model.score_name, is_share=model.is_share)


def says_blame(facts: BlameFacts) -> str:
    """Where most is lost, and what gives it back."""
    text = _("{matrix} is most to blame: rounding it alone raises the loss by {nats:.4f} nats.")
    matrix, nats = matrix_name(facts.worst["matrix"], _), facts.worst["blame"]
    return sentences(
        text.format(matrix=matrix, nats=nats), _says_quality(facts), _says_given_back(facts)
    )


def _says_quality(facts: BlameFacts) -> str:
    """The score, or the loss, of all three files."""
    text = _(
        "The held-out loss of {before} nats becomes {rounded} when all matrices are rounded "
        "and **{kept}** when the worst rows stay at 8 bits; the file grows from {small} to "
        "{larger}."
    )
    if facts.is_share:
        text = _(
            "The score ({score}) is {before} for the original, {rounded} when all matrices "
            "are rounded, and **{kept}** when the worst rows stay at 8 bits; the file grows "
            "from {small} to {larger}."
        )
    return text.format(
        score=_(facts.score_name),
        rounded=_said(facts.rounded, facts),
        kept=_said(facts.kept, facts),
        before=_said(facts.original, facts),
        small=bytes_text(facts.rounded.n_bytes),
        larger=bytes_text(facts.kept.n_bytes),
    )


def _said(variant: Variant, facts: BlameFacts) -> str:
    return quality_text(facts.quality(variant), is_share=facts.is_share)


def _says_given_back(facts: BlameFacts) -> str:
    if facts.is_close:
        return _("Rounding costs next to nothing here: try fewer bits.")
    text = _(
        "Keeping these rows at 8 bits recovers {rows} of what was lost; leaving layer "
        "{layer} unrounded recovers {whole}."
    )
    return text.format(
        rows=percent(facts.given_back(facts.kept)),
        layer=layer_name(facts),
        whole=percent(facts.given_back(facts.whole_layer)),
    )


def layer_name(facts: BlameFacts) -> str:
    stack, layer = facts.layer
    return f"{_(stack)} {from_one(layer)}" if stack else str(from_one(layer))


def _controls() -> None:
    left, right = st.columns(2)
    with left:
        label = _("percent of the weights at 8 bits")
        choose("kept_percent", label, KEPT_PERCENTS, label_of=str)
    with right:
        rounding_control("_blame")


@section
def what_is_to_blame(run: Run, state: State) -> None:
    """The grid, and how much is kept; then the map and the scores, recorded or asked for."""
    place = explained(("quantization",), CODE, key="blame")
    picture = st.container()  # above what is set, which would push it off a phone's screen
    weights = score_text.measured(run, state)
    with present.aside():
        _controls()
    how = chosen(run, state)
    exemption.exempt_controls(run, how, "_blame", state=state)
    if nothing := exemption.says_nothing_left(run, how.exempt, in_layers=True):
        place.info(nothing, icon=":material/lightbulb:")
        return
    kept = replace(how, kept_share=int(state.kept_percent) / 100)
    is_recorded = recorded_blame(weights, name_of(kept)) is not None
    if not is_recorded:
        switch(
            "trace_rounding",
            _("Trace the loss to individual matrices, and keep their worst rows at 8 bits"),
        )
        if not state.trace_rounding:
            shared.said_time(run, trace_flops(shared.whole(run, state), kept), state)
            place.info(_not_recorded(), icon=":material/lightbulb:")
            if recorded_blame(weights, USUAL_KEPT) is not None:
                shared.way_to_recorded("usual_grid", *GRID_FIELDS, "exempt", "kept_percent")
            return
        if not _traced(weights, how, kept):
            return
    at = weights, how, kept
    with place:
        say(says_blame, *at, facts=blame_facts)
    with picture:
        show(rounding_picture.blame, *at, facts=blame_facts, key="blame", on_click=_show_matrix)
    with present.aside(), st.container(horizontal=True):
        shared.way_to(kept, _("Show this model on all pages"), "use_kept")
        _way_to_exempt(blame_facts(*at))
    with present.aside():
        show_whole(_in_numbers(blame_facts(*at)))
    note(_says_how(is_recorded=is_recorded))
    rows = blame_facts(*at).rows
    download("blame.csv", lambda: rows.to_csv(index=False), "text/csv")


def _way_to_exempt(facts: BlameFacts) -> None:
    left = facts_of.without_layer(facts.rows, facts.how)
    label = _("Keep layer {layer} at full precision").format(layer=layer_name(facts))
    way(label, "exempt_worst", icon=":material/lock:", exempt=as_modules(sorted(left.exempt)))


def _not_recorded() -> str:
    question = _(
        "Which matrix lowers the score most when it is rounded, and what if the worst rows "
        "stay at 8 bits?"
    )
    return sentences(question, _("These settings were not measured beforehand."))


def _says_how(*, is_recorded: bool) -> str:
    text = _(
        "Each matrix's share of the added loss is measured on the calibration text; scores "
        "are measured on held-out text. The share is divided among the rows of the matrix in "
        "proportion to the output error that each row causes; the rows with the largest share"
        " per weight stay at 8 bits. Bytes are file sizes."
    )
    return sentences(words.recorded(), text) if is_recorded else text


def _traced(weights: str, how: Compression, kept: Compression) -> bool:
    """Whether all of it is measured; as far as the reader lets it."""
    each_layer = layers(starts.calibrated(weights), how)
    steps: list[Any] = [
        partial(made.variant, weights, ""),
        partial(made.variant, weights, name_of(how)),
        *(partial(blame_of, weights, how, names) for names in each_layer),
        partial(made.variant, weights, name_of(kept)),
        lambda: made.variant(weights, without_layer(weights, how)),
    ]
    what = "blame", weights, how, kept
    done = in_steps(
        steps, what=what, key="blame_steps", asked_by="trace_rounding", shows_parts=False
    )
    return len(done.found) == len(steps)


def _in_numbers(facts: BlameFacts) -> pd.DataFrame:
    layer = _("layer {layer} unrounded").format(layer=layer_name(facts))
    return shared.in_numbers(
        {
            _("original"): facts.original,
            _("rounded"): facts.rounded,
            _("worst rows at 8 bits"): facts.kept,
            layer: facts.whole_layer,
        },
        is_share=facts.is_share,
    )


def _show_matrix(customdata: list[str]) -> None:
    """A cell was clicked: its numbers are on the panel of rounding."""
    shared.look_at_matrix(customdata)
    link.change("panel", "rounding")
