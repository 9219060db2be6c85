"""Time: what a layer takes at best on this device, and what it takes."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.cost import device_peak, operation_time, roofline
from blocks.cost.device_peak import DevicePeak
from blocks.cost.operations import Phase, Tokens, phases
from blocks.cost.pass_time import PassTime
from blocks.cost.roofline import batch_at_ridge, total_seconds
from blocks.cost.timing import Place
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.table_rows import Row, each_row
from pages.figures.theme import Picture
from pages.panels.cost import roofline_facts, roofline_picture, shared
from pages.panels.cost.shared import duration
from pages.ui import link, terms
from pages.ui.chart import show
from pages.ui.controls import choose
from pages.ui.explain import explained, note
from pages.ui.export import download
from pages.ui.frame import section
from pages.ui.language import _, current_language, enumeration
from pages.ui.numbers import percent
from pages.ui.steps import in_steps


def phase_control(run: Run) -> None:
    """Prefill and decode apart; an encoder reads and never writes."""
    names = [str(each) for each in phases(run.config)]
    if len(names) > 1:
        choose("phase", _("What the model does"), names, label_of=phase)
    else:
        st.caption(
            _("An encoder reads all tokens at once and generates none: there is no decode phase.")
        )


def case_control(run: Run) -> roofline_facts.Case:
    """The case that the reader has set."""
    chosen = Phase(link.value("phase"))
    known = chosen if chosen in phases(run.config) else Phase.PREFILL
    tokens = Tokens(known, link.value("context_len"), link.value("n_texts"))
    return roofline_facts.Case(run.config, tokens, shared.place(run, "measure_device"), run.seed)


PHASES = {"prefill": N_("prefill: all tokens at once"), "decode": N_("decode: one more token")}


TRAFFICS = {"triad": N_("triad a = b + s·c"), "copy": N_("copy"), "read": N_("read")}


BOUNDS = {"compute": N_("arithmetic"), "memory": N_("memory"), "start": N_("launch time")}


GROUPS = {
    "norm": N_("norms"),
    "attention": N_("attention"),
    "cross_attention": N_("cross-attention"),
    "feed_forward": N_("feed-forward"),
    "residual": N_("residual"),
    "embedding": N_("logits"),
}


OPERATIONS = {
    "norm": N_("norm"),
    "scores": N_("scores"),
    "softmax": N_("softmax"),
    "values": N_("weighted sum"),
    "fused": N_("fused attention"),
    "activation": N_("activation"),
    "residual": N_("residual addition"),
}


CROSS = "cross_"


ABOUT = 1.1  # nearer to the roof than one measurement is to the next


ABOVE = {
    "memory": N_(
        "Above the roofline: {names}. Their operands come from a cache, or the device "
        "was busy when its bandwidth was measured."
    ),
    "compute": N_(
        "Above the roofline: {names}. The device was busy when its peak was measured: "
        "measure again."
    ),
}


def phase(name: str) -> str:
    """What a phase is called."""
    return _(PHASES[name])


def traffics() -> dict[str, str]:
    """Ways to move bytes."""
    return {name: _(text) for name, text in TRAFFICS.items()}


def operation(name: str) -> str:
    """What an operation is called."""
    rest = name.removeprefix(CROSS)
    said = _(OPERATIONS[rest]) if rest in OPERATIONS else terms.part(rest)
    return _("cross {operation}").format(operation=said) if name.startswith(CROSS) else said


def groups(rows: pd.DataFrame) -> dict[str, str]:
    """What the groups in a table are called, in its order."""
    return {name: _(GROUPS[name]) for name in rows["group"].drop_duplicates()}


def device_sentence(place: Place, speed: roofline_facts.Speed) -> str:
    """What the roof is made of."""
    best = max(speed.products, key=lambda each: each.flops_per_s)
    text = _(
        "Measured here ({where}): matrix products reach {rate} (side {size:,}), memory "
        "delivers {bandwidth}. So an operation must do {ridge} FLOPs per byte it moves "
        "before arithmetic is the limit. Launching one takes {start}."
    )
    said = text.format(
        where=shared.where(place),
        rate=flop_rate(speed.peak.flops_per_s),
        size=best.size,
        bandwidth=byte_rate(speed.peak.bytes_per_s),
        ridge=shared.rounded(speed.peak.ridge),
        start=shared.duration(speed.peak.start_seconds),
    )
    return f"{_too_low(speed.load)} {said}".strip()


def _too_low(load: float) -> str:
    """What others who computed at the same time do to the roof."""
    if not load > shared.BUSY:
        return ""
    more = _("So the roofline may be too low: measure again when the machine is idle.")
    return f"{shared.busy(load)} {more}"


def no_roof_sentence() -> str:
    """Why nothing is estimated after a stop."""
    return _(
        "No roofline yet, so no operation is estimated or timed: it needs the speed of "
        "matrix products, of memory and of a launch, and the measurement stopped before "
        "all three were known. What was measured is drawn; FLOPs and bytes in the table "
        "are exact all the same."
    )


def device_note(speed: roofline_facts.Speed) -> str:
    """How it was measured."""
    text = _(
        "Each dot is the second fastest of up to {repeats} repeats after warming up. "
        "Arrays of {mib:g} MiB exceed the caches, smaller ones may not. Other work on "
        "this machine makes it look slower. Dashed: the values that form the roof."
    )
    largest = max(each.array_bytes for each in speed.moved) / device_peak.MIB
    said = text.format(repeats=max(len(each.times.seconds) for each in speed.products), mib=largest)
    return f"{said} {_skipped(speed)}".strip()


def _skipped(speed: roofline_facts.Speed) -> str:
    """Which squares were not tried."""
    largest = speed.products[-1]
    if largest.size >= max(device_peak.MATRIX_SIZES["cpu"]):
        return ""
    text = _("Matrices larger than {size:,} would take too long in this number format.")
    return text.format(size=largest.size)


def device_alt(place: Place, speed: roofline_facts.Speed) -> str:
    """Write the alt text of the two panels."""
    return f"{_both_panels()} {device_sentence(place, speed)}"


def so_far_alt(place: Place, speed: roofline_facts.Speed) -> str:
    """Write the alt text of a measurement that was stopped."""
    text = _("{product} matrix products and {moved} arrays were measured.")
    said = text.format(product=len(speed.products), moved=len(speed.moved))
    return f"{_both_panels()} {said}"


def _both_panels() -> str:
    return _("Speed of matrix products against their size, and of memory against array size.")


def bound_sentence(case: roofline_facts.Case, peak: DevicePeak) -> str:
    """Which operations wait for what, and why decode waits for memory."""
    rows = roofline_facts.measured_table(case, peak, ())
    parts = []
    for bound, text in (
        ("compute", N_("limited by arithmetic: {names}")),
        ("memory", N_("limited by memory: {names}")),
        ("start", N_("so small that launching them takes longer: {names}")),
    ):
        found = rows["operation"][rows["bound"] == bound]
        if len(found):
            parts.append(_(text).format(names=enumeration(map(operation, found))))
    said = f"{_what_runs(case)} {'; '.join(parts)}."
    return f"{said} {_why(case, peak)}".strip()


def _what_runs(case: roofline_facts.Case) -> str:
    text = _("Prefill of {n:,} tokens, batch {batch}:")
    if case.tokens.phase is Phase.DECODE:
        text = _("Decoding one token with {n:,} in the cache, batch {batch}:")
    return text.format(n=case.tokens.n, batch=case.tokens.batch)


def _why(case: roofline_facts.Case, peak: DevicePeak) -> str:
    """Each weight is read once, for as many tokens as there are."""
    if case.tokens.phase is not Phase.DECODE:
        return ""
    rows = roofline_facts.measured_table(case, peak, ()).set_index("operation")
    config, name = case.config, "out_proj"
    sides = config.n_heads * config.d_head, config.d_model
    needed = batch_at_ridge(*sides, itemsize=case.itemsize, peak=peak)
    text = _(
        "Why: {name} reads {bytes} of weights to do {flops} per token, {intensity} "
        "FLOPs per byte; the ridge point is at {ridge}."
    )
    said = text.format(
        name=operation(name),
        bytes=shared.in_bytes(sides[0] * sides[1] * case.itemsize),
        flops=shared.flops(2 * sides[0] * sides[1]),
        intensity=shared.rounded(rows["intensity"][name]),
        ridge=shared.rounded(peak.ridge),
    )
    if needed is None:
        more = _("At this width no batch reaches it.")
    else:
        more = _(
            "A batch of {batch:,} would reach it: each weight read then serves the whole batch."
        )
        more = more.format(batch=needed)
    return f"{said} {more}"


def measured_sentence(case: roofline_facts.Case, peak: DevicePeak, names: tuple[str, ...]) -> str:
    """How much of the roof was reached, most and least, and what lies above it."""
    rows = roofline_facts.measured_table(case, peak, names).dropna(subset=["measured_s"])
    below = rows[(rows["share"] <= ABOUT) & (rows["bound"] != "start")]
    said = []
    if len(below):
        best, worst = below.iloc[below["share"].argmax()], below.iloc[below["share"].argmin()]
        text = _(
            "Of the operations bound by arithmetic or memory, nearest to the roofline "
            "is {best} ({high} of it), furthest {worst} ({low})."
        )
        said.append(
            text.format(
                best=operation(best["operation"]),
                high=percent(best["share"]),
                worst=operation(worst["operation"]),
                low=percent(worst["share"]),
            )
        )
    for bound, text in ABOVE.items():
        above = rows["operation"][(rows["share"] > ABOUT) & (rows["bound"] == bound)]
        if len(above):
            said.append(_(text).format(names=enumeration(map(operation, above))))
    return " ".join(said)


def sums_sentence(
    case: roofline_facts.Case, peak: DevicePeak, names: tuple[str, ...], layer: PassTime
) -> str:
    """A layer: estimated, in parts, and whole."""
    rows = roofline_facts.measured_table(case, peak, names)
    best = total_seconds(rows, "estimated_s")
    text = _(
        "One layer: {best} at best, {parts} as the sum of its operations, {whole} "
        "measured as a whole ({times:.1f} times the estimate, {memory} peak memory "
        "beyond its weights)."
    )
    return text.format(
        best=shared.duration(best),
        parts=shared.duration(total_seconds(rows, "measured_s")),
        whole=shared.duration(layer.times.median),
        times=layer.times.median / best,
        memory=shared.in_bytes(layer.peak_bytes),
    )


def model_sentence(
    case: roofline_facts.Case, peak: DevicePeak, names: tuple[str, ...], whole: PassTime
) -> str:
    """Estimate and measurement of the whole model, with tokens per second."""
    rows = roofline_facts.measured_table(case, peak, names)
    best = roofline_facts.model_seconds(rows, case.config, "estimated_s")
    parts = roofline_facts.model_seconds(rows, case.config, "measured_s")
    text = _(
        "The whole model: {best} at best, {parts} as the sum of its operations, {whole} "
        "measured ({spread}): {rate} tokens per second."
    )
    return text.format(
        best=shared.duration(best),
        parts=shared.duration(parts),
        whole=shared.duration(whole.times.median),
        spread=_spread(whole),
        rate=shared.rounded(case.tokens.batch * case.tokens.n_new / whole.times.median),
    )


def _spread(found: PassTime) -> str:
    if len(found.times.seconds) == 1:
        return _("one pass")
    low, high = found.times.quartiles
    return _("quartiles {low} to {high}").format(
        low=shared.duration(low), high=shared.duration(high)
    )


def too_large(case: roofline_facts.Case, peak: DevicePeak) -> str:
    """What is not measured, and why."""
    found = roofline_facts.measured_left_out(case, peak)
    if not found:
        return ""
    text = _("{name} (at least {seconds}, up to {bytes})")
    listed = (
        text.format(
            name=operation(name), seconds=shared.duration(seconds), bytes=shared.in_bytes(n_bytes)
        )
        for name, (seconds, n_bytes) in found.items()
    )
    said = _(
        "Too slow or too large to be measured here, so only estimated: {names}. Set "
        "fewer tokens, a smaller batch or a narrower model."
    )
    return said.format(names="; ".join(listed))


def measured_note(case: roofline_facts.Case) -> str:
    """On what it was measured, and what is left out."""
    text = _(
        "Measured here: {where}; medians after warming up, bars: quartiles; random "
        "operands (seed {seed}). Each call uses other weights and cached keys until as "
        "many bytes have passed as the model has, so that caching is as in the model. "
        "Bytes: each operand read once, each result written once. In the layer but not "
        "in its operations: biases, masks, positions, norms of queries and keys, head "
        "reshaping."
    )
    return text.format(where=shared.where(case.place), seed=case.seed)


def roofline_alt(case: roofline_facts.Case, peak: DevicePeak, names: tuple[str, ...]) -> str:
    """Write the alt text of the roofline."""
    text = _("Speed of each operation against its arithmetic intensity, below the roofline.")
    return f"{text} {bound_sentence(case, peak)} {measured_sentence(case, peak, names)}"


def durations_alt(case: roofline_facts.Case, peak: DevicePeak, names: tuple[str, ...]) -> str:
    """Write the alt text of the times."""
    rows = roofline_facts.measured_table(case, peak, names).dropna(subset=["measured_s"])
    text = _("{name}: {best} at best, {time} measured")
    listed = (
        text.format(
            name=operation(row.operation),
            best=shared.duration(row.estimated_s),
            time=shared.duration(row.measured_s),
        )
        for row in each_row(rows)
    )
    return _("Time of each operation. {listed}.").format(listed="; ".join(listed))


def sums_alt(
    case: roofline_facts.Case, peak: DevicePeak, names: tuple[str, ...], layer: PassTime
) -> str:
    """Write the alt text of the three bars."""
    return sums_sentence(case, peak, names, layer)


def flop_rate(flops_per_s: float) -> str:
    """FLOPs a second: 81.2 GFLOP/s."""
    return f"{shared.flops(flops_per_s)}/s"


def byte_rate(bytes_per_s: float) -> str:
    """Bytes a second: 26.4 GB/s, in steps of a thousand as data sheets have it."""
    return f"{shared.in_bytes(bytes_per_s)}/s"


MS = 1000


def counted(case: roofline_facts.Case) -> pd.DataFrame:
    """What is known before anything is measured."""
    rows = roofline_facts.measured_counted(case.config, case.tokens, case.itemsize)
    return pd.DataFrame(_counted(rows) | _formulas(rows))


def timed(case: roofline_facts.Case, peak: DevicePeak, names: tuple[str, ...]) -> pd.DataFrame:
    """Counts with estimate and measurement."""
    rows = roofline_facts.measured_table(case, peak, names)
    times = {
        _("at best"): rows["estimated_s"].map(duration),
        _("measured"): rows["measured_s"].map(_or_dash(duration)),
        _("share reached"): rows["share"].map(_or_dash(percent)),
        _("limited by"): rows["bound"].map(lambda name: _(BOUNDS[name])),
    }
    return pd.DataFrame(_counted(rows) | times | _formulas(rows))


def show_table(table: pd.DataFrame) -> None:
    """Show such a table."""
    st.dataframe(table, hide_index=True, key="operations_table", height="content")


def _counted(rows: pd.DataFrame) -> dict[str, pd.Series]:
    return {
        _("operation"): rows["operation"].map(operation),
        _("times per layer"): rows["times"].astype(str).where(rows["operation"] != "unembed", "–"),
        "FLOPs": rows["flops"].map(lambda n: f"{n:,}"),
        _("bytes"): rows["bytes"].map(lambda n: f"{n:,}"),
        _("FLOPs per byte"): rows["intensity"].map(shared.rounded),
    }


def _formulas(rows: pd.DataFrame) -> dict[str, pd.Series]:
    return {
        _("FLOPs, formula"): rows["flops_formula"],
        _("bytes, formula"): rows["bytes_formula"],
    }


def _or_dash(said: Callable[[float], str]) -> Callable[[float], str]:
    return lambda value: "–" if pd.isna(value) else said(value)


def dots(case: roofline_facts.Case, peak: DevicePeak, names: tuple[str, ...]) -> pd.DataFrame:
    """The table for pictures: label, hover, milliseconds."""
    return _dots(case, peak, names, current_language())


@lru_cache(maxsize=32)
def _dots(
    case: roofline_facts.Case, peak: DevicePeak, names: tuple[str, ...], language: str
) -> pd.DataFrame:
    rows = roofline_facts.measured_table(case, peak, names)
    times = {
        f"{name}_ms": rows[f"{name}_s"] * MS for name in ("estimated", "measured", "low", "high")
    }
    return rows.assign(
        label=rows["operation"].map(operation),
        hover=[_hover(row) for row in each_row(rows)],
        **times,
    )


def _hover(row: Row) -> str:
    """All that is known of an operation, formulas too."""
    lines = [
        f"<b>{operation(row.operation)}</b>",
        f"{shared.flops(row.flops)} = {row.flops_formula}",
        f"{shared.in_bytes(row.bytes)} = {row.bytes_formula}",
        _("{intensity} FLOPs per byte").format(intensity=shared.rounded(row.intensity)),
        _("at best {time}: {rate}").format(
            time=duration(row.estimated_s), rate=flop_rate(row.roof_flops_per_s)
        ),
    ]
    if pd.isna(row.measured_s):
        lines.append(_("not measured"))
    else:
        text = _("measured {time}: {rate}, {share} of it")
        rate = flop_rate(row.measured_flops_per_s)
        share = percent(row.share)
        lines.append(text.format(time=duration(row.measured_s), rate=rate, share=share))
    return "<br>".join(lines)


CODE = (
    roofline.estimate_seconds,
    operation_time.prepare,
    device_peak.measure_matmul,
    device_peak.measure_bandwidth,
)


@section
def how_fast_here(run: Run) -> None:
    """The device first, then each operation of a layer, then the layer, then the model."""
    with explained(("roofline",), CODE, key="roofline"):
        phase_control(run)
    case = case_control(run)
    is_asked = shared.measure_button(
        "measure_device", _("Measure this device"), again=_("Measure again")
    )
    if not is_asked:
        text = _(
            "FLOPs and bytes are exact; to know how long they take, this device is measured first."
        )
        note(text)
        show_table(counted(case))
        return
    if speed := measured_device(case.place):
        measured_operations(run, case, speed.peak)
    else:
        show_table(counted(case))


def measured_device(place: Place) -> roofline_facts.Speed | None:
    """What the roof is made of; None where the reader stopped."""
    steps = roofline_facts.speed_steps(place)
    done = in_steps(steps, what=place, key="device_steps", is_asked=True)
    if done.is_stopped:
        device_so_far(place, done.found)
        return None
    speed = roofline_facts.measured_speed(place)
    st.info(device_sentence(place, speed), icon=":material/speed:")
    show(draw_device, place, speed, key="device_rates", alt=device_alt)
    note(device_note(speed))
    return speed


def device_so_far(place: Place, found: Sequence[object]) -> None:
    """What was measured before the reader stopped, and why no operation is estimated."""
    st.info(no_roof_sentence(), icon=":material/speed:")
    speed = roofline_facts.so_far(found)
    if speed.products:
        show(draw_device, place, speed, key="device_rates", alt=so_far_alt)


def measured_operations(run: Run, case: roofline_facts.Case, peak: DevicePeak) -> None:
    """Hollow and filled dots, as far as they are measured."""
    rows = roofline_facts.measured_counted(case.config, case.tokens, case.itemsize)
    left_out = roofline_facts.measured_left_out(case, peak)
    wanted = tuple(name for name in rows["operation"] if name not in left_out)
    done = in_steps(
        roofline_facts.measured_steps(case, wanted),
        what=(case, wanted),
        key="operation_steps",
        is_asked=True,
    )
    names = wanted[: len(done.found)]
    st.info(bound_sentence(case, peak), icon=":material/lightbulb:")
    if said := too_large(case, peak):
        st.warning(said, icon=":material/block:")
    left, right = st.columns([6, 5])
    with left:
        show(draw_roofline, case, peak, names, key="roofline_dots", alt=roofline_alt)
    with right:
        show(draw_durations, case, peak, names, key="operation_times", alt=durations_alt)
    if said := measured_sentence(case, peak, names):
        st.info(said, icon=":material/query_stats:")
    show_table(timed(case, peak, names))
    note(measured_note(case))
    table = roofline_facts.measured_table(case, peak, names)
    download("roofline.csv", lambda: table.to_csv(index=False), "text/csv")
    if names == tuple(rows["operation"]):
        the_whole_beside(run, case, peak, names)


def the_whole_beside(
    run: Run, case: roofline_facts.Case, peak: DevicePeak, names: tuple[str, ...]
) -> None:
    """One layer at once, and the model, where they fit."""
    if not roofline_facts.layer_fits(case, peak):
        return
    has_model = roofline_facts.model_fits(case, peak)
    steps = [lambda: roofline_facts.layer_time(case)]
    steps += [lambda: roofline_facts.model_time(case, run.untouched)][:has_model]
    found = in_steps(steps, what=(case, has_model), key="layer_steps", is_asked=True).found
    if not found:
        return
    st.info(sums_sentence(case, peak, names, found[0]), icon=":material/functions:")
    show(draw_sums, case, peak, names, found[0], key="layer_sums", alt=sums_alt)
    for whole in found[1:]:
        st.info(model_sentence(case, peak, names, whole), icon=":material/layers:")


def draw_device(place: Place, speed: roofline_facts.Speed) -> Picture:
    """Products and traffic against their size."""
    return roofline_picture.rates(
        roofline_facts.products_table(speed),
        roofline_facts.moved_table(speed),
        traffics(),
        roofline_facts.best(speed),
        title=_("Speed measured on this device"),
        _=_,
    )


def draw_roofline(case: roofline_facts.Case, peak: DevicePeak, names: tuple[str, ...]) -> Picture:
    """The roof and the dots below it."""
    table = dots(case, peak, names)
    roof = roofline_picture.Roof(peak.flops_per_s, peak.bytes_per_s)
    title = _("Roofline: speed reached against speed possible")
    return roofline_picture.roofline(table, roof, groups(table), title=title, _=_)


def draw_durations(case: roofline_facts.Case, peak: DevicePeak, names: tuple[str, ...]) -> Picture:
    """A row an operation."""
    table = dots(case, peak, names)
    title = _("Time of each operation, run once")
    return roofline_picture.durations(table, groups(table), title=title, _=_)


def draw_sums(
    case: roofline_facts.Case, peak: DevicePeak, names: tuple[str, ...], layer: PassTime
) -> Picture:
    """Three bars."""
    rows = {
        "estimated_s": _("at best"),
        "measured_s": _("operations, one by one"),
        "layer": _("the layer, whole"),
    }
    parts = roofline_facts.sums(case, peak, names)
    return roofline_picture.sums(
        parts.assign(row=parts["column"].map(rows)),
        groups(parts),
        tuple(rows.values()),
        roofline_facts.milliseconds(layer),
        title=_("One layer, estimated and measured"),
        _=_,
    )
