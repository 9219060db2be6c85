"""Other ways to attend on the same queries, keys and values, and what they cost here."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.cost.attention_time import GrowthFacts, GrowthSeries, estimate_peak, scored_pairs
from blocks.cost.units import bytes_text
from blocks.inspection import other_attention
from blocks.inspection.other_attention import KindsFacts
from blocks.model import attention_kinds, devices
from blocks.model.attention_kinds import AttentionKind, Reach, default_reach, pairs_scored
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import heads
from pages.figures.counting import from_one
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture, Translate
from pages.panels.attention import kinds_picture, shared
from pages.panels.attention.kinds_picture import NAMES
from pages.ui import labelled, link
from pages.ui.chart import columns, show
from pages.ui.controls import slide, slider, switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.link_fields.attention import LENGTHS
from pages.ui.said import say, tell
from pages.ui.settings import memory_budget
from pages.ui.steps import in_series
from pages.ui.tables import show_table

ABOVE_A_TILE = {**NAMES, AttentionKind.FULL: N_("full")}  # as wide as one on a phone
IN_THEORY = {
    AttentionKind.FULL: ("n²", "n²"),
    AttentionKind.FUSED: ("n²", "n"),
    AttentionKind.WINDOW: ("n", "n"),
    AttentionKind.STRIDED: ("n√n", "n√n"),
    AttentionKind.LINEAR: ("n", "n"),
}


@lru_cache(maxsize=32)
def kinds_facts(run: Run, layer: int, head: int, reach: Reach) -> KindsFacts:
    """One head in every way to attend."""
    return other_attention.kinds_facts(shared.attention(run, layer), layer, head, reach)


def says_errors(facts: KindsFacts) -> str:
    """Which way is nearest to the full one in this head."""
    text = _(
        "Head {head} of layer {layer}: the fused kernel gives the same output (error "
        "{fused:.0e}); of the other variants, {nearest} is closest (error {least:.1%}, "
        "{share:.0%} of the pairs scored) and {furthest} furthest (error {most:.1%})."
    )
    return text.format(
        head=from_one(facts.head),
        layer=from_one(facts.layer),
        fused=facts.error(AttentionKind.FUSED),
        nearest=_(NAMES[facts.nearest]),
        least=facts.error(facts.nearest),
        share=facts.pair_share(facts.nearest),
        furthest=_(NAMES[facts.furthest]),
        most=facts.error(facts.furthest),
    )


def says_growth(facts: GrowthFacts) -> str:
    """What the longest length costs, in each way."""
    text = _(
        "Measured here at n = {n:,}: {fastest} is fastest ({least:.1f} ms) and {slowest} "
        "slowest ({most:.1f} ms, {ratio:.0f} times as long); memory ranges from {small} to "
        "{large}."
    )
    fastest, *_between, slowest = facts.longest
    small, large = map(bytes_text, facts.memory)
    return text.format(
        n=fastest.seq_len,
        fastest=_(NAMES[fastest.kind]),
        least=fastest.milliseconds,
        slowest=_(NAMES[slowest.kind]),
        most=slowest.milliseconds,
        ratio=facts.times_slower,
        small=small,
        large=large,
    )


def says_theory(n: int) -> str:
    """How many pairs each way scores, counted."""
    text = _(
        "At n = {n:,}, one head scores {full:,} pairs of tokens in full attention, {window:,}"
        " with a window of 16 and {strided:,} with stride √n. Fused attention scores all "
        "pairs but stores no scores. Measure on this machine how much that saves."
    )
    reach = default_reach(n)
    pairs = {str(kind): pairs_scored(kind, reach, n) for kind in AttentionKind}
    return text.format(n=n, **pairs)


def says_measured(run: Run) -> str:
    """On what it was measured."""
    text = _(
        "Random q, k, v (seed {seed}), {n_heads} heads of width {d_head}, {dtype}, causal; "
        "fastest of up to 5 runs; window 16, stride √n. Exponents are fitted to the three "
        "greatest lengths; on CPU, memory used inside a fused kernel is not counted."
    )
    sizes = {"n_heads": run.config.n_heads, "d_head": run.config.d_head}
    return text.format(seed=run.seed, dtype=run.dtype, **sizes)


def errors_table(facts: KindsFacts) -> pd.DataFrame:
    """How far each way is from the full one."""
    found = facts.errors
    return pd.DataFrame(
        {
            _("attention variant"): [_(NAMES[kind]) for kind in AttentionKind],
            _("error relative to full attention"): found["error"].map("{:.2%}".format),
            _("weight moved to other keys"): found["moved"].map("{:.2%}".format),
            _("pairs scored"): found["pairs"],
        }
    )


@lru_cache(maxsize=8)
def pairs_facts(n: int) -> pd.DataFrame:
    """What each way scores at the lengths up to this one."""
    return scored_pairs([each for each in LENGTHS if each <= n])


def draw_pairs(table: pd.DataFrame, *, _: Translate) -> Picture:
    """How many pairs each way scores, before its time is measured."""
    growth = {str(kind): time for kind, (time, _memory) in IN_THEORY.items()}
    return kinds_picture.pairs(table, growth, _=_)


def theory_table() -> pd.DataFrame:
    """How time and memory of each way grow with n, by formula."""
    time, memory = zip(*(IN_THEORY[kind] for kind in AttentionKind), strict=True)
    return pd.DataFrame(
        {
            _("attention variant"): [_(NAMES[kind]) for kind in AttentionKind],
            _("time (theory)"): time,
            _("memory (theory)"): memory,
        }
    )


def growth_table(facts: GrowthFacts) -> pd.DataFrame:
    """Theory beside what was measured."""
    time, memory = (facts.exponents(of) for of in ("milliseconds", "peak_bytes"))
    table = theory_table()
    table.insert(2, _("time (measured)"), [_power(time.get(kind)) for kind in AttentionKind])
    table[_("memory (measured)")] = [_power(memory.get(kind)) for kind in AttentionKind]
    return table


def _power(exponent: float | None) -> str:
    return "–" if exponent is None else f"n^{exponent:.2f}"


@section
def how_else(run: Run) -> None:
    """One head in every way to attend, and how time and memory grow."""
    code = (attention_kinds.window, attention_kinds.strided, attention_kinds.linear)
    layer, head, token = labelled.selection(run)
    shown = run, layer, head, chosen_reach(run)
    with explained(("attention_kinds",), code, key="kinds"):
        say(says_errors, *shown, facts=kinds_facts)
    left, right = columns([7, 4])
    with left:
        show(draw_maps, *shown, token, key="kind_maps")
        if run.config.position.position_kind == "alibi":
            note(
                _(
                    "The maps omit ALiBi's bias: they compare only which pairs each variant scores "
                    "and how it weighs them."
                )
            )
    with right:
        reach_controls(run)
    show_table(errors_table(kinds_facts(*shown)), key="kinds_table")
    switch("measure_kinds", _("Measure how time and memory grow with n on this machine"))
    if link.value("measure_kinds"):
        how_they_grow(run)


def chosen_reach(run: Run) -> Reach:
    """How far the sparse kinds see, within the text."""
    n = run.input.shape[1]
    return Reach(*(min(link.value(name), n) for name in ("kinds_window", "kinds_stride")))


def reach_controls(run: Run) -> None:
    """The window, and the stride."""
    n, shown = run.input.shape[1], chosen_reach(run)
    if n > 1:
        label = _("window · number of most recent tokens visible, including the current one")
        slider("kinds_window", label, shown.window, most=n)
        label = _("stride s · last s tokens, then every s-th earlier one")
        slider("kinds_stride", label, shown.stride, most=n)


def draw_maps(run: Run, layer: int, head: int, reach: Reach, token: int) -> Picture:
    """One head's map in each way."""
    facts = kinds_facts(run, layer, head, reach)
    text = _("{kind}: error {error:.1%}, {pairs:,} pairs scored")
    rows = list(zip(AttentionKind, each_row(facts.errors), strict=True))
    tiles = {
        "head": range(len(rows)),
        "label": [f"<b>{_(ABOVE_A_TILE[kind])}</b>" for kind, _row in rows],
        "hover": [
            text.format(kind=_(NAMES[kind]), error=row.error, pairs=row.pairs) for kind, row in rows
        ],
    }
    return heads.overview(
        facts.codes,
        pd.DataFrame(tiles),
        columns=len(AttentionKind),
        selected=None,
        pinned=labelled.row_share(run, token),
        title=_("The same queries and keys, five attention variants"),
        _=_,
    )


