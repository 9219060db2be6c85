"""The devices that hold a model with its batch, and how far each of them goes."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.cost import device_fit, fit
from blocks.cost.device_fit import LARGEST_BATCH, LONGEST, FitFacts, Fits
from blocks.cost.hardware import HARDWARE, HERE
from blocks.cost.units import bytes_text, rounded
from blocks.observe.run import Run
from pages.figures.theme import Picture, Translate
from pages.figures.units import flops
from pages.panels.cost import fits_picture, shared
from pages.panels.cost.memory import NEEDS, shown_use
from pages.ui import link
from pages.ui.chart import show
from pages.ui.controls import slider
from pages.ui.explain import explained, note
from pages.ui.fold import details
from pages.ui.frame import section
from pages.ui.language import _, sentences
from pages.ui.said import say
from pages.ui.tables import show_both, show_table

fit_facts = lru_cache(maxsize=64)(device_fit.fit_facts)


def says_fits(facts: FitFacts) -> str:
    """What is enough, what is not, and how much of a device's memory counts."""
    text = _("Up to {usable:.0%} of each device's memory is used.")
    use = _("For training:") if facts.is_training else _("For inference:")
    if facts.n_devices > 1:
        use = _("For inference with tensor parallelism:")
        if facts.is_training:
            use = _("For training with data parallelism:")
    verdict = _shared(facts) if facts.n_devices > 1 else _alone(facts)
    return sentences(use, verdict, text.format(usable=facts.usable))


def _alone(facts: FitFacts) -> str:
    text = _(
        "{needed} fits on none of these devices. Shard it across several, reduce the batch or"
        " the length, or choose a smaller number format."
    )
    if facts.enough:
        text = _("{needed} fits on {n} of {all} devices; the smallest is {device}.")
    said = text.format(
        needed=bytes_text(facts.needed),
        n=len(facts.enough),
        all=len(facts.devices),
        device=shared.device(facts.smallest.device, facts.here) if facts.enough else "",
    )
    here = next((each for each in facts.devices if each.device == HERE), None)
    if not facts.enough or here is None:
        return said
    if here.is_enough:
        return sentences(said, _("It fits on this device."))
    return sentences(said, _("It does not fit on this device."))


def _shared(facts: FitFacts) -> str:
    """Which devices suffice where each holds its share."""
    sizes = {"needed": bytes_text(facts.needed), "n": facts.n_devices}
    if not facts.enough:
        text = _(
            "each of {n:,} devices needs {needed}, more than any of these device types has. "
            "Use more devices, or reduce the batch or the length."
        )
        return text.format(**sizes)
    text = _(
        "each of {n:,} devices needs {needed}, which fits on {enough} of {all} device types; "
        "the smallest is {device}."
    )
    said = text.format(
        **sizes,
        enough=len(facts.enough),
        all=len(facts.devices),
        device=shared.device(facts.smallest.device, facts.here),
    )
    text = _("The largest batch on that type is {all}.")
    if facts.is_training:
        text = _("The largest batch on that type is {each} per device and {all} in total.")
        if facts.smallest.batch == LARGEST_BATCH:
            text = _(
                "The largest batch on that type is at least {each} per device and {all} in total."
            )
    batch = text.format(each=f"{facts.smallest.batch:,}", all=f"{facts.whole_batch:,}")
    return sentences(said, batch)


def says_parts(facts: FitFacts) -> str:
    """What is in the bytes that are used without training."""
    text = _("Weights take {weights}, the cache {cache} and activations {activations}.")
    if not facts.has_cache:
        text = _("Weights take {weights} and activations {activations}.")
    said = text.format(**{name: bytes_text(size) for name, size in facts.parts.items()})
    if facts.n_devices > 1:
        said = sentences(_("On each device:"), said)
    return sentences(said, shared.says_chunk(facts.chunk))


def says_speed() -> str:
    """What limits the tokens a second."""
    return _(
        "The upper bound on tokens/s comes from data-sheet figures and counts the new tokens "
        "of all texts together. A step takes at least as long as the slower of two tasks: "
        "reading the active weights and the cache once, or doing the arithmetic (Pope et al. "
        "2022)."
    )


def says_growth(facts: FitFacts) -> str:
    """What twice the length takes."""
    text = _(
        "At batch size {batch:,}, twice the length takes {ratio:.2f} times the memory ({now} "
        "→ {then})."
    )
    if facts.n_devices > 1 and facts.is_training:
        text = _(
            "At batch size {batch:,} on each of {devices:,} devices, twice the length takes "
            "{ratio:.2f} times the memory ({now} → {then})."
        )
    return text.format(
        batch=facts.shape.batch,
        devices=facts.n_devices,
        ratio=facts.growth_of_twice,
        now=bytes_text(facts.needed),
        then=bytes_text(facts.twice),
    )


