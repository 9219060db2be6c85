"""Memory to train or to use a model, and the devices that it fits into."""

import dataclasses
from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost import activations, fit
from blocks.cost.activations import Activations, training_activations
from blocks.cost.fit import OptimizerStates, Setup
from blocks.cost.hardware import HARDWARE
from blocks.cost.step import Shape
from blocks.model.faults import N_
from blocks.model.kinds import PositionKind
from pages.figures import memory_bars
from pages.figures.theme import Picture
from pages.panels.cost import memory_picture, shared
from pages.panels.cost.shared import HERE
from pages.ui import link, terms
from pages.ui.chart import show
from pages.ui.controls import choose, pick, slider, switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.link_fields.cost import LARGEST_BATCH, TRAINED_FORMATS, USES, WEIGHT_FORMATS
from pages.ui.numbers import percent
from pages.ui.tables import show_whole


@lru_cache(maxsize=64)
def kept(config: ModelConfig, setup: Setup, shape: Shape) -> Activations:
    """What a training step keeps, term by term."""
    return training_activations(
        config,
        batch=shape.batch,
        n=shape.n,
        itemsize=setup.itemsize,
        fused=setup.fused,
        checkpointing=setup.checkpointing,
    )


def need_names(*, is_training: bool) -> dict[str, str]:
    """What each part of the bytes is called."""
    return {part: need_name(part) for part in shared.NEEDS[is_training]}


def device_lines(here: str, usable: float, n_devices: int) -> list[tuple[str, int]]:
    """Memory to draw; of several devices with as much, the first."""
    sizes = {size: name for name, size in reversed(shared.counted_devices(here, n_devices).items())}
    return [(shared.device(name), int(usable * size)) for size, name in sorted(sizes.items())]


def growth_rows(
    config: ModelConfig, setup: Setup, shape: Shape, *, is_training: bool
) -> pd.DataFrame:
    """Bytes at every length, the reader's among them."""
    lengths = sorted({*(2**i for i in range(6, 21)), shape.n})
    rows = []
    for n in lengths:
        need = shared.counted_need(config, setup, Shape(n, shape.batch), is_training=is_training)
        parts = {part: float(getattr(need, part)) for part in ("activations", "cache")}
        rows.append({"n": n, "weights": float(need.state), **parts, "total": float(need.total)})
    return pd.DataFrame(rows)


def growth_names(config: ModelConfig, *, is_training: bool) -> dict[str, str]:
    """What the lines are called: what stays, and what grows."""
    growing = ["activations"]
    if not is_training and shared.has_cache(config):
        growing.append("cache")
    return {"weights": state(is_training=is_training)} | {part: need_name(part) for part in growing}


USE_NAMES = {"training": N_("training"), "inference": N_("inference")}


OPTIMIZERS = {
    "adam": "Adam",
    "sgd": "SGD",
    "momentum": N_("SGD with momentum"),
    "muon": "Muon",
}


NEEDS = {
    "weights": N_("weights"),
    "gradients": N_("gradients"),
    "master": N_("master weights"),
    "optimizer": N_("optimizer states"),
    "activations": N_("activations"),
    "cache": N_("KV cache"),
}


KEPT = {
    "layer_input": N_("inputs of the layers"),
    "norms": N_("norms: saved inputs"),
    "attention_in": N_("input of q, k and v"),
    "q_k_v": N_("queries, keys, values"),
    "qk_norm": N_("norms of queries and keys"),
    "rotation": N_("cosines and sines of RoPE"),
    "pattern": N_("attention weights"),
    "distances": N_("distances of the learned bias"),
    "mask": N_("additive mask"),
    "head_out": N_("outputs of the heads"),
    "dropout": N_("masks of dropout"),
    "feed_forward_in": N_("input of the feed-forward layer"),
    "routed": N_("inputs and outputs of the experts"),
    "hidden": N_("hidden values"),
    "token_ids": N_("token ids"),
    "embedding_norm": N_("embedding norm"),
    "final_norm": N_("final norm"),
    "unembed_in": N_("input of the output matrix"),
    "log_probs": N_("log-probabilities"),
    "working": N_("temporary, in the backward pass"),
}