def how_they_grow(run: Run) -> None:
    """Each way at each length, on this device."""
    longest = max(LENGTHS[2], link.value("kinds_up_to"))
    slide("kinds_up_to", _("largest n · tokens"), LENGTHS[2:], longest)
    series = growth_series(run)
    if series is None:
        note(_("Not measured: heads this wide need more memory than a single run may use."))
        return
    first = sum(n <= link.value("kinds_up_to") for _kind, n in series.cases)
    done = in_series(series, key="growth", asked_by="measure_kinds", first=first)
    facts = GrowthFacts(tuple(done.found))
    if len(facts.found) < len(AttentionKind):
        return
    tell(says_growth(facts))
    costs = (("milliseconds", "growth_time"), ("peak_bytes", "growth_memory"))
    for column, (of, key) in zip(st.columns(2), costs, strict=True):
        with column:
            show(kinds_picture.growth, facts.found, of, facts=GrowthFacts, key=key)
    note(says_measured(run))
    show_table(growth_table(facts), key="growth_table")


def growth_series(run: Run) -> GrowthSeries | None:
    """One measurement a way to attend and a length, those that fit into the memory budget.

    None where heads are so wide that not every way fits at any length.
    """
    n_heads, d_head = run.config.n_heads, run.config.d_head
    itemsize = devices.DTYPES[run.dtype].itemsize
    fit = tuple(
        (kind, n)
        for n in LENGTHS
        for kind in AttentionKind
        if estimate_peak(kind, n, n_heads=n_heads, d_head=d_head, itemsize=itemsize)
        <= memory_budget(run.device)
    )
    if {kind for kind, n in fit if n <= LENGTHS[2]} != set(AttentionKind):
        return None
    return GrowthSeries(fit, n_heads, d_head, run.device, run.dtype, run.seed)
