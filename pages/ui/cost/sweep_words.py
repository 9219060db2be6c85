"""What sweeps say: how steep they are, beside theory, and what was not measured."""

import pandas as pd

from blocks.cost.sweep import LONGEST_PASS, Swept
from blocks.cost.timing import REPEATS
from blocks.model.faults import N_
from pages.ui.cost import sweeps
from pages.ui.cost.amounts import rounded
from pages.ui.cost.measured_words import busy, where
from pages.ui.cost.sweeps import Point, Sweep
from pages.ui.cost.units import duration
from pages.ui.language import _

Found = tuple[tuple[str, Point], ...]
SWEPT = {
    "tokens": N_("n · tokens"),
    "d_model": "d_model",
    "n_heads": "n_heads",
    "batch": N_("batch"),
}
DIRECTIONS = {"forward": N_("forward"), "forward_backward": N_("forward and backward")}
LEVEL, ALIKE = 0.15, 0.1


def swept(name: str) -> str:
    """What doubles."""
    return _(SWEPT[name])


def symbol(name: str) -> str:
    """The same within a sentence."""
    return "n" if name == Swept.TOKENS else swept(name)


def direction(name: str) -> str:
    """Forward, or forward and back."""
    return _(DIRECTIONS[name])


def slope_sentence(wanted: Sweep, found: Found) -> str:
    """How time and memory grow, beside the FLOPs."""
    rows = sweeps.table((wanted,), found)
    times, flops, memory = (
        sweeps.exponents(rows, of) for of in ("milliseconds", "flops", "mebibytes")
    )
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


def dtypes_sentence(all_wanted: tuple[Sweep, ...], found: Found) -> str:
    """Which number format pays, at the longest text that all that were measured share."""
    rows = sweeps.table(all_wanted, found)
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


def skipped_note(found: Found) -> str:
    """What was refused, with the numbers."""
    said = []
    for series, each in sweeps.skipped(found):
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
    """The same of several number formats."""
    first = all_wanted[0]
    listed = ", ".join(wanted.place.dtype for wanted in all_wanted)
    said = sweep_note(first._replace(place=first.place._replace(dtype=listed)))
    return f"{said} {busy(sweeps.load(all_wanted))}".strip()


def _start(wanted: Sweep) -> str:
    """What stays."""
    if wanted.what is Swept.TOKENS:
        return _("batch 1")
    if wanted.what is Swept.BATCH:
        return f"n = {wanted.tokens.n:,}"
    return _("batch 1, n = {n:,}").format(n=wanted.tokens.n)


def is_measured(found: Found) -> bool:
    """Whether there is anything to draw."""
    return any(each.time is not None for _series, each in found)


def names(rows: pd.DataFrame, of: str) -> dict[str, str]:
    """Each line with its slope, for the legend."""
    found = sweeps.exponents(rows, of)
    text = _("{name}, exponent {slope:.2f}")
    return {
        name: text.format(name=name, slope=found[name]) if name in found else name
        for name in rows["series"].drop_duplicates()
    }


def sweep_alt(all_wanted: tuple[Sweep, ...], found: Found, of: str) -> str:
    """The lines in words."""
    rows = sweeps.table(all_wanted, found)
    is_time = of == "milliseconds"
    time, memory = _("Time as {what} doubles: {rows}."), _("Memory as {what} doubles: {rows}.")
    text = time if is_time else memory
    unit = "ms" if is_time else "MiB"
    listed = "; ".join(
        f"{row.series} {row.size:,}: {rounded(getattr(row, of))} {unit}"
        for row in rows.itertuples()
    )
    return text.format(what=symbol(all_wanted[0].what), rows=listed)
