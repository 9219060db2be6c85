"""Other ways to attend on the same queries, keys and values, and what they cost here."""

from collections.abc import Hashable, Mapping
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
from pages.figures import heads, palette
from pages.figures.chart import Axis, Chart, Look, line
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture
from pages.panels.attention import shared
from pages.server.settings import memory_budget
from pages.show.chart import show
from pages.show.controls import slide, slider, switch
from pages.show.explain import note
from pages.show.parts import Beside, Controls, Matrix, Note, Say, Table, the_values
from pages.show.said import tell
from pages.show.steps import in_series
from pages.show.tables import show_table
from pages.state import labelled
from pages.state.link_fields.attention import LENGTHS
from pages.state.values import State
from pages.words.language import _, fill

NAMES = {
    AttentionKind.FULL: N_("full attention"),
    AttentionKind.FUSED: N_("fused"),
    AttentionKind.WINDOW: N_("window"),
    AttentionKind.STRIDED: N_("strided"),
    AttentionKind.LINEAR: N_("linear"),
}
LOOKS = {  # color, dash, symbol; in theory, time and memory
    AttentionKind.FULL: (palette.ATTENTION, "", "circle", "n²", "n²"),
    AttentionKind.FUSED: (palette.RESIDUAL, "dash", "circle-open", "n²", "n"),
    AttentionKind.WINDOW: (palette.FEED_FORWARD, "", "square", "n", "n"),
    AttentionKind.STRIDED: (palette.NORM, "", "diamond", "n√n", "n√n"),
    AttentionKind.LINEAR: (palette.EMBEDDING, "", "triangle-up", "n", "n"),
}
ABOVE_A_TILE = {**NAMES, AttentionKind.FULL: N_("full")}  # as wide as one on a phone


@lru_cache(maxsize=32)
def kinds_facts(run: Run, layer: int, head: int, reach: Reach) -> KindsFacts:
    return other_attention.kinds_facts(shared.attention(run, layer), layer, head, reach)


def says_errors(facts: KindsFacts) -> str:
    """Which way is nearest to the full one in this head."""
    text = _(
        "Head {head:from_one} of layer {layer:from_one}: the fused kernel gives the same output "
        "(error {fused:.0e}); of the other variants, {nearest} is closest (error {least:.1%}, "
        "{share:.0%} of the pairs scored) and {furthest} furthest (error {most:.1%})."
    )
    near, far = facts.nearest, facts.furthest
    errors = {"fused": AttentionKind.FUSED, "least": near, "most": far}
    shown = {name: facts.error(kind) for name, kind in errors.items()}
    names = {"nearest": _(NAMES[near]), "furthest": _(NAMES[far])}
    return fill(text, facts, share=facts.pair_share(near), **shown, **names)


def says_growth(facts: GrowthFacts) -> str:
    """What the longest length costs, in each way."""
    text = _(
        "Measured here at n = {a.seq_len:,}: {fastest} is fastest ({a.milliseconds:.1f} ms) and "
        "{slowest} slowest ({z.milliseconds:.1f} ms, {times_slower:.0f} times as long); memory "
        "ranges from {small} to {large}."
    )
    a, *_between, z = facts.longest
    small, large = map(bytes_text, facts.memory)
    fastest, slowest = _(NAMES[a.kind]), _(NAMES[z.kind])
    return fill(text, facts, a=a, z=z, small=small, large=large, fastest=fastest, slowest=slowest)


def says_theory(n: int) -> str:
    """How many pairs each way scores, counted."""
    text = _(
        "At n = {n:,}, one head scores {full:,} pairs of tokens in full attention, {window:,}"
        " with a window of 16 and {strided:,} with stride √n. Fused attention scores all "
        "pairs but stores no scores. Measure how much that saves on this machine."
    )
    reach = default_reach(n)
    pairs = {str(kind): pairs_scored(kind, reach, n) for kind in AttentionKind}
    return text.format(n=n, **pairs)


def says_measured(run: Run) -> str:
    """On what it was measured."""
    text = _(
        "Random q, k, v (seed {seed}), {config.n_heads} heads of width {config.d_head}, "
        "{dtype}, causal; fastest of up to 5 runs; window 16, stride √n. Exponents are fitted"
        " to the three largest lengths; on CPU, memory used inside a fused kernel is not "
        "counted."
    )
    return fill(text, run)


