"""What differs between A and B, in settings and in numbers; counted, and measured here."""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from statistics import median
from typing import NamedTuple

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost import paired_time, summary
from blocks.cost.breakdown import count_kinds
from blocks.cost.paired_time import measure_round
from blocks.cost.passes import Operation, PassKind, operations, pass_kinds
from blocks.cost.timing import Times
from blocks.inspection import settings
from blocks.inspection.settings import moved_along
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import pair as pictures
from pages.figures.theme import Picture
from pages.panels.compare import shared, trade_offs
from pages.panels.compare.shared import Pair
from pages.panels.cost import shared as cost_shared
from pages.panels.cost.shared import measure_button
from pages.ui import cached
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, enumeration
from pages.ui.link import value
from pages.ui.numbers import readable
from pages.ui.steps import in_steps
from pages.ui.tables import show_whole


@lru_cache(maxsize=64)
def measured_by_kind(a: ModelConfig, b: ModelConfig) -> pd.DataFrame:
    """Parameters of each kind that either has: name, a, b."""
    return _joined(*({str(k): v for k, v in count_kinds(each).items()} for each in (a, b)))


@lru_cache(maxsize=64)
def by_operation(a: ModelConfig, b: ModelConfig, n: int) -> pd.DataFrame:
    """FLOPs of each operation, for one token of a text of n that is read: name, a, b."""
    return _joined(*({o.name: o.flops / n for o in _reading(each, n)} for each in (a, b)))


def _reading(config: ModelConfig, n: int) -> tuple[Operation, ...]:
    writes = PassKind.DECODE in pass_kinds(config)
    return operations(config, PassKind.PREFILL if writes else PassKind.FORWARD, n=n)


def _joined(a: Mapping[str, float], b: Mapping[str, float]) -> pd.DataFrame:
    """Everything that either has, in its order; what one lacks is 0."""
    order = [*b, *(name for name in a if name not in b)] if len(b) > len(a) else [*a]
    order += [name for name in b if name not in order]
    rows = [(name, a.get(name, 0), b.get(name, 0)) for name in order]
    return pd.DataFrame(rows, columns=["name", "a", "b"])


class PairTimes(NamedTuple):
    """Forward passes of both, taken in turn, and what a pass of B takes for one of A."""

    a: Times
    b: Times
    ratio: float


def rounds(pair: shared.Pair, attempt: int) -> list[Callable[[], tuple[float, float]]]:
    """One measurement of each, as often as there are rounds."""
    return [partial(one_round, pair.a, pair.b, attempt, i) for i in range(shared.N_ROUNDS)]


@lru_cache(maxsize=256)
def one_round(a: Run, b: Run, attempt: int, i: int) -> tuple[float, float]:
    """Seconds of A, then of B, where nothing else runs on the device."""
    models = cached.model(a), cached.model(b)
    with cached.turn(b.device):
        return measure_round(a, models[0], b, models[1])


def times(found: list[tuple[float, float]]) -> PairTimes:
    """The median of the ratios of all rounds, which is steadier than the ratio of medians."""
    a, b = (Times(seconds) for seconds in zip(*found, strict=True))
    return PairTimes(a, b, median(theirs / ours for ours, theirs in found))


def parameters(pair: shared.Pair) -> pd.DataFrame:
    """Parameters by kind: label, a, b, said_a, said_b."""
    table = measured_by_kind(pair.a.config, pair.b.config)
    return shared._said(
        table.assign(label=[kind(name) for name in table["name"]]), "{:,.0f}".format
    )


def operations_frame(pair: shared.Pair, n: int) -> pd.DataFrame:
    """FLOPs of one token by operation, the same columns."""
    table = by_operation(pair.a.config, pair.b.config, n)
    labels = [cost_shared.operation(name) for name in table["name"]]
    return shared._said(table.assign(label=labels), cost_shared.flops)


KINDS = {
    "embedding": N_("token embedding"),
    "position": N_("positional encoding"),
    "attention": N_("attention"),
    "cross_attention": N_("cross-attention"),
    "feed_forward": N_("feed-forward"),
    "router": N_("router"),
    "norm": N_("norms"),
    "pooler": N_("pooler"),
    "output": N_("output"),
}


def kind(name: str) -> str:
    """What a parameter is there for."""
    return _(KINDS[name])


def settings_table(pair: shared.Pair) -> None:
    """Show the settings that differ as a table."""
    table = shared.settings_frame(pair)
    if len(table):
        show_whole(table)