def use(name: str) -> str:
    """To train, or to use."""
    return _(USE_NAMES[name])


def optimizer(name: str) -> str:
    """What steps the weights."""
    return _(OPTIMIZERS[name])


def need_name(name: str) -> str:
    """What bytes are for."""
    return _(NEEDS[name])


def state(*, is_training: bool) -> str:
    """What there is however long the text."""
    return _("weights, gradients, states") if is_training else _("weights")


def kept_name(name: str) -> str:
    """What waits for the way back."""
    stack, _dot, rest = name.rpartition(".")
    base = rest.removeprefix("cross_")
    said = (
        _(shared.CROSS).format(part=_(KEPT[base])) if rest.startswith("cross_") else _(KEPT[base])
    )
    return _(terms.STACKS[stack]).format(part=said) if stack else said


def kept_table(config: ModelConfig, setup: Setup, shape: Shape) -> None:
    """Activations, term by term."""
    found = kept(config, setup, shape)
    rows = [
        {
            _("saved for backward"): kept_name(part.name),
            _("bytes"): shared.in_bytes(part.count(found.sizes)),
            _("share"): percent(part.count(found.sizes) / found.peak),
            _("formula"): part.formula(),
        }
        for part in found.parts
    ]
    rows.append(
        {
            _("saved for backward"): kept_name("working"),
            _("bytes"): shared.in_bytes(found.working),
            _("share"): percent(max(0, found.working) / found.peak),
            _("formula"): found.working_formula,
        }
    )
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="kept_table", height="content")


def fits(found: tuple[shared.Fits, ...]) -> None:
    """Each device: enough or not, and how far it goes."""
    show_whole(shared.fits_frame(found))


def hardware() -> None:
    """What each maker states, and where."""
    shown = pd.DataFrame(
        {
            _("device"): [each.title for each in HARDWARE.values()],
            _("memory"): [shared.in_bytes(each.memory) for each in HARDWARE.values()],
            _("bandwidth"): [f"{shared.in_bytes(e.bandwidth)}/s" for e in HARDWARE.values()],
            **{
                dtype: [_rate(each.peak.get(dtype)) for each in HARDWARE.values()]
                for dtype in ("float32", "bfloat16", "float16")
            },
            _("stated in"): [each.source for each in HARDWARE.values()],
        }
    )
    st.dataframe(shown, hide_index=True, key="hardware_table", height="content")


def _rate(peak: float | None) -> str:
    return "–" if peak is None else f"{shared.flops(peak)}/s"


def memory_controls(setup: Setup, *, is_training: bool) -> None:
    """To train or to use; in which numbers; with what is kept, and what is computed again."""
    left, right = st.columns(2)
    with left:
        choose("memory_use", _("Memory for"), USES, label_of=use)
        formats = TRAINED_FORMATS if is_training else WEIGHT_FORMATS
        shown = str(setup.weight_format)
        pick("weight_format", _("Number format of the weights"), formats, label_of=str, shown=shown)
    with right:
        if is_training:
            choose("optimizer_states", _("Optimizer"), OptimizerStates, label_of=optimizer)
        with st.container(horizontal=True):
            switch("fused_attention", _("Fused attention"))
            if is_training:
                switch(
                    "checkpointing",
                    _("Activation checkpointing"),
                    help=_(
                        "Keep only the input of each layer and recompute the rest in "
                        "the backward pass."
                    ),
                )
                if setup.itemsize < 4:
                    switch("master_weights", _("float32 master weights"))


def fit_controls(n_devices: int) -> None:
    """Among how many devices it is shared, and how much of each one's memory may be taken."""
    left, right = st.columns(2)
    with left:
        shared._devices_at_once("fits", n_devices)
    with right:
        label = _("Share of the memory that may be used")
        slider("usable_memory", label, link.value("usable_memory"), step=0.05)