def errors_table(facts: KindsFacts) -> pd.DataFrame:
    """How far each way is from the full one."""
    found, percent = facts.errors, "{:.2%}".format
    table = {
        _("attention variant"): [_(NAMES[kind]) for kind in AttentionKind],
        _("error relative to full attention"): found["error"].map(percent),
        _("weight moved to other keys"): found["moved"].map(percent),
        _("pairs scored"): found["pairs"],
    }
    return pd.DataFrame(table)


def theory_table() -> pd.DataFrame:
    """How time and memory of each way grow with n, by formula."""
    *_looks, time, memory = zip(*LOOKS.values(), strict=True)
    names = [_(NAMES[kind]) for kind in LOOKS]
    table = {_("attention variant"): names, _("time (theory)"): time}
    return pd.DataFrame({**table, _("memory (theory)"): memory})


def growth_table(facts: GrowthFacts) -> pd.DataFrame:
    """Theory beside what was measured."""
    time, memory = (facts.exponents(of) for of in ("milliseconds", "peak_bytes"))
    table = theory_table()
    table.insert(2, _("time (measured)"), [_power(time.get(kind)) for kind in AttentionKind])
    table[_("memory (measured)")] = [_power(memory.get(kind)) for kind in AttentionKind]
    return table


def _power(exponent: float | None) -> str:
    return "–" if exponent is None else f"n^{exponent:.2f}"


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    """The head, how far the sparse kinds see within the text, and the token."""
    layer, head, token = labelled.selection(run, state)
    n = run.input.shape[1]
    reach = Reach(*(min(state[name], n) for name in ("kinds_window", "kinds_stride")))
    return run, layer, head, reach, token


def reach_controls(run: Run, _layer: int, _head: int, shown: Reach) -> None:
    """The window, and the stride."""
    n = run.input.shape[1]
    if n > 1:
        label = _("window · number of most recent tokens visible, including the current one")
        slider("kinds_window", label, shown.window, most=n)
        label = _("stride s · last s tokens, then every s-th earlier one")
        slider("kinds_stride", label, shown.stride, most=n)


def draw_maps(run: Run, layer: int, head: int, reach: Reach, token: int) -> Picture:
    """One head's map in each way."""
    facts = kinds_facts(run, layer, head, reach)
    text = _("{kind}: error {error:.1%}, pairs scored: {pairs:,}")
    rows = list(zip(AttentionKind, each_row(facts.errors), strict=True))
    tiles = {
        "head": range(len(rows)),
        "label": [f"<b>{_(ABOVE_A_TILE[kind])}</b>" for kind in AttentionKind],
        "hover": [fill(text, row, kind=_(NAMES[kind])) for kind, row in rows],
    }
    return heads.overview(
        facts.codes,
        pd.DataFrame(tiles),
        columns=len(AttentionKind),
        selected=None,
        pinned=labelled.row_share(run, token),
        is_alone=True,
        title=_("The same queries and keys, five attention variants"),
        _=_,
    )


def says_unbiased(run: Run) -> str | None:
    """What the maps leave out."""
    text = _(
        "The maps omit ALiBi's bias: they compare only which pairs each variant scores "
        "and how it weighs them."
    )
    return text if run.config.position.position_kind == "alibi" else None


def growth_if_asked(run: Run, state: State) -> None:
    """How time and memory grow, where the reader asks for it."""
    switch("measure_kinds", _("Measure how time and memory grow with n on this machine"))
    if state.measure_kinds:
        how_they_grow(run, state)


