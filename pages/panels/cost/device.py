"""The roof of the device in front of the reader: products, traffic and a launch, measured."""

from functools import lru_cache

import streamlit as st

from blocks.cost import device_speed as speeds
from blocks.cost.device_peak import DevicePeak
from blocks.cost.device_speed import DeviceSpeed, Speed, SpeedSeries
from blocks.cost.timing import Place
from blocks.cost.units import bytes_text, rounded
from pages.figures.units import duration, flops
from pages.panels.cost import device_picture, shared
from pages.show.chart import show
from pages.show.explain import note
from pages.show.steps import in_series
from pages.words.language import _, sentences


@lru_cache(maxsize=32)
def device_speed(place: Place, found: tuple[Speed, ...]) -> DeviceSpeed:
    return speeds.device_speed(place, found)


def says_speed(facts: DeviceSpeed, peak: DevicePeak) -> str:
    """What the roof is made of."""
    text = _(
        "Measured here ({where}): matrix products reach {rate} (size {size:,}), and memory "
        "delivers {bandwidth}. An operation must therefore do at least {ridge} FLOPs per "
        "byte moved before arithmetic becomes the limit. Launching an operation takes "
        "{start}."
    )
    said = text.format(
        where=shared.where(facts.place),
        rate=f"{flops(peak.flops_per_s)}/s",
        size=facts.best.size,
        bandwidth=f"{bytes_text(peak.bytes_per_s)}/s",
        ridge=rounded(peak.ridge),
        start=duration(peak.start_seconds),
    )
    busy = shared.busy(facts.load)
    if not busy:
        return said
    more = _("So the roofline may be too low: measure again when the machine is idle.")
    return sentences(busy, more, said)


def says_how(facts: DeviceSpeed) -> str:
    """How it was measured."""
    said = _(
        "Each dot shows the second-fastest of up to {repeats} repeats after a warm-up. Arrays"
        " of {size} exceed the caches; smaller ones may not. Other work on this machine makes"
        " the device look slower. Dashed lines are the values that form the roofline."
    ).format(repeats=facts.repeats, size=bytes_text(facts.largest_array))
    if facts.has_all_sizes:
        return said
    text = _("Matrices larger than {size:,} would take too long in this number format.")
    return sentences(said, text.format(size=facts.products[-1].size))


def measured_peak(place: Place) -> DevicePeak | None:
    """Measure what the roof is made of; None where the reader stopped."""
    done = in_series(SpeedSeries(place), key="device_steps", asked_by="measure_device")
    shown = place, tuple(done.found)
    facts = device_speed(*shown)
    if facts.peak:
        st.info(says_speed(facts, facts.peak), icon=":material/speed:")
    else:
        text = _(
            "No roofline yet, so no operation is estimated or timed: the roofline needs "
            "matrix-product speed, memory bandwidth and launch time, and the measurement "
            "stopped before all three were known. The values measured so far are drawn; "
            "FLOPs and bytes in the table are exact regardless."
        )
        st.info(text, icon=":material/speed:")
    if facts.products:
        show(device_picture.rates, *shown, facts=device_speed, key="device_rates")
    if facts.peak:
        note(says_how(facts))
    return facts.peak