def memory_sentence(config: ModelConfig, setup: Setup, shape: Shape, *, is_training: bool) -> str:
    """What takes most, and how many bytes a weight comes to."""
    need = shared.counted_need(config, setup, shape, is_training=is_training)
    parts = {part: getattr(need, part) for part in shared.NEEDS[is_training]}
    largest = max(parts, key=parts.__getitem__)
    text = _("{total} in total; the largest part is {part}: {bytes}, {share}.")
    if setup.n_devices > 1:
        text = _("{total} on each device; the largest part is {part}: {bytes}, {share}.")
    said = text.format(
        total=shared.in_bytes(need.total),
        part=need_name(largest),
        bytes=shared.in_bytes(parts[largest]),
        share=percent(parts[largest] / need.total),
    )
    if is_training:
        return f"{said} {_state_sentence(config, setup)}"
    if not shared.has_cache(config):
        return said
    text = _("The cache takes {each} for each token: {cache} for {batch} × {n:,}.")
    return f"{said} " + text.format(
        each=shared.in_bytes(fit.cache_bytes(config, setup.itemsize, batch=1, n=1)),
        cache=shared.in_bytes(need.cache),
        batch=shape.batch,
        n=shape.n,
    )


def _state_sentence(config: ModelConfig, setup: Setup) -> str:
    """Bytes of a weight, on one device or shared among several."""
    alone = dataclasses.replace(setup, n_devices=1)
    state = shared.counted_need(config, alone, Shape(1, 1), is_training=True).state
    said = _(
        "Weights, gradients and optimizer states take {n:.3g} bytes per parameter, before "
        "any activations."
    ).format(n=state / fit.n_parameters(config))
    if setup.n_devices == 1:
        return said
    text = _("These {total} are shared among {n:,} devices.")
    return f"{said} {text.format(total=shared.in_bytes(state), n=setup.n_devices)}"


def memory_title(n_devices: int, *, is_training: bool) -> str:
    """What the bars are, and whether they are those of one device among several."""
    if n_devices > 1:
        text = _("Memory for inference on each of {n:,} devices")
        if is_training:
            text = _("Training memory on each of {n:,} devices")
        return text.format(n=n_devices)
    return _("Training memory") if is_training else _("Memory for inference")


def bars_note() -> str:
    """What the first bar is, and what the others are."""
    return _("The first bar is your choice; each of the others changes one thing.")


def growth_title(n_devices: int) -> str:
    """What the lines are."""
    if n_devices > 1:
        return _("Memory per device against length")
    return _("Memory against length")


def kept_note(config: ModelConfig, setup: Setup) -> str:
    """What the estimate of activations is, and what it is not."""
    said = _(
        "Estimated term by term for the modules that run here, whose norms are not "
        "fused; in the tests within 15% of a real step, measured tensor by tensor. Not "
        "counted: memory of the framework, allocator and kernels, and communication."
    )
    is_own = (
        config.position.position_kind is PositionKind.ALIBI or config.encoder_decoder.relative_bias
    )
    if setup.fused and is_own:
        more = _(
            "No fused kernel here supports a per-head bias, so the full attention weights "
            "are kept in memory."
        )
        return f"{said} {more}"
    if setup.fused and config.dropout:
        more = _("Fused attention is assumed to apply dropout itself.")
        return f"{said} {more}"
    return said


def use_note() -> str:
    """What the estimate of use leaves out."""
    return _(
        "The prompt is read in one pass; logits are computed for its last token only. "
        "Not counted: scales of quantized weights, memory of the framework and the "
        "allocator. With int8 and int4 weights, cache and activations stay at 16 bits."
    )


def memory_alt(
    config: ModelConfig, setup: Setup, shape: Shape, is_training: bool, *_rest: Any
) -> str:
    """Write the alt text of the bars."""
    table = shared.memory_rows(config, setup, shape, is_training=is_training)
    rows = shared.in_words(table)
    return _("Memory of each implementation: {rows}.").format(rows=rows)