def time_rows(found: PairTimes) -> list[shared.Row]:
    """The middle of all rounds, and the fastest: whatever else runs here only adds time."""
    fastest = min(found.a.seconds), min(found.b.seconds)
    return [
        shared.Row(
            _("forward pass here, median"), found.a.median, found.b.median, cost_shared.duration
        ),
        shared.Row(_("forward pass here, fastest round"), *fastest, cost_shared.duration),
    ]


SAME_WITHIN = 0.005


MOST_SPREAD = 0.3  # between quartiles, of the median


def how_many_differ(pair: shared.Pair) -> str:
    """The settings that differ, counted; or that there is none."""
    found = shared.settings_frame(pair)
    if found.empty:
        return _(
            "A and B are the same: change something in the sidebar to see the difference here."
        )
    names = list(found.iloc[:, 0])
    more = "" if len(names) <= shared.MOST_NAMED else " …"
    text = _("Settings that differ ({n}): {names}")
    said = text.format(n=len(names), names=enumeration(names[: shared.MOST_NAMED]) + more)
    led = enumeration(moved_along(pair.a.config, pair.b.config))
    return (
        f"{said}  \n" + _("Not set, but changed along: {names}.").format(names=led) if led else said
    )


def dearer(pair: shared.Pair, n: int, weight_format: str) -> str:
    """What B costs more or less than A, and which part makes the difference."""
    a, b = (trade_offs.summary(run.config, n, weight_format) for run in pair.both)
    by_kind = measured_by_kind(pair.a.config, pair.b.config)
    said = [_parameters(a.parameters, b.parameters, by_kind), _reading_text(pair, n)]
    said.append(_cache(a.cache_bytes, b.cache_bytes, trade_offs.cache_format(weight_format)))
    return " ".join(filter(None, said))


def _parameters(a: int, b: int, by_kind: pd.DataFrame) -> str:
    if a == b:
        return _("Both have {n:,} parameters.").format(n=a)
    text = _(
        "B has {ratio} times the parameters of A ({change}), mostly in {part} ({part_change})."
    )
    if readable(b / a) == "1":
        text = _("B has {change} parameters against {n:,} of A, mostly in {part} ({part_change}).")
    part, change = _largest_change(by_kind, b - a)
    return text.format(
        n=a,
        ratio=readable(b / a),
        change=shared.signed(b - a, "{:,}".format),
        part=kind(part),
        part_change=shared.signed(round(change), "{:,}".format),
    )


def _reading_text(pair: shared.Pair, n: int) -> str:
    table = by_operation(pair.a.config, pair.b.config, n)
    a, b = float(table["a"].sum()), float(table["b"].sum())
    if abs(b / a - 1) < SAME_WITHIN:
        text = _("Per token read (text of {n:,} tokens), both need about {flops}.")
        return text.format(n=n, flops=cost_shared.flops(b))
    part, change = _largest_change(table, b - a)
    text = _(
        "Per token read (text of {n:,} tokens), B needs {ratio} times the FLOPs of A, "
        "mostly in {part} ({change})."
    )
    return text.format(
        n=n,
        ratio=readable(b / a),
        part=cost_shared.operation(part),
        change=shared.signed(change, cost_shared.flops),
    )


def _largest_change(table: pd.DataFrame, total: float) -> tuple[str, float]:
    """The row that does most towards the change of the total."""
    change = table["b"] - table["a"]
    i = (change if total > 0 else -change).argmax()
    return table["name"].iloc[i], float(change.iloc[i])


def _cache(a: int, b: int, number_format: str) -> str:
    if not a or not b:
        return ""
    if a == b:
        text = _("Each token takes {n} of KV cache in both ({number_format}).")
        return text.format(n=cost_shared.in_bytes(a), number_format=number_format)
    text = _(
        "In the KV cache ({number_format}) each token takes {b} instead of {a}: {ratio} times as "
        "much."
    )
    return text.format(
        number_format=number_format,
        a=cost_shared.in_bytes(a),
        b=cost_shared.in_bytes(b),
        ratio=readable(b / a),
    )


def numbers_note(n: int, weight_format: str) -> str:
    """What the numbers are."""
    return _(
        "Exact counts, nothing is built: matrix products for texts of {n:,} tokens; 1 "
        "GB = 10⁹ bytes, in {weight_format}, whatever format A and B run in here. "
        "Memory for inference is an estimate. A dash: not applicable."
    ).format(n=n, weight_format=weight_format)


