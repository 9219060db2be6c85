"""A KV cache of a few bits a number: bytes, logits, score, and where the text first differs."""

from functools import lru_cache, partial
from typing import Any

import pandas as pd
import streamlit as st

from blocks.cost.units import bytes_text
from blocks.efficiency import cache_facts as facts_of
from blocks.efficiency import cache_rounding
from blocks.efficiency.cache_facts import CACHE_BITS, CacheFacts, CacheMeasure
from blocks.efficiency.cache_rounding import CacheAxis, CacheRounding
from blocks.efficiency.recorded_caches import USUAL, recorded_caches
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, line
from pages.figures.units import quality_text
from pages.page.frame import section
from pages.panels.efficiency import score_text, shared
from pages.server import starts
from pages.show import phone
from pages.show.chart import columns, show
from pages.show.controls import choose, switch
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.said import say
from pages.show.steps import in_steps
from pages.stage import present
from pages.state.link_fields.efficiency import CACHE_GROUPS, CACHE_RECENT
from pages.state.values import State
from pages.words.language import _, literal, say_fault, sentences

AXIS_NAMES = {
    "token": N_("per-token"),
    "channel": N_("per-channel"),
    "kivi": N_("keys per channel, values per token"),
}
LOOKS = {
    CacheAxis.TOKEN: (palette.FEED_FORWARD, "square"),
    CacheAxis.CHANNEL: (palette.EMBEDDING, "diamond"),
    CacheAxis.KIVI: (palette.ATTENTION, "circle"),
}
CODE = (cache_rounding.CacheRounding.rounded, cache_rounding.RoundedLayer)


@lru_cache(maxsize=64)
def measure(weights: str, how: CacheRounding | None) -> CacheMeasure:
    """One cache, measured; `weights` names the model as it was trained."""
    return facts_of.measure_cache(starts.calibrated(weights), how)


@lru_cache(maxsize=64)
def cache_facts(weights: str, found: tuple[CacheMeasure, ...], how: CacheRounding) -> CacheFacts:
    """What the measured caches show."""
    return facts_of.cache_facts(starts.calibrated(weights), found, how)


def says_cache(facts: CacheFacts) -> str:
    """What the chosen cache saves, and what it costs."""
    chosen, exact = facts.chosen, facts.exact
    text = _(
        "Caching {n} tokens takes **{after}**, compared with {before} in half precision. The "
        "logits change by at most {difference:.2g}. The score ({score}) is {now}, against "
        "{then} with an exact cache."
    )
    return sentences(
        text.format(
            n=chosen.n_tokens,
            after=bytes_text(chosen.n_bytes),
            before=bytes_text(exact.n_bytes),
            difference=chosen.largest_difference,
            score=_(facts.score_name),
            now=_said(chosen, facts),
            then=_said(exact, facts),
        ),
        _says_texts(facts),
    )


def _said(measure: CacheMeasure, facts: CacheFacts) -> str:
    return quality_text(measure.score, is_share=facts.is_share)


def _says_texts(facts: CacheFacts) -> str:
    n = len(facts.exact.written)
    if facts.n_same == n:
        return _("All {n} continuations stay the same to the end.").format(n=n)
    return _(
        "Continuations that stay unchanged to the end: {same} of {n}. The earliest difference "
        "comes after {k} tokens."
    ).format(n=n, same=facts.n_same, k=facts.earliest)


def cache_table(facts: CacheFacts) -> pd.DataFrame:
    """One row a way."""
    ways = [each.how for each in facts.measures]
    return pd.DataFrame(
        {
            "axis": [how.axis.value if how else "exact" for how in ways],
            "n_bits": [how.n_bits if how else 16 for how in ways],
            "bytes": [each.n_bytes for each in facts.measures],
            "largest_logit_difference": [each.largest_difference for each in facts.measures],
            "score": [each.score for each in facts.measures],
            "tokens_until_first_difference": [
                min(facts.first_differences(each)) for each in facts.measures
            ],
        }
    )


def scores(facts: CacheFacts) -> Chart:
    """A line for each axis, a dot for each number of bits; the level is the exact cache's."""
    ends = (min(each.score for each in facts.measures) - 0.04, 1.015) if facts.is_share else None
    axis = Axis(_(facts.score_name), ends, is_share=facts.is_share)
    level = Level(facts.exact.score)
    return _over_bytes(facts, _("Score against cache size"), "score", axis, levels=[level])


def differences(facts: CacheFacts) -> Chart:
    """The largest difference of any logit, on the same bytes."""
    found = [each.largest_difference for each in facts.measures if each.how]
    axis = Axis(_("largest change (logarithmic)"), (min(found), max(found)), is_log=True)
    return _over_bytes(facts, _("Largest change in any logit"), "largest_difference", axis)