def fits_sentence(found: tuple[shared.Fits, ...], n_devices: int) -> str:
    """What is enough, and what is not."""
    if n_devices > 1:
        return _fits_shared(found, n_devices)
    enough = [each for each in found if each.is_enough]
    own = next((each for each in found if each.device == HERE), None)
    needed = shared.in_bytes(found[0].needed)
    if not enough:
        text = _(
            "{needed} fit into none of these: shard over several devices, or reduce batch "
            "or length."
        )
        return text.format(needed=needed)
    least = min(enough, key=lambda each: each.memory)
    text = _("{needed} fit into {n} of {all} devices; the smallest is {device}.")
    said = text.format(
        needed=needed, n=len(enough), all=len(found), device=shared.device(least.device)
    )
    if own is None:
        return said
    verdict = _("It fits here.") if own.is_enough else _("It does not fit here.")
    return f"{said} {verdict}"


def _fits_shared(found: tuple[shared.Fits, ...], n_devices: int) -> str:
    """Which devices suffice where each holds its share."""
    enough = [each for each in found if each.is_enough]
    needed = shared.in_bytes(found[0].needed)
    if not enough:
        text = _(
            "{needed} on each of {n:,} devices: none of these kinds has that much. Use "
            "more devices, or reduce batch or length."
        )
        return text.format(needed=needed, n=n_devices)
    text = _(
        "{needed} on each of {n:,} devices: {enough} of {all} kinds have enough memory; "
        "the smallest is {device}."
    )
    least = min(enough, key=lambda each: each.memory)
    said = text.format(
        needed=needed,
        n=n_devices,
        enough=len(enough),
        all=len(found),
        device=shared.device(least.device),
    )
    return f"{said} {_whole_batch(least)}"


def _whole_batch(found: shared.Fits) -> str:
    """The largest batch of one device, and of all of them together."""
    text = _("Largest batch there: {each} per device, {all} in total.")
    if found.batch == LARGEST_BATCH:
        text = _("Largest batch there: at least {each} per device, {all} in total.")
    return text.format(each=f"{found.batch:,}", all=f"{found.batch * found.n_devices:,}")


def fits_note(config: ModelConfig, shape: Shape, n_devices: int, *, is_training: bool) -> str:
    """How the largest sizes were found, and what is shared."""
    said = _(
        "Largest batch at n = {n:,}, longest text at batch {batch:,}: found by "
        "bisection on the estimate. Memory as in the data sheet, 1 GB = 10⁹ bytes."
    ).format(n=shape.n, batch=shape.batch)
    if n_devices > 1:
        said = f"{_sharing_note(is_training=is_training)} {said}"
    if config.position.position_kind is not PositionKind.LEARNED:
        return said
    more = _("The learned position table ends at {most:,} tokens, whatever the memory.")
    return f"{said} {more.format(most=config.max_seq_len)}"


def _sharing_note(*, is_training: bool) -> str:
    """What several devices share, and what each has for itself."""
    if not is_training:
        return _(
            "Sharded evenly: weights. Not sharded: KV cache and activations, since each "
            "device has its own batch. Not counted: the layer whose weights are "
            "gathered at the moment."
        )
    return _(
        "Sharded evenly (ZeRO stage 3, Rajbhandari et al. 2020): weights, gradients, "
        "master weights and optimizer states. Not sharded: activations, since each "
        "device has its own batch. Not counted: the layer whose weights are gathered at "
        "the moment."
    )


