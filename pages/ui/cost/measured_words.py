"""What the measurements of this device and of a layer say."""

import pandas as pd

from blocks.cost import device_peak as peaks
from blocks.cost.device_peak import DevicePeak
from blocks.cost.operations import Phase
from blocks.cost.pass_time import PassTime
from blocks.cost.roofline import batch_at_ridge, total_seconds
from blocks.model import devices
from blocks.model.faults import N_
from pages.ui import terms
from pages.ui.cost import measured
from pages.ui.cost.amounts import flops as in_flops
from pages.ui.cost.amounts import in_bytes, rounded
from pages.ui.cost.device_speed import Place, Speed
from pages.ui.cost.measured import Case
from pages.ui.cost.units import byte_rate, duration, flop_rate
from pages.ui.language import _, enumeration
from pages.ui.numbers import percent

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
BUSY = 1.5
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


def where(place: Place) -> str:
    """Device, threads, number format."""
    text = _("{device}, {threads} threads, {dtype}")
    if place.device != "cpu":
        text = _("{device}, {dtype}")
    name, n_threads = devices.device_name(place.device), peaks.threads(place.device)
    return text.format(device=name, threads=n_threads, dtype=place.dtype)


def device_sentence(place: Place, speed: Speed) -> str:
    """What the roof is made of."""
    best = max(speed.products, key=lambda each: each.flops_per_s)
    text = _(
        "Measured here ({where}): matrix products reach {rate} (side {size:,}), memory "
        "delivers {bandwidth}. So an operation must do {ridge} FLOPs per byte it moves "
        "before arithmetic is the limit. Launching one takes {start}."
    )
    said = text.format(
        where=where(place),
        rate=flop_rate(speed.peak.flops_per_s),
        size=best.size,
        bandwidth=byte_rate(speed.peak.bytes_per_s),
        ridge=rounded(speed.peak.ridge),
        start=duration(speed.peak.start_seconds),
    )
    return f"{_too_low(speed.load)} {said}".strip()


def _too_low(load: float) -> str:
    """What others who computed at the same time do to the roof."""
    if not load > BUSY:
        return ""
    more = _("So the roofline may be too low: measure again when the machine is idle.")
    return f"{busy(load)} {more}"


def no_roof_sentence() -> str:
    """Why nothing is estimated after a stop."""
    return _(
        "No roofline yet, so no operation is estimated or timed: it needs the speed of "
        "matrix products, of memory and of a launch, and the measurement stopped before "
        "all three were known. What was measured is drawn; FLOPs and bytes in the table "
        "are exact all the same."
    )


def device_note(speed: Speed) -> str:
    """How it was measured."""
    text = _(
        "Each dot is the second fastest of up to {repeats} repeats after warming up. "
        "Arrays of {mib:g} MiB exceed the caches, smaller ones may not. Other work on "
        "this machine makes it look slower. Dashed: the values that form the roof."
    )
    largest = max(each.array_bytes for each in speed.moved) / peaks.MIB
    said = text.format(repeats=max(len(each.times.seconds) for each in speed.products), mib=largest)
    return f"{said} {_skipped(speed)}".strip()


def busy(load: float) -> str:
    """Whether others computed at the same time."""
    if not load > BUSY:
        return ""
    text = _(
        "The machine was busy: {load:.1f} runnable programs per CPU, so that work "
        "shared by several threads waits for the slowest."
    )
    return text.format(load=load)


def _skipped(speed: Speed) -> str:
    """Which squares were not tried."""
    largest = speed.products[-1]
    if largest.size >= max(peaks.MATRIX_SIZES["cpu"]):
        return ""
    text = _("Matrices larger than {size:,} would take too long in this number format.")
    return text.format(size=largest.size)


def device_alt(place: Place, speed: Speed) -> str:
    """The two panels in words."""
    return f"{_both_panels()} {device_sentence(place, speed)}"


def so_far_alt(place: Place, speed: Speed) -> str:
    """The same of what was measured before a stop."""
    text = _("{product} matrix products and {moved} arrays were measured.")
    said = text.format(product=len(speed.products), moved=len(speed.moved))
    return f"{_both_panels()} {said}"


def _both_panels() -> str:
    return _("Speed of matrix products against their size, and of memory against array size.")


def bound_sentence(case: Case, peak: DevicePeak) -> str:
    """Which operations wait for what, and why decode waits for memory."""
    rows = measured.table(case, peak, ())
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


def _what_runs(case: Case) -> str:
    text = _("Prefill of {n:,} tokens, batch {batch}:")
    if case.tokens.phase is Phase.DECODE:
        text = _("Decoding one token with {n:,} in the cache, batch {batch}:")
    return text.format(n=case.tokens.n, batch=case.tokens.batch)