def _over_bytes(facts: CacheFacts, title: str, value: str, y: Axis, **more: Any) -> Chart:
    sizes = [each.n_bytes for each in facts.measures]
    ends, name = (min(sizes), max(sizes)), _("cache size, bytes (logarithmic)")
    lines = []
    for axis, (color, symbol) in LOOKS.items():
        found = facts.of(axis)
        marked = [15 if each is facts.chosen else 9 for each in found]
        look = Look(_(AXIS_NAMES[axis]), color, symbol, size=marked, width=2)
        rows = [
            {
                **vars(each),
                "score": each.score,
                "bits": each.how.n_bits if each.how else 16,
                "size": bytes_text(each.n_bytes),
                "said": each.how.n_bits if each.how else "",
            }
            for each in found
        ]
        lines += [line(value, look, rows=rows, text="{said}")] if rows else []
    hover = _(
        "{bits} bits: {size}, score {score:.3f}, logits off by up to {largest_difference:.2g}"
    )
    return Chart(
        title,
        (),
        Axis(name, ends, of="n_bytes", is_log=True, said=bytes_text),
        y,
        lines,
        hover=hover,
        tall=260,
        legend=Legend.FOOT,
        **more,
    )


@section
def how_few_bits_a_key(run: Run, state: State) -> None:
    """Bits and axis; what was recorded, or measured when the reader asks."""
    place = explained(("kv_cache", "quantization"), CODE, key="cache")
    weights = score_text.measured(run, state)
    if fault := facts_of.cache_fault(shared.whole(run, state)):
        place.info(say_fault(fault), icon=":material/lightbulb:")
        return
    how = _chosen(state)
    with present.aside():
        phone.folded(_in_words(how), _controls, key="cache_fold")
    wanted = facts_of.ways(how.group_size, how.n_recent)
    found = recorded_caches(weights, wanted)
    if not found:
        switch("measure_caches", _("Measure {n} caches here").format(n=len(wanted)))
        if not state.measure_caches:
            place.info(
                _("These settings were not measured beforehand."), icon=":material/lightbulb:"
            )
            if recorded_caches(weights, USUAL):
                shared.way_to_recorded("usual_caches", "cache_group", "cache_recent")
            else:
                shared.recorded_models("caches_of", lambda name: recorded_caches(name, USUAL))
            return
        steps = [partial(measure, weights, each) for each in wanted]
        what = "caches", weights, wanted
        found = tuple(in_steps(steps, what=what, key="caches", asked_by="measure_caches").found)
        if len(found) < 2:
            return
    with place:
        say(says_cache, weights, found, how, facts=cache_facts)
    _shown(weights, found, how)


def _chosen(state: State) -> CacheRounding:
    return CacheRounding(
        n_bits=int(state.cache_bits),
        axis=CacheAxis(state.cache_axis),
        group_size=int(state.cache_group),
        n_recent=int(state.cache_recent),
    )


def _in_words(how: CacheRounding) -> str:
    return _("{axis}, {bits} bits").format(axis=_(AXIS_NAMES[how.axis]), bits=how.n_bits)


def _controls() -> None:
    left, middle, right = st.columns([5, 3, 3])
    with left:
        choose(
            "cache_axis",
            _("Granularity of the grid"),
            CacheAxis,
            label_of=lambda name: _(AXIS_NAMES[name]),
        )
    with middle:
        choose("cache_bits", _("bits"), tuple(map(str, CACHE_BITS)), label_of=str)
    with right:
        choose("cache_group", _("tokens per grid (per channel)"), CACHE_GROUPS, label_of=str)
        choose("cache_recent", _("most recent tokens kept exact"), CACHE_RECENT, label_of=str)


def _shown(weights: str, found: tuple[CacheMeasure, ...], how: CacheRounding) -> None:
    at = weights, found, how
    left, right = columns(2)
    with left:
        show(scores, *at, facts=cache_facts, key="cache_scores")
    with right:
        show(differences, *at, facts=cache_facts, key="cache_logits")
    facts = cache_facts(*at)
    if facts.n_same < len(facts.exact.written) and not present.is_on():
        text = _(
            "First continuation that differs, with the exact cache: {exact}  \nwith the "
            "rounded cache: {rounded}"
        )
        exact, rounded = map(literal, facts.texts)
        st.markdown(text.format(exact=exact, rounded=rounded))
    note(
        _(
            "One held-out sequence is processed token by token through the cache. Bytes are "
            "counted by formula: codes, plus 4 bytes per grid for scale and zero point; here "
            "the rounded values are held in float32."
        )
    )
    download("caches.csv", lambda: cache_table(facts).to_csv(index=False), "text/csv")