def growth_sentence(config: ModelConfig, setup: Setup, shape: Shape, *, is_training: bool) -> str:
    """What twice the length takes."""
    now = shared.counted_need(config, setup, shape, is_training=is_training)
    twice = shared.counted_need(
        config, setup, Shape(2 * shape.n, shape.batch), is_training=is_training
    )
    text = _(
        "Batch {batch:,}: twice the length takes {ratio:.2f} times the memory ({now} → {then})."
    )
    if setup.n_devices > 1:
        text = _(
            "Batch {batch:,} on each of {devices:,} devices: twice the length takes {ratio:.2f} "
            "times the memory ({now} → {then})."
        )
    return text.format(
        batch=shape.batch,
        devices=setup.n_devices,
        ratio=twice.total / now.total,
        now=shared.in_bytes(now.total),
        then=shared.in_bytes(twice.total),
    )


def growth_alt(
    config: ModelConfig, setup: Setup, shape: Shape, is_training: bool, *_rest: Any
) -> str:
    """Write the alt text of the lines."""
    text = _("Memory against length on logarithmic axes, devices as horizontal lines. {sentence}")
    return text.format(sentence=growth_sentence(config, setup, shape, is_training=is_training))


@section
def how_it_is_used(_config: ModelConfig) -> None:
    """To train or to write, and what is kept in which format."""
    is_training = shared.is_training()
    memory_controls(shared.setup(is_training=is_training), is_training=is_training)


def what_is_counted(
    config: ModelConfig,
) -> tuple[ModelConfig, Setup, Shape, bool, str, float]:
    """The model, how it is used, and the device here."""
    is_training = shared.is_training()
    setup = shared.setup(is_training=is_training)
    device, usable = link.value("device"), link.value("usable_memory")
    return config, setup, shared.shape(), is_training, device, usable


def where_memory_goes(config: ModelConfig) -> None:
    """Weights, gradients, states, activations, cache; what each choice changes."""
    code = (activations.training_activations, fit.training_need, fit.inference_need)
    shown = what_is_counted(config)
    _config, setup, shape, is_training, *_here = shown
    sentence = memory_sentence(config, setup, shape, is_training=is_training)
    explained(("training_memory", "kv_cache"), code, key="memory").info(
        sentence, icon=":material/lightbulb:"
    )
    show(draw_memory, *shown, key="memory_bars", alt=memory_alt)
    note(bars_note())
    if is_training:
        with st.expander(_("Activation memory, term by term"), icon=":material/functions:"):
            kept_table(config, setup, shape)
        note(kept_note(config, setup))
    else:
        note(use_note())


@section
def what_fits(config: ModelConfig) -> None:
    """Every device: enough or not, and how far it goes."""
    shown = what_is_counted(config)
    _config, setup, shape, is_training, here, usable = shown
    found = shared.fits(config, setup, shape, here, usable, is_training=is_training)
    explained(("devices",), (fit.largest,), key="fits").info(
        fits_sentence(found, setup.n_devices), icon=":material/lightbulb:"
    )
    show(draw_growth, *shown, key="memory_growth", alt=growth_alt)
    note(growth_sentence(config, setup, shape, is_training=is_training))
    fit_controls(setup.n_devices)
    fits(found)
    note(fits_note(config, shape, setup.n_devices, is_training=is_training))
    with st.expander(_("Vendor specifications"), icon=":material/memory:"):
        hardware()


def draw_memory(
    config: ModelConfig, setup: Setup, shape: Shape, is_training: bool, here: str, usable: float
) -> Picture:
    """What was chosen, and one thing at a time done otherwise."""
    table = shared.memory_rows(config, setup, shape, is_training=is_training)
    title = memory_title(setup.n_devices, is_training=is_training)
    return memory_bars.memory_bars(
        table,
        need_names(is_training=is_training),
        device_lines(here, usable, setup.n_devices),
        title=title,
        _=_,
    )


def draw_growth(
    config: ModelConfig, setup: Setup, shape: Shape, is_training: bool, here: str, usable: float
) -> Picture:
    """Memory against the length."""
    table = growth_rows(config, setup, shape, is_training=is_training)
    return memory_picture.growth(
        table,
        growth_names(config, is_training=is_training),
        device_lines(here, usable, setup.n_devices),
        shape.n,
        title=growth_title(setup.n_devices),
        _=_,
    )