def _why(case: Case, peak: DevicePeak) -> str:
    """Each weight is read once, for as many tokens as there are."""
    if case.tokens.phase is not Phase.DECODE:
        return ""
    rows = measured.table(case, peak, ()).set_index("operation")
    config, name = case.config, "out_proj"
    sides = config.n_heads * config.d_head, config.d_model
    needed = batch_at_ridge(*sides, itemsize=case.itemsize, peak=peak)
    text = _(
        "Why: {name} reads {bytes} of weights to do {flops} per token, {intensity} "
        "FLOPs per byte; the ridge point is at {ridge}."
    )
    said = text.format(
        name=operation(name),
        bytes=in_bytes(sides[0] * sides[1] * case.itemsize),
        flops=in_flops(2 * sides[0] * sides[1]),
        intensity=rounded(rows["intensity"][name]),
        ridge=rounded(peak.ridge),
    )
    if needed is None:
        more = _("At this width no batch reaches it.")
    else:
        more = _(
            "A batch of {batch:,} would reach it: each weight read then serves the whole batch."
        )
        more = more.format(batch=needed)
    return f"{said} {more}"


def measured_sentence(case: Case, peak: DevicePeak, names: tuple[str, ...]) -> str:
    """How much of the roof was reached, most and least, and what lies above it."""
    rows = measured.table(case, peak, names).dropna(subset=["measured_s"])
    below = rows[(rows["share"] <= ABOUT) & (rows["bound"] != "start")]
    said = []
    if len(below):
        best, worst = below.loc[below["share"].idxmax()], below.loc[below["share"].idxmin()]
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


def sums_sentence(case: Case, peak: DevicePeak, names: tuple[str, ...], layer: PassTime) -> str:
    """A layer: estimated, in parts, and whole."""
    rows = measured.table(case, peak, names)
    best = total_seconds(rows, "estimated_s")
    text = _(
        "One layer: {best} at best, {parts} as the sum of its operations, {whole} "
        "measured as a whole ({times:.1f} times the estimate, {memory} peak memory "
        "beyond its weights)."
    )
    return text.format(
        best=duration(best),
        parts=duration(total_seconds(rows, "measured_s")),
        whole=duration(layer.times.median),
        times=layer.times.median / best,
        memory=in_bytes(layer.peak_bytes),
    )


def model_sentence(case: Case, peak: DevicePeak, names: tuple[str, ...], whole: PassTime) -> str:
    """The same of the whole model, with tokens a second."""
    rows = measured.table(case, peak, names)
    best = measured.model_seconds(rows, case.config, "estimated_s")
    parts = measured.model_seconds(rows, case.config, "measured_s")
    text = _(
        "The whole model: {best} at best, {parts} as the sum of its operations, {whole} "
        "measured ({spread}): {rate} tokens per second."
    )
    return text.format(
        best=duration(best),
        parts=duration(parts),
        whole=duration(whole.times.median),
        spread=_spread(whole),
        rate=rounded(case.tokens.batch * case.tokens.n_new / whole.times.median),
    )


def _spread(found: PassTime) -> str:
    if len(found.times.seconds) == 1:
        return _("one pass")
    low, high = found.times.quartiles
    return _("quartiles {low} to {high}").format(low=duration(low), high=duration(high))


def too_large(case: Case, peak: DevicePeak) -> str:
    """What is not measured, and why."""
    found = measured.left_out(case, peak)
    if not found:
        return ""
    text = _("{name} (at least {seconds}, up to {bytes})")
    listed = (
        text.format(name=operation(name), seconds=duration(seconds), bytes=in_bytes(n_bytes))
        for name, (seconds, n_bytes) in found.items()
    )
    said = _(
        "Too slow or too large to be measured here, so only estimated: {names}. Set "
        "fewer tokens, a smaller batch or a narrower model."
    )
    return said.format(names="; ".join(listed))


def measured_note(case: Case) -> str:
    """On what it was measured, and what is left out."""
    text = _(
        "Measured here: {where}; medians after warming up, bars: quartiles; random "
        "operands (seed {seed}). Each call uses other weights and cached keys until as "
        "many bytes have passed as the model has, so that caching is as in the model. "
        "Bytes: each operand read once, each result written once. In the layer but not "
        "in its operations: biases, masks, positions, norms of queries and keys, head "
        "reshaping."
    )
    return text.format(where=where(case.place), seed=case.seed)


def roofline_alt(case: Case, peak: DevicePeak, names: tuple[str, ...]) -> str:
    """The roofline in words."""
    text = _("Speed of each operation against its arithmetic intensity, below the roofline.")
    return f"{text} {bound_sentence(case, peak)} {measured_sentence(case, peak, names)}"


def durations_alt(case: Case, peak: DevicePeak, names: tuple[str, ...]) -> str:
    """Each time in words."""
    rows = measured.table(case, peak, names).dropna(subset=["measured_s"])
    text = _("{name}: {best} at best, {time} measured")
    listed = (
        text.format(
            name=operation(row.operation),
            best=duration(row.estimated_s),
            time=duration(row.measured_s),
        )
        for row in rows.itertuples()
    )
    return _("Time of each operation. {listed}.").format(listed="; ".join(listed))


def sums_alt(case: Case, peak: DevicePeak, names: tuple[str, ...], layer: PassTime) -> str:
    """The three bars in words."""
    return sums_sentence(case, peak, names, layer)