def time_sentence(pair: shared.Pair, found: PairTimes) -> str:
    """Which is faster here, and whether the spread allows to say so."""
    (a_low, a_high), (b_low, b_high) = found.a.quartiles, found.b.quartiles
    text = _(
        "Measured here on {device}, {rounds} alternating rounds, medians (quartiles): A "
        "{a} ({a_low} to {a_high}), B {b} ({b_low} to {b_high})."
    )
    said = text.format(
        device=pair.b.device,
        rounds=len(found.a.seconds),
        a=cost_shared.duration(found.a.median),
        a_low=cost_shared.duration(a_low),
        a_high=cost_shared.duration(a_high),
        b=cost_shared.duration(found.b.median),
        b_low=cost_shared.duration(b_low),
        b_high=cost_shared.duration(b_high),
    )
    return f"{said} {_verdict(found)} {_against_flops(pair, found)}"


def _verdict(found: PairTimes) -> str:
    """Who is faster, where the rounds agree; and what to make of it where they do not."""
    ratios = [b / a for a, b in zip(found.a.seconds, found.b.seconds, strict=True)]
    low, high = min(ratios), max(ratios)
    if low > 1:
        text = _("B was slower in every round: median {ratio} times A.")
    elif high < 1:
        text = _("B was faster in every round: median {ratio} times A.")
    else:
        text = _(
            "Round by round B took a median of {ratio} times A ({low} to {high}): no clear winner."
        )
    said = text.format(ratio=readable(found.ratio), low=readable(low), high=readable(high))
    low, high = found.b.quartiles
    if high - low <= MOST_SPREAD * found.b.median:
        return said
    busy = _("Other work keeps this device busy: the fastest rounds are the most reliable.")
    return f"{said} {busy}"


def _against_flops(pair: shared.Pair, found: PairTimes) -> str:
    """Whether FLOPs alone would have told."""
    n = pair.b.input.shape[1]
    table = by_operation(pair.a.config, pair.b.config, n)
    expected = float(table["b"].sum() / table["a"].sum())
    text = _("FLOPs alone would give {expected} times.")
    return text.format(expected=readable(expected))


def time_note(pair: shared.Pair) -> str:
    """What is timed."""
    n_a, n_b = (run.input.shape[1] for run in pair.both)
    tokens = str(n_b) if n_a == n_b else f"{n_a} / {n_b}"
    return _(
        "One forward pass over your text ({tokens} tokens), no gradient, nothing "
        "recorded; A and B alternate, each warmed up first."
    ).format(tokens=tokens)


def parameters_alt(pair: shared.Pair) -> str:
    """Write the alt text of parameters by kind."""
    return _("Parameters by kind. {rows}").format(rows=shared.in_rows(parameters(pair)))


def operations_alt(pair: shared.Pair, n: int) -> str:
    """Write the alt text of FLOPs by operation."""
    return _("FLOPs by operation. {rows}").format(rows=shared.in_rows(operations_frame(pair, n)))


def what_differs(pair: Pair, n: int, weight_format: str) -> None:
    """The settings that differ, and what follows from them."""
    code = (settings.differing, summary.summarise)
    explained(("comparing", "flops"), code, key="differs").info(
        how_many_differ(pair), icon=":material/compare_arrows:"
    )
    settings_table(pair)
    st.info(dearer(pair, n, weight_format), icon=":material/lightbulb:")
    shared.numbers(shared.counted_rows(pair, n, weight_format))
    note(numbers_note(n, weight_format))


@section
def where_it_goes(pair: Pair, n: int) -> None:
    """Parameters by kind and FLOPs by operation, two by two."""
    explained(("parameters", "flops"), key="where")
    left, right = st.columns(2)
    with left:
        show(draw_parameters, pair, key="pair_parameters", alt=parameters_alt)
    with right:
        show(draw_operations, pair, n, key="pair_operations", alt=operations_alt)


def draw_parameters(pair: Pair) -> Picture:
    """Parameters by kind."""
    table, title = parameters(pair), _("Parameters by kind")
    return pictures.bars(table, shared.names(pair), title=title, unit=_("parameters"))


def draw_operations(pair: Pair, n: int) -> Picture:
    """FLOPs of a token by operation."""
    title = _("FLOPs per token read, n = {n:,}").format(n=n)
    return pictures.bars(
        operations_frame(pair, n), shared.names(pair), title=title, unit=_("FLOPs")
    )


@section
def how_fast_here(pair: Pair) -> None:
    """One forward pass of each, measured in turn."""
    again = _("Measure again")
    with explained(("comparing",), (paired_time.measure_round,), key="pair_time"):
        is_asked = measure_button("measure_pair", _("Measure both here"), again=again)
    if not is_asked:
        note(time_note(pair))
        return
    attempt = value("measure_pair")
    done = in_steps(rounds(pair, attempt), what=(pair, attempt), key="pair_rounds", is_asked=True)
    if not done.found:
        return
    found = times(done.found)
    st.info(time_sentence(pair, found), icon=":material/timer:")
    shared.numbers(time_rows(found))
    note(time_note(pair))