def how_they_grow(run: Run, state: State) -> None:
    """Each way at each length, on this device."""
    longest = max(LENGTHS[2], state.kinds_up_to)
    slide("kinds_up_to", _("largest n · tokens"), LENGTHS[2:], longest)
    series = growth_series(run)
    if series is None:
        note(_("Not measured: heads this wide need more memory than a single run may use."))
        return
    first = sum(n <= state.kinds_up_to for _kind, n in series.cases)
    done = in_series(series, key="growth", asked_by="measure_kinds", first=first)
    facts = GrowthFacts(tuple(done.found))
    if len(facts.found) < len(AttentionKind):
        return
    tell(says_growth(facts))
    costs = (("milliseconds", "growth_time"), ("peak_bytes", "growth_memory"))
    for column, (of, key) in zip(st.columns(2), costs, strict=True):
        with column:
            show(growth, facts.found, of, facts=GrowthFacts, key=key)
    note(says_measured(run))
    show_table(growth_table(facts), key="growth_table")


def growth_series(run: Run) -> GrowthSeries | None:
    """One measurement a way to attend and a length, those that fit into the memory budget.

    None where heads are so wide that not every way fits at any length.
    """
    n_heads, d_head = run.config.n_heads, run.config.d_head
    sizes = {"n_heads": n_heads, "d_head": d_head, "itemsize": devices.DTYPES[run.dtype].itemsize}
    every = ((kind, n) for n in LENGTHS for kind in AttentionKind)
    budget = memory_budget(run.device)
    fit = tuple((kind, n) for kind, n in every if estimate_peak(kind, n, **sizes) <= budget)
    if {kind for kind, n in fit if n <= LENGTHS[2]} != set(AttentionKind):
        return None
    return GrowthSeries(fit, n_heads, d_head, run.device, run.dtype, run.seed)


@lru_cache(maxsize=8)
def pairs_facts(n: int) -> pd.DataFrame:
    return scored_pairs([each for each in LENGTHS if each <= n])


def growth(facts: GrowthFacts) -> Chart:
    """Time or memory against the length: a line for each way, its exponent in the legend."""
    is_time, exponents = facts.of == "milliseconds", facts.exponents(facts.of)
    scale, unit = (1, "ms") if is_time else (1e6, "MB")
    table = facts.table.assign(value=lambda each: each[facts.of] / scale)
    written = {kind: f": n<sup>{exponent:.2f}</sup>" for kind, exponent in exponents.items()}
    title = _("Time for one pass") if is_time else _("Peak memory")
    return _by_length(title, table, f"{unit} (log)", written, said=f"{{value:,.3g}} {unit}")


def pairs(table: pd.DataFrame) -> Chart:
    """What each way scores, counted, against the length, before its time is measured."""
    written = {str(kind): f": {time}" for kind, (*_look, time, _memory) in LOOKS.items()}
    title, counted = _("Pairs of tokens that one head scores"), table.assign(value=table["pairs"])
    return _by_length(title, counted, _("pairs (logarithmic)"), written)


def _by_length(
    title: str, table: pd.DataFrame, of: str, written: Mapping[str, str], said: str = "{value:,}"
) -> Chart:
    """A line for each way to attend; `written` stands behind its name."""
    lengths = sorted(table["seq_len"].unique().tolist())
    names = {kind: _(name) + written.get(kind, "") for kind, name in NAMES.items()}
    ends = table["value"].min(), table["value"].max()
    return Chart(
        title,
        table,
        Axis(_("n · tokens (logarithmic)"), of="seq_len", is_log=True, ticks=lengths),
        Axis(of, ends, is_log=True, said="{:,.6g}".format),
        [
            line(
                "value",
                Look(names[kind], color, symbol, dash=dash),
                rows=table[table["kind"] == kind],
            )
            for kind, (color, dash, symbol, *_theory) in LOOKS.items()
        ],
        hover="n = {seq_len:,}: " + said,
        tall=330,
    )


PANEL = shared.of_a_head(
    "kinds",
    N_("Other attention variants"),
    fields=("d_model", "n_heads", "d_head"),
    concepts=("attention_kinds",),
    code=(attention_kinds.window, attention_kinds.strided, attention_kinds.linear),
    at=at,
    facts=kinds_facts,
    shows=(
        Say(says_errors),
        Beside(
            (Matrix(draw_maps, "kind_maps", facts=the_values), Note(says_unbiased, the_values)),
            Controls(reach_controls),
            widths=(7, 4),
        ),
        Table(errors_table, "kinds_table"),
        Controls(growth_if_asked, is_aside=False),
    ),
)
