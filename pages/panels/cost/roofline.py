"""Time: what a layer takes at best on this device, and what it takes."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.cost import device_peak, operation_time, roofline
from blocks.cost import roofline_facts as facts_of
from blocks.cost.device_peak import DevicePeak
from blocks.cost.operations import Phase, Tokens, phases
from blocks.cost.pass_time import PassTime
from blocks.cost.roofline import Bound
from blocks.cost.roofline_facts import (
    Case,
    CountedFacts,
    LayerFacts,
    ModelFacts,
    OperationSeries,
    RooflineFacts,
    WholeSeries,
    counted_facts,
)
from blocks.cost.timing import Times
from blocks.cost.units import bytes_text, rounded
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.theme import Picture, Translate
from pages.figures.units import duration, flops
from pages.page.frame import section
from pages.panels.cost import roofline_picture, shared
from pages.panels.cost.device import measured_peak
from pages.server.settings import memory_budget
from pages.show.chart import show
from pages.show.controls import choose
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.fold import details
from pages.show.said import tell
from pages.show.steps import in_series
from pages.show.tables import show_table
from pages.stage import present
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, enumeration, listing, sentences
from pages.words.numbers import percent

CODE = (
    roofline.estimate_seconds,
    operation_time.prepare,
    device_peak.measure_matmul,
    device_peak.measure_bandwidth,
)
PHASES = {"prefill": N_("prefill: all tokens at once"), "decode": N_("decode: one more token")}
BOUNDS = {"compute": N_("compute"), "memory": N_("memory"), "start": N_("launch overhead")}
WAITING = {
    Bound.COMPUTE: N_("compute-bound: {names}"),
    Bound.MEMORY: N_("memory-bound: {names}"),
    Bound.START: N_("so small that launching takes longer than running: {names}"),
}
ABOVE = {
    Bound.MEMORY: N_(
        "These are above the roofline: {names}. The operands came from a cache, or the "
        "device was busy when its bandwidth was measured."
    ),
    Bound.COMPUTE: N_(
        "These are above the roofline: {names}. The device was probably busy when its "
        "peak was measured: measure again."
    ),
}
OPERATIONS = {
    "norm": N_("norm"),
    "scores": N_("scores"),
    "softmax": N_("softmax"),
    "values": N_("weighted sum"),
    "fused": N_("fused attention"),
    "state": N_("state"),
    "activation": N_("activation"),
    "residual": N_("residual addition"),
}
CROSS = "cross_"
Shown = tuple[Case, DevicePeak, tuple[tuple[str, Times], ...], int]
"""What is measured, under which roof, what was found so far, and how much memory there is."""


@lru_cache(maxsize=64)
def roofline_facts(
    case: Case, peak: DevicePeak, found: tuple[tuple[str, Times], ...], budget: int
) -> RooflineFacts:
    """Estimate beside measurement, of the operations that were measured so far."""
    return facts_of.roofline_facts(case, peak, dict(found), budget)


@lru_cache(maxsize=64)
def layer_facts(shown: Shown, whole: PassTime) -> LayerFacts:
    return facts_of.layer_facts(roofline_facts(*shown), whole)


def operation(name: str) -> str:
    """What an operation is called."""
    rest = name.removeprefix(CROSS)
    said = _(OPERATIONS[rest]) if rest in OPERATIONS else terms.part(rest)
    return (
        _("cross-attention {operation}").format(operation=said) if name.startswith(CROSS) else said
    )


def says_intensity(facts: CountedFacts) -> str:
    """Which operations will wait for memory, as far as counts tell."""
    text = _(
        "According to the formulas, {most} has the most FLOPs per byte moved ({high}) and "
        "{least} the fewest ({low}): the shorter the bar, the sooner memory becomes the "
        "bottleneck. Where that limit lies, and how long each operation takes, must be "
        "measured on this device."
    )
    said = text.format(
        most=operation(facts.most),
        high=rounded(facts.high),
        least=operation(facts.least),
        low=rounded(facts.low),
    )
    return sentences(said)


def says_bounds(facts: RooflineFacts) -> str:
    """Which operations wait for what, and why decode waits for memory."""
    tokens = facts.case.tokens
    text = _("Prefill of {n:,} tokens, batch size {batch}:")
    if tokens.phase is Phase.DECODE:
        text = _("Decoding one token with {n:,} already in the cache, batch size {batch}:")
    waiting = ((each, facts.bound_by(bound)) for bound, each in WAITING.items())
    parts = [
        _(each).format(names=enumeration(map(operation, found))) for each, found in waiting if found
    ]
    begin, listed = text.format(n=tokens.n, batch=tokens.batch), listing(parts)
    return sentences(_("{said}.").format(said=sentences(begin, listed)), _why(facts))


def _why(facts: RooflineFacts) -> str:
    """Each weight is read once, for as many tokens as there are."""
    read = facts.weight_read
    if read is None:
        return ""
    text = _(
        "Why: {name} reads {bytes} of weights to do {flops} per token, {intensity} "
        "FLOPs per byte; the ridge point is at {ridge}."
    )
    said = text.format(
        name=operation(read.operation),
        bytes=bytes_text(read.n_bytes),
        flops=flops(read.flops),
        intensity=rounded(read.intensity),
        ridge=rounded(facts.peak.ridge),
    )
    more = _(
        "A batch of {batch:,} would reach the ridge point: each weight read then serves "
        "the whole batch."
    )
    if read.batch is None:
        more = _("At this width, no batch size reaches the ridge point.")
    return sentences(said, more.format(batch=read.batch))


def says_reach(facts: RooflineFacts) -> str:
    """How much of the roof was reached, most and least, and what lies above it."""
    said = []
    if facts.reach:
        (worst, low), (best, high) = facts.reach[0], facts.reach[-1]
        text = _(
            "Of the compute- or memory-bound operations, {best} comes nearest to the roofline "
            "({high} of it) and {worst} stays furthest below it ({low})."
        )
        names = {"best": operation(best), "worst": operation(worst)}
        said.append(text.format(**names, high=percent(high), low=percent(low)))
    for bound, text in ABOVE.items():
        if above := facts.above(bound):
            said.append(_(text).format(names=enumeration(map(operation, above))))
    return sentences(*said)


def says_left_out(facts: RooflineFacts) -> str:
    """What is not measured, and why; nothing where all is."""
    if not facts.left_out:
        return ""
    text = _("{name} (at least {seconds}, up to {bytes})")
    listed = (
        text.format(
            name=operation(each.operation),
            seconds=duration(each.seconds),
            bytes=bytes_text(each.n_bytes),
        )
        for each in facts.left_out
    )
    return _(
        "Too slow or too large to be measured here, so only estimated: {names}. Choose fewer "
        "tokens, a smaller batch or a narrower model."
    ).format(names=listing(listed))


def says_layer(facts: LayerFacts) -> str:
    """A layer: estimated, in parts, and whole."""
    text = _(
        "At best, one layer takes {best}; its operations, timed one by one, add up to "
        "{parts}. Measured as a whole, it takes {whole} ({times:.1f} times the estimate; peak"
        " memory beyond its weights: {memory})."
    )
    return text.format(
        best=duration(facts.best),
        parts=duration(facts.one_by_one),
        whole=duration(facts.whole.times.median),
        times=facts.of_best,
        memory=bytes_text(facts.whole.peak_bytes),
    )


def says_model(facts: ModelFacts) -> str:
    """Estimate and measurement of the whole model, with tokens per second."""
    text = _(
        "At best, the whole model takes {best}; its operations, timed one by one, add up to "
        "{parts}. Measured as a whole, it takes {whole} ({spread}), or {rate} tokens per "
        "second."
    )
    low, high = map(duration, facts.times.quartiles)
    spread = _("quartiles {low} to {high}").format(low=low, high=high)
    return text.format(
        best=duration(facts.best),
        parts=duration(facts.one_by_one),
        whole=duration(facts.times.median),
        spread=_("one pass") if len(facts.times.seconds) == 1 else spread,
        rate=rounded(facts.tokens_per_second),
    )


def says_how(case: Case) -> str:
    """On what it was measured, and what is left out."""
    return _(
        "Measured here ({where}): medians after warm-up (error bars: quartiles) with "
        "random operands (seed {seed}). Successive calls use different weights and cached "
        "keys and values until as many bytes have been read as the model holds, so that "
        "hardware caches behave as in the model. Bytes count each operand read once and "
        "each result written once. Included in the layer but not in its operations: "
        "biases, masks, positional encoding, QK norms, head reshaping."
    ).format(where=shared.where(case.place), seed=case.seed)


def draw_roofline(facts: RooflineFacts, *, _: Translate) -> Picture:
    return roofline_picture.roofline(facts, names(facts.rows), _=_)


def draw_durations(facts: RooflineFacts, *, _: Translate) -> Picture:
    return roofline_picture.durations(facts, names(facts.rows), _=_)


def draw_intensity(rows: pd.DataFrame, *, _: Translate) -> Picture:
    """FLOPs per byte, before the device is measured."""
    return roofline_picture.intensity(rows, names(rows), _=_)


def names(rows: pd.DataFrame) -> dict[str, str]:
    return {name: operation(name) for name in rows["operation"]}


def operations_table(rows: pd.DataFrame) -> None:
    """Every operation with its FLOPs and bytes, and its times where there are any."""
    table = {
        _("operation"): rows["operation"].map(operation),
        _("count per layer"): rows["times"].astype(str).where(rows["operation"] != "unembed", "–"),
        "FLOPs": rows["flops"].map(flops),
        _("bytes"): rows["bytes"].map(bytes_text),
        _("FLOPs per byte"): rows["intensity"].map(rounded),
    }
    if "measured_s" in rows:
        seconds, share = (rows[name].astype(object) for name in ("measured_s", "share"))
        table |= {
            _("best case"): rows["estimated_s"].map(duration),
            _("measured"): seconds.map(duration, na_action="ignore").fillna("–"),
            _("share of roofline"): share.map(percent, na_action="ignore").fillna("–"),
            _("limited by"): rows["bound"].map(lambda name: _(BOUNDS[name])),
        }
    table |= {
        _("FLOPs, formula"): rows["flops_formula"],
        _("bytes, formula"): rows["bytes_formula"],
    }
    show_table(pd.DataFrame(table), key="operations_table")


def phase_control(run: Run) -> None:
    """Prefill and decode apart; an encoder reads and never writes."""
    known = [str(each) for each in phases(run.config)]
    if len(known) > 1:
        choose("phase", _("What the model does"), known, label_of=lambda name: _(PHASES[name]))
        return
    st.caption(
        _("An encoder reads all tokens at once and generates none: there is no decode phase.")
    )


@section
def how_fast_here(run: Run, state: State) -> None:
    """The device first, then each operation of a layer, then the layer, then the model."""
    with explained(("roofline",), CODE, key="roofline"), present.aside():
        phase_control(run)
    shared.say_one_kind(run.config)
    chosen = Phase(state.phase)
    known = chosen if chosen in phases(run.config) else Phase.PREFILL
    tokens = Tokens(known, *shared.shape(state))
    config = shared.of_one_kind(run.config)
    case = Case(config, tokens, shared.place(run, "measure_device", state), run.seed)
    label = _("Measure this device")
    if not shared.measure_button("measure_device", label, state, again=_("Measure again")):
        counted = case.counted()
        tell(says_intensity(counted_facts(counted)))
        show(draw_intensity, case, facts=Case.counted, key="intensity")
        operations_table(counted)
        return
    if peak := measured_peak(case.place):
        measured_operations(run, case, peak)
    else:
        operations_table(case.counted())


def measured_operations(run: Run, case: Case, peak: DevicePeak) -> None:
    """Hollow and filled dots, as far as they are measured."""
    budget = memory_budget(run.device)
    refused = {each.operation for each in facts_of.left_out(case, peak, budget)}
    wanted = tuple(name for name in case.counted()["operation"] if name not in refused)
    done = in_series(
        OperationSeries(case, wanted), key="operation_steps", asked_by="measure_device"
    )
    shown = case, peak, tuple(zip(wanted, done.found, strict=False)), budget
    facts = roofline_facts(*shown)
    tell(says_bounds(facts))
    if said := says_left_out(facts):
        st.warning(said, icon=":material/block:")
    left, right = st.columns([6, 5])
    with left:
        show(draw_roofline, *shown, facts=roofline_facts, key="roofline_dots")
    with right:
        show(draw_durations, *shown, facts=roofline_facts, key="operation_times")
    if said := says_reach(facts):
        st.info(said, icon=":material/query_stats:")
    with details(_("Every operation in numbers"), icon=":material/table_rows:"):
        operations_table(facts.rows)
    note(says_how(case))
    download("roofline.csv", lambda: facts.rows.to_csv(index=False), "text/csv")
    if facts.is_complete and facts.may_measure_layer:
        the_whole_beside(run, shown)


def the_whole_beside(run: Run, shown: Shown) -> None:
    """One layer at once, and the model, where it fits."""
    case, facts = shown[0], roofline_facts(*shown)
    series = WholeSeries(case, run.untouched if facts.may_measure_model else None)
    found = in_series(series, key="layer_steps", asked_by="measure_device").found
    if not found:
        return
    whole = shown, found[0]
    st.info(says_layer(layer_facts(*whole)), icon=":material/functions:")
    show(roofline_picture.sums, *whole, facts=layer_facts, key="layer_sums")
    for model in found[1:]:
        st.info(says_model(facts_of.model_facts(facts, model.times)), icon=":material/layers:")
