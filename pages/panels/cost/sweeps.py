"""How time and memory grow here: one size of a layer, number formats, ways to attend."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from blocks.cost import device_peak, pass_time, sweep, timing
from blocks.cost.attention_time import slopes
from blocks.cost.operations import Phase, Tokens
from blocks.cost.pass_time import PassTime, measure_layer
from blocks.cost.sweep import LONGEST_PASS, Swept
from blocks.cost.timing import REPEATS
from blocks.model import devices
from blocks.model.config import ModelConfig
from blocks.model.devices import available_dtypes
from blocks.model.faults import N_, Fault
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.attention.kinds import how_they_grow
from pages.panels.cost import shared
from pages.panels.cost import sweeps_picture as pictures
from pages.panels.cost.shared import Place, busy, duration, rounded, where
from pages.ui import cached, link
from pages.ui.chart import show
from pages.ui.controls import choose, slide, switch
from pages.ui.explain import explained, note
from pages.ui.export import download
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.link_fields.cost import DIRECTIONS, SWEEP_LENGTHS, SWEPT
from pages.ui.settings import memory_budget
from pages.ui.steps import in_steps

MIB, MARGIN = 2**20, 1.5
DTYPES = ("float32", "bfloat16", "float16")


class Sweep(NamedTuple):
    """One line: a layer, what doubles, where, in which direction."""

    config: ModelConfig
    tokens: Tokens
    what: Swept
    is_backward: bool
    place: Place
    seed: int


class Point(NamedTuple):
    """One size of it: measured, or why not (too large for memory, or too long)."""

    size: int
    time: PassTime | None = None
    fault: str = ""
    seconds: float = 0.0


def sizes(wanted: Sweep) -> tuple[int, ...]:
    """The sizes that are legal, ascending."""
    return tuple(sorted(_cases(wanted)))


@lru_cache(maxsize=32)
def _cases(wanted: Sweep) -> dict[int, sweep.Case]:
    return sweep.swept(wanted.config, wanted.tokens, wanted.what)


def steps(all_wanted: tuple[Sweep, ...]) -> list[Callable[[], Point]]:
    """One measurement a size and line, the lines in turn, so that they grow together."""
    return [partial(point, wanted, n) for n, wanted in _ordered(all_wanted)]


def _ordered(all_wanted: tuple[Sweep, ...]) -> list[tuple[int, Sweep]]:
    pairs = [(n, wanted) for wanted in all_wanted for n in sizes(wanted)]
    return sorted(pairs, key=lambda pair: pair[0])  # stable: lines in their order


@lru_cache(maxsize=512)
def point(wanted: Sweep, size: int) -> Point:
    """One size; not measured where those before say that it would take too long."""
    config, tokens = _cases(wanted)[size]
    dtype = devices.DTYPES[wanted.place.dtype]
    fault = sweep.layer_fault(config, tokens, dtype=dtype, budget=memory_budget())
    if fault is not None:
        return Point(size, fault=_needed(fault))
    seconds = _predicted(wanted, size)
    if seconds > sweep.LONGEST_PASS:
        return Point(size, seconds=seconds)
    where: dict[str, Any] = {"device": wanted.place.device, "dtype": dtype, "seed": wanted.seed}
    with cached.turn(wanted.place.device):
        return Point(size, measure_layer(config, tokens, **where, is_backward=wanted.is_backward))


def _needed(fault: Fault) -> str:
    return str(fault.values["need"])


def _predicted(wanted: Sweep, size: int) -> float:
    """Seconds that this size takes where time grows as it last did, and no faster than FLOPs.

    0 where fewer than two smaller sizes say nothing of it.
    """
    before = [point(wanted, each) for each in sizes(wanted) if each < size][-2:]
    if len(before) < 2:
        return 0.0
    smaller, last = ((each.size, _seconds(each)) for each in before)
    growth = MARGIN * max(1.0, last[1] / smaller[1])
    return last[1] * min(growth, flops(wanted, size) / flops(wanted, last[0]))


def _seconds(each: Point) -> float:
    """Measured, or foreseen."""
    return each.seconds if each.time is None else each.time.times.fast


@lru_cache(maxsize=512)
def flops(wanted: Sweep, size: int) -> int:
    """By formula."""
    return sweep.layer_flops(*_cases(wanted)[size], is_backward=wanted.is_backward)


@lru_cache(maxsize=32)
def load(_all_wanted: tuple[Sweep, ...]) -> float:
    """How busy the machine was when they were first shown, for each of its CPUs."""
    return device_peak.load()


def skipped(found: tuple[tuple[str, Point], ...]) -> tuple[tuple[str, Point], ...]:
    """Of each line the first that was not measured."""
    first: dict[str, Point] = {}
    for series, each in found:
        if each.time is None:
            first.setdefault(series, each)
    return tuple(first.items())


def named(all_wanted: tuple[Sweep, ...], found: list[Point]) -> tuple[tuple[str, Point], ...]:
    """Each point with its number format, in the order of the steps."""
    measured = zip(_ordered(all_wanted), found, strict=False)
    return tuple((wanted.place.dtype, each) for (_n, wanted), each in measured)


@lru_cache(maxsize=64)
def sweep_table(
    all_wanted: tuple[Sweep, ...], found: tuple[tuple[str, Point], ...]
) -> pd.DataFrame:
    """One row a measured size: series, size, flops, milliseconds, low, high, mebibytes."""
    by_dtype = {wanted.place.dtype: wanted for wanted in all_wanted}
    rows = [
        (
            series,
            each.size,
            flops(by_dtype[series], each.size),
            *(1000 * s for s in (each.time.times.median, *each.time.times.quartiles)),
            each.time.peak_bytes / MIB,
        )
        for series, each in found
        if each.time is not None
    ]
    columns = ["series", "size", "flops", "milliseconds", "low", "high", "mebibytes"]
    return pd.DataFrame(rows, columns=columns)


def exponents(rows: pd.DataFrame, of: str) -> dict[str, float]:
    """The slope of `of` on logarithmic axes, over the three largest sizes of each line."""
    return slopes(rows.rename(columns={"series": "kind", "size": "seq_len"}), of)


def drawn(rows: pd.DataFrame, of: str) -> pd.DataFrame:
    """series, size, value, low, high, theory: FLOPs, scaled to go through the largest size."""
    if of != "milliseconds":
        value = rows["mebibytes"]
        return rows.assign(value=value, low=value, high=value, theory=float("nan"))
    last = rows.sort_values("size").groupby("series")[["milliseconds", "flops"]].last()
    scale = rows["series"].map(last["milliseconds"] / last["flops"])
    return rows.assign(value=rows["milliseconds"], theory=rows["flops"] * scale)


SweepFound = tuple[tuple[str, Point], ...]
SWEPT_NAMES = {
    "tokens": N_("n · tokens"),
    "d_model": "d_model",
    "n_heads": "n_heads",
    "batch": N_("batch"),
}
DIRECTION_NAMES = {"forward": N_("forward"), "forward_backward": N_("forward and backward")}
LEVEL, ALIKE = 0.15, 0.1


def swept(name: str) -> str:
    """What doubles."""
    return _(SWEPT_NAMES[name])


def symbol(name: str) -> str:
    """Its symbol within a sentence."""
    return "n" if name == Swept.TOKENS else swept(name)


def direction(name: str) -> str:
    """Forward, or forward and back."""
    return _(DIRECTION_NAMES[name])


def slope_sentence(wanted: Sweep, found: SweepFound) -> str:
    """How time and memory grow, beside the FLOPs."""
    rows = sweep_table((wanted,), found)
    times, flops, memory = (exponents(rows, of) for of in ("milliseconds", "flops", "mebibytes"))
    series = wanted.place.dtype
    if series not in times:
        return _("One size gives no slope: measure the others too.")
    text = _(
        "Doubling {what} over the three largest sizes: time grows about as "
        "{what}^{time:.2f}, FLOPs as {what}^{theory:.2f} by formula, peak memory as "
        "{what}^{memory:.2f}."
    )
    said = text.format(
        what=symbol(wanted.what), time=times[series], theory=flops[series], memory=memory[series]
    )
    return f"{said} {_reading(wanted, times[series], flops[series])}"


def _reading(wanted: Sweep, time: float, theory: float) -> str:
    """What the difference means."""
    if wanted.what is Swept.N_HEADS:
        return _(
            "More heads share the same matrix products, whose FLOPs stay; only the "
            "number of scores grows."
        )
    if time < theory - LEVEL:
        return _(
            "Time grows more slowly than FLOPs: small sizes leave the device waiting, "
            "larger ones use it better."
        )
    if time > theory + LEVEL:
        return _(
            "Time grows faster than FLOPs: perhaps the data no longer fit into a cache, "
            "or the machine is busy with other work."
        )
    return _("Time follows FLOPs.")


def dtypes_sentence(all_wanted: tuple[Sweep, ...], found: SweepFound) -> str:
    """Which number format pays, at the longest text that all that were measured share."""
    rows = sweep_table(all_wanted, found)
    formats = rows["series"].unique()
    counts = rows.groupby("size")["series"].nunique()
    shared = counts.index[counts == len(formats)]
    if "float32" not in formats or not len(shared):
        return ""
    n = int(shared.max())
    times = rows[rows["size"] == n].set_index("series")["milliseconds"]
    said = [_compared(name, times["float32"] / times[name]) for name in formats[1:]]
    text = _("At n = {n:,}, float32 takes {time}.")
    return " ".join((text.format(n=n, time=duration(times["float32"] / 1000)), *said))


def _compared(name: str, ratio: float) -> str:
    if abs(ratio - 1) < ALIKE:
        return _("{dtype} is equally fast here.").format(dtype=name)
    if ratio > 1:
        text = _("{dtype} pays off here: {ratio} times as fast.")
        return text.format(dtype=name, ratio=rounded(ratio))
    text = _("{dtype} is slower here: {ratio} times the time.")
    return text.format(dtype=name, ratio=rounded(1 / ratio))


def skipped_note(found: SweepFound) -> str:
    """What was refused, with the numbers."""
    said = []
    for series, each in skipped(found):
        if each.fault:
            text = _(
                "{dtype}: from size {size:,} on it needs about {need}, more than one run is "
                "allowed."
            )
            said.append(text.format(dtype=series, size=each.size, need=each.fault))
        else:
            text = _(
                "{dtype}: from size {size:,} on a pass would take about {time}, more than {most}."
            )
            times = {"time": duration(each.seconds), "most": duration(LONGEST_PASS)}
            said.append(text.format(dtype=series, size=each.size, **times))
    return " ".join([_("Not measured."), *said]) if said else ""


def sweep_note(wanted: Sweep) -> str:
    """What was measured, and how."""
    text = _(
        "Measured here: {where}. One layer of this model, random weights and input "
        "(seed {seed}), {start}; medians of up to {repeats} samples after warming up, "
        "bars: quartiles. Memory: the peak beyond weights and input{counted}."
    )
    on_cpu = _(", counted tensor by tensor; memory used inside kernels is not seen")
    return text.format(
        where=where(wanted.place),
        seed=wanted.seed,
        start=_start(wanted),
        repeats=REPEATS,
        counted=on_cpu if wanted.place.device == "cpu" else "",
    )


def formats_note(all_wanted: tuple[Sweep, ...]) -> str:
    """How several number formats were measured."""
    first = all_wanted[0]
    listed = ", ".join(wanted.place.dtype for wanted in all_wanted)
    said = sweep_note(first._replace(place=first.place._replace(dtype=listed)))
    return f"{said} {busy(load(all_wanted))}".strip()


def _start(wanted: Sweep) -> str:
    """What stays."""
    if wanted.what is Swept.TOKENS:
        return _("batch 1")
    if wanted.what is Swept.BATCH:
        return f"n = {wanted.tokens.n:,}"
    return _("batch 1, n = {n:,}").format(n=wanted.tokens.n)


def is_measured(found: SweepFound) -> bool:
    """Whether there is anything to draw."""
    return any(each.time is not None for _series, each in found)


def names(rows: pd.DataFrame, of: str) -> dict[str, str]:
    """Each line with its slope, for the legend."""
    found = exponents(rows, of)
    text = _("{name}, exponent {slope:.2f}")
    return {
        name: text.format(name=name, slope=found[name]) if name in found else name
        for name in rows["series"].drop_duplicates()
    }


def sweep_alt(all_wanted: tuple[Sweep, ...], found: SweepFound, of: str) -> str:
    """Write the alt text of the lines."""
    rows = sweep_table(all_wanted, found)
    is_time = of == "milliseconds"
    time, memory = _("Time as {what} doubles: {rows}."), _("Memory as {what} doubles: {rows}.")
    text = time if is_time else memory
    unit = "ms" if is_time else "MiB"
    listed = "; ".join(
        f"{row.series} {row.size:,}: {rounded(getattr(row, of))} {unit}"
        for row in rows.itertuples()
    )
    return text.format(what=symbol(all_wanted[0].what), rows=listed)


def sweep_controls(run: Run) -> None:
    """What doubles, in which direction, and how long a text is where that stays."""
    left, middle, right = st.columns(3)
    with left:
        choose("swept", _("What to double"), SWEPT, label_of=swept)
    with middle:
        choose("sweep_direction", _("Kind of pass"), DIRECTIONS, label_of=direction)
    with right:
        if link.value("swept") != Swept.TOKENS:
            slide("sweep_len", _("n · tokens"), SWEEP_LENGTHS, link.value("sweep_len"))


def chosen_sweep(run: Run) -> Sweep:
    """The line that the reader has set."""
    return Sweep(
        config=run.config,
        tokens=Tokens(Phase.PREFILL, link.value("sweep_len")),
        what=Swept(link.value("swept")),
        is_backward=link.value("sweep_direction") != DIRECTIONS[0],
        place=shared.place(run, "measure_sweep"),
        seed=run.seed,
    )


def dtype_sweeps(run: Run) -> tuple[Sweep, ...]:
    """A line for each number format that the device has."""
    place = shared.place(run, "measure_dtypes")
    here = available_dtypes(run.device)
    return tuple(
        Sweep(
            config=run.config,
            tokens=Tokens(Phase.PREFILL, link.value("sweep_len")),
            what=Swept.TOKENS,
            is_backward=False,
            place=place._replace(dtype=dtype),
            seed=run.seed,
        )
        for dtype in DTYPES
        if dtype in here
    )


CODE = (sweep.swept, pass_time.measure_layer, timing.measure_times)
Found = tuple[tuple[str, Point], ...]


@section
def how_it_grows(run: Run) -> None:
    """One size doubles, and one layer is measured at each."""
    with explained(("roofline",), CODE, key="sweeps"):
        sweep_controls(run)
    name = "measure_sweep"
    text = _("Measure one layer")
    if not shared.measure_button(name, text, again=_("Measure again")):
        return
    wanted = (chosen_sweep(run),)
    found = measured_lines(wanted, "sweep_steps")
    if not is_measured(found):
        return
    st.info(slope_sentence(wanted[0], found), icon=":material/trending_up:")
    both_pictures(wanted, found, "sweep")
    note(sweep_note(wanted[0]))


@section
def which_format_pays(run: Run) -> None:
    """The same layer in each number format, as n doubles."""
    name = "measure_dtypes"
    text = _("Measure float32, bfloat16 and float16")
    with explained(("roofline",), CODE[1:2], key="formats"):
        is_asked = shared.measure_button(name, text, again=_("Measure again"))
    if not is_asked:
        return
    wanted = dtype_sweeps(run)
    found = measured_lines(wanted, "dtype_steps")
    if not is_measured(found):
        return
    if said := dtypes_sentence(wanted, found):
        st.info(said, icon=":material/lightbulb:")
    both_pictures(wanted, found, "formats")
    note(formats_note(wanted))


@section
def which_attention_pays(run: Run) -> None:
    """Explicit, fused, window, block-sparse and linear attention, as n doubles."""
    with explained(("attention_kinds",), key="growth_of_kinds"):
        switch("measure_kinds", _("Measure here how time and memory grow with n"))
    if link.value("measure_kinds"):
        how_they_grow(run)


def measured_lines(wanted: tuple[Sweep, ...], key: str) -> Found:
    """As far as they are measured."""
    done = in_steps(steps(wanted), what=wanted, key=key, is_asked=True)
    found = named(wanted, done.found)
    if said := skipped_note(found):
        note(said)
    return found


def both_pictures(wanted: tuple[Sweep, ...], found: Found, key: str) -> None:
    """Time and memory beside each other, and their numbers to keep."""
    left, right = st.columns(2)
    with left:
        shown = wanted, found, "milliseconds"
        show(draw_sweep, *shown, key=f"{key}_time", alt=sweep_alt)
    with right:
        show(draw_sweep, wanted, found, "mebibytes", key=f"{key}_memory", alt=sweep_alt)
    table = sweep_table(wanted, found)
    download(f"{key}.csv", lambda: table.to_csv(index=False), "text/csv")


def draw_sweep(wanted: tuple[Sweep, ...], found: Found, of: str) -> Picture:
    """Time or memory against what doubles."""
    rows = sweep_table(wanted, found)
    is_time = of == "milliseconds"
    return pictures.sweep(
        drawn(rows, of),
        names(rows, of),
        title=_("Time of one layer") if is_time else _("Peak memory"),
        x_title=_("{what} (logarithmic)").format(what=swept(wanted[0].what)),
        unit="ms" if is_time else "MiB",
        _=_,
    )