def says_search(facts: FitFacts) -> str:
    """How the largest sizes were found, and what is shared."""
    said = _(
        "The largest batch at n = {n:,} and the longest text at batch {batch:,} are found by "
        "bisection on the estimate. Memory sizes are from data sheets; 1 GB = 10⁹ bytes."
    ).format(n=facts.shape.n, batch=facts.shape.batch)
    if facts.n_devices > 1:
        said = sentences(shared.says_sharing(is_training=facts.is_training), said)
    if not facts.most_positions:
        return said
    more = _("The learned position table ends at {most:,} tokens, regardless of memory.")
    return sentences(said, more.format(most=facts.most_positions))


def draw_growth(facts: FitFacts, *, _: Translate) -> Picture:
    """Memory against the length."""
    fixed = _("weights, gradients, states") if facts.is_training else _("weights")
    growing = ["activations", *(["cache"] if facts.has_cache else [])]
    title = _("Memory against sequence length")
    if facts.n_devices > 1:
        title = _("Memory per device against sequence length")
    return fits_picture.growth(
        facts,
        {"weights": fixed} | {part: _(NEEDS[part]) for part in growing},
        [(shared.device(name, facts.here), size) for name, size in facts.lines],
        title=title,
        _=_,
    )


def fit_rows(facts: FitFacts) -> pd.DataFrame:
    """Each device: whether it is enough, and how far it goes."""
    found = facts.devices
    best = {_("max tokens/s"): [_best(each) for each in found]} if facts.are_writing else {}
    has_own = facts.n_devices > 1 and facts.is_training
    batch = _("largest batch per device") if has_own else _("largest batch")
    return pd.DataFrame(
        {
            _("device"): [shared.device(each.device, facts.here) for each in found],
            _("memory"): [bytes_text(facts.memory(each)) for each in found],
            _("fits"): [_("yes") if each.is_enough else _("no") for each in found],
            **best,
            batch: [_most(each.batch, LARGEST_BATCH) for each in found],
            _("longest text"): [_most(each.n, LONGEST) for each in found],
            _("share of usable memory"): [f"{each.share:,.0%}" for each in found],
            _("usable memory"): [bytes_text(each.usable) for each in found],
        }
    )


def _best(found: Fits) -> str:
    """New tokens a second, of what fits."""
    return f"{rounded(found.best)}" if found.best is not None and found.is_enough else "–"


def _most(found: int, most: int) -> str:
    """A largest size; what was not looked beyond is said to be more."""
    if found == 0:
        return _("none")
    return f"≥ {most:,}" if found == most else f"{found:,}"


def hardware_table() -> None:
    """What each maker states, and where."""
    known = HARDWARE.values()
    rows = {
        _("device"): [each.title for each in known],
        _("memory"): [bytes_text(each.memory) for each in known],
        _("bandwidth"): [f"{bytes_text(each.bandwidth)}/s" for each in known],
        **{
            dtype: [_rate(each.peak.get(dtype)) for each in known]
            for dtype in ("float32", "bfloat16", "float16")
        },
        _("reference"): [each.source for each in known],
    }
    show_table(pd.DataFrame(rows), key="hardware_table")


def _rate(peak: float | None) -> str:
    return "–" if peak is None else f"{flops(peak)}/s"


@section
def what_fits(run: Run) -> None:
    """Every device: enough or not, and how far it goes."""
    shown = shown_use(run)
    facts = fit_facts(*shown)
    with explained(("devices",), (fit.largest,), key="fits"):
        say(says_fits, *shown, facts=fit_facts)
    show(draw_growth, *shown, facts=fit_facts, key="memory_growth")
    note(
        says_growth(facts)
        if facts.is_training
        else sentences(says_parts(facts), says_growth(facts))
    )
    left, right = st.columns(2)
    with left:
        shared.device_count("fits", facts.n_devices)
    with right:
        label = _("Usable share of memory")
        slider("usable_memory", label, link.value("usable_memory"), step=0.05)
    show_both(fit_rows, *shown, facts=fit_facts)
    note(sentences(says_speed(), says_search(facts)) if facts.are_writing else says_search(facts))
    with details(_("Vendor specifications"), icon=":material/memory:"):
        hardware_table()
