"""The devices that hold a model with its batch, and how far each of them goes."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.cost import device_fit, fit, held
from blocks.cost.device_fit import LARGEST_BATCH, LONGEST, FitFacts
from blocks.cost.hardware import FORMATS, HARDWARE, HERE
from blocks.cost.units import bytes_text
from blocks.export.recipe import need_recipe
from blocks.observe.run import Run
from pages.figures.units import flops
from pages.page.declared import Panel
from pages.panels.cost import layouts, shared
from pages.panels.cost.fits_chart import draw_growth
from pages.panels.cost.memory import how_it_is_used, shown_use
from pages.show.explain import Code
from pages.show.fold import details
from pages.show.parts import Controls, Note, Say, Shown, Table
from pages.show.tables import show_table
from pages.show.typed import slider_or_type
from pages.state.values import State
from pages.words.language import _, enumeration, sentences

fit_facts = lru_cache(maxsize=64)(device_fit.fit_facts)
TOLD = ("h200-sxm", "h100-sxm", "a100-sxm-80gb", "rtx-4090")  # whose numbers are told


def says_fits(facts: FitFacts) -> str:
    """What is enough, what is not, and how much of a device's memory counts."""
    text = _("Up to {usable:.0%} of each device's memory is used.").format(usable=facts.usable)
    use = _("For training:") if facts.is_training else _("For inference:")
    if facts.n_devices > 1:
        use = _("For training with data parallelism:")
        if not facts.is_training:
            way = layouts.layout_name(facts.layout)
            use = _("For inference ({way}):").format(way=way)
    verdict = _shared(facts) if facts.n_devices > 1 else _alone(facts)
    return sentences(use, verdict, _fewest(facts), text)


def _alone(facts: FitFacts) -> str:
    text = _("{needed} fits on none of these devices.")
    if facts.is_training:
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


def _fewest(facts: FitFacts) -> str:
    """How many of some devices hold it, where one does not."""
    if facts.n_devices > 1 or not facts.fewest:
        return ""
    names = [each.device for each in facts.devices]
    known = [(facts.fewest[names.index(name)], name) for name in TOLD if name in names]
    said = [f"{n:,} × {shared.device(name, facts.here)}" for n, name in known if n > 1]
    text = _("With tensor parallelism it fits on {devices}.")
    return text.format(devices=enumeration(said)) if said else ""


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
    return sentences(said, batch, _copies(facts))


def _copies(facts: FitFacts) -> str:
    """What is there more than once, though one would do."""
    if facts.is_training or facts.layout.tensor == 1:
        return ""
    text = _("Of the weights on each device, {copied} are copies that other devices also hold.")
    said = text.format(copied=bytes_text(facts.copied))
    if facts.cache_copies <= 1:
        return said
    text = _(
        "There are fewer key/value heads than devices, so each number of the KV cache is "
        "stored {times:.3g} times."
    )
    return sentences(said, text.format(times=facts.cache_copies))


def says_parts(facts: FitFacts) -> str:
    """What is in the bytes that are used without training."""
    text = _("Weights take {weights}, the cache {cache} and activations {activations}.")
    if not facts.has_cache:
        text = _("Weights take {weights} and activations {activations}.")
    said = text.format(**{name: bytes_text(size) for name, size in facts.parts.items()})
    if facts.n_devices > 1:
        said = sentences(_("On each device:"), said)
    return sentences(said, shared.says_chunk(facts.chunk))


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
        "The largest batch at n = {n:,} and the longest text at batch size {batch:,} are "
        "found by bisection on the estimate. Memory sizes are from data sheets; 1 GB = 10⁹ "
        "bytes."
    ).format(n=facts.shape.n, batch=facts.shape.batch)
    if facts.n_devices > 1:
        said = sentences(shared.says_sharing(is_training=facts.is_training), said)
    if not facts.most_positions:
        return said
    more = _("The learned position table ends at {most:,} tokens, regardless of memory.")
    return sentences(said, more.format(most=facts.most_positions))


def fit_rows(facts: FitFacts) -> pd.DataFrame:
    """Each device: whether it is enough, and how far it goes."""
    found = facts.devices
    fewest = {_("devices needed"): [f"{n:,}" if n else "–" for n in facts.fewest]}
    has_own = facts.n_devices > 1 and facts.is_training
    batch = _("largest batch per device") if has_own else _("largest batch")
    return pd.DataFrame(
        {
            _("device"): [shared.device(each.device, facts.here) for each in found],
            _("memory"): [bytes_text(facts.memory(each)) for each in found],
            _("fits"): [_("yes") if each.is_enough else _("no") for each in found],
            **(fewest if facts.fewest else {}),
            batch: [_most(each.batch, LARGEST_BATCH) for each in found],
            _("longest text"): [_most(each.n, LONGEST) for each in found],
            _("share of usable memory"): [f"{each.share:,.0%}" for each in found],
            _("usable memory"): [bytes_text(each.usable) for each in found],
        }
    )


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
        **{dtype: [_rate(each.peak.get(dtype)) for each in known] for dtype in FORMATS},
        _("link, each way"): [f"{bytes_text(each.link)}/s" for each in known],
        _("reference"): [each.source for each in known],
    }
    show_table(pd.DataFrame(rows), key="hardware_table")


def _rate(peak: float | None) -> str:
    return "–" if peak is None else f"{flops(peak)}/s"


def controls(state: State) -> None:
    """How many train, and how much of each may be taken."""
    left, right = st.columns(2)
    if shared.is_training(state):
        with left:
            shared.device_count("fits", state.n_training_devices)
    with right if shared.is_training(state) else left:
        slider_or_type("usable_memory", _("Usable share of memory"), step=0.05)


def specifications() -> None:
    with details(_("Vendor specifications"), icon=":material/memory:"):
        hardware_table()


def says_below(facts: FitFacts) -> str:
    """What is in the bytes, and how they grow."""
    return sentences("" if facts.is_training else says_parts(facts), says_growth(facts))


def code(run: Run, state: State) -> Code:
    """The lines that give the bytes again, and what counts them."""
    config, setup, shape, is_training, *_rest = shown_use(run, state)
    again = need_recipe(config, setup, shape, is_training=is_training)
    counts = fit.training_need if is_training else fit.inference_need
    return (again, counts, held.held_parts, fit.largest)


PANEL = Panel(
    "fits",
    shared.FITS,
    choices=how_it_is_used,
    fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff"),
    concepts=("devices",),
    code=code,
    at=shown_use,
    facts=fit_facts,
    shows=(
        Say(says_fits),
        Shown(draw_growth, "memory_growth"),
        Note(says_below),
        Controls(controls),
        Table(fit_rows, "fits_table"),
        Note(says_search),
        Controls(specifications),
    ),
)
