"""What is chosen for a model that is served: number formats, devices, and how they divide it."""

from functools import partial

import streamlit as st

from blocks import ModelConfig
from blocks.cost.hardware import HARDWARE, HERE, Rated
from blocks.cost.held import uneven_heads
from blocks.cost.served_facts import OWN, Serving
from blocks.cost.setup import CacheFormat, Setup, WeightFormat
from blocks.cost.speed import NO_DRAFT, Speculation
from blocks.model.devices import device_name
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.page.frame import section
from pages.panels.cost import layouts, shared
from pages.server import machine
from pages.show import phone
from pages.show.choices import chooses
from pages.show.controls import enter, pick, slide
from pages.state.link_fields.cost import AS_COMPUTED, GROUPS, PARALLEL
from pages.state.values import State
from pages.words.language import _, say_fault

FIELDS = ("cache_format", "int4_group", *PARALLEL, "prefill_chunk")
WAYS = tuple(2**i for i in range(8))
OWN_FIELDS = {
    "own_memory": N_("memory, GB"),
    "own_bandwidth": N_("bandwidth, GB/s"),
    "own_flops": N_("compute, TFLOP/s"),
    "own_link": N_("link, GB/s each way"),
}


def formats(setup: Setup) -> None:
    """In which numbers keys and values are kept, and how weights of int4 are scaled."""
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        label = _("Number format of the KV cache")
        pick("cache_format", label, (AS_COMPUTED, *CacheFormat), label_of=_cache_name)
    if setup.weight_format is WeightFormat.INT4:
        with right:
            pick("int4_group", _("int4 · weights per scale"), GROUPS, label_of=_group_name)


def _cache_name(name: str) -> str:
    return _("same as the activations") if name == AS_COMPUTED else name


def _group_name(name: str) -> str:
    size, bits = name.split("x")
    return _("{size} · {bits} bits").format(size=size, bits=bits)


def devices(config: ModelConfig, setup: Setup) -> None:
    """How devices divide the model, in one line that opens."""
    layout = setup.serves_as
    text = _("One device") if layout.n_devices == 1 else _("{n:,} devices: {ways}")
    label = text.format(n=layout.n_devices, ways=layouts.layout_name(layout))
    draw = partial(_divided, config, setup)
    phone.folded(label, draw, key="layout_fold", is_folded=True)
    if fault := uneven_heads(config, layout):
        st.caption(say_fault(fault))


def _divided(config: ModelConfig, setup: Setup) -> None:
    layout = setup.serves_as
    labels = {
        "tensor_parallel": (_("Tensor · devices per layer"), layout.tensor),
        "pipeline_parallel": (_("Pipeline · stages"), layout.pipeline),
        "data_parallel": (_("Data · replicas"), layout.data),
    }
    for place, (name, (label, shown)) in zip(st.columns(3), labels.items(), strict=True):
        with place:
            slide(name, label, WAYS, shown, label_of="{:,}".format)
    left, right = st.columns(2)
    if config.n_experts > 1:
        with left:
            label = _("Expert · devices to spread whole experts over")
            ways = layouts.experts(layout.tensor, layout.data)
            slide("expert_parallel", label, ways, layout.expert, label_of="{:,}".format)
    if config.architecture is Architecture.GPT:
        with right:
            shared.chunk_choice(setup)


@chooses("weight_format", "serving_device", *OWN_FIELDS, *FIELDS)
@section
def how_it_is_served(run: Run, state: State) -> None:
    """In which numbers, on which devices."""
    setup = shared.setup(is_training=False, weights=run.weights, state=state)
    device, numbers, cache = st.columns([5, 4, 8], vertical_alignment="bottom")
    with device:
        pick("serving_device", _("Device"), _names(state), label_of=_device_name)
    with numbers:
        label, shown = _("Number format of the weights"), str(setup.weight_format)
        offered = shared.formats([run.weights])
        pick("weight_format", label, offered, label_of=shared.format_name, shown=shown)
    with cache:
        formats(setup)
    if state.serving_device == OWN:
        for place, (name, label) in zip(st.columns(4), OWN_FIELDS.items(), strict=True):
            with place:
                enter(name, _(label))
    devices(run.config, setup)


def _names(state: State) -> tuple[str, ...]:
    return (*([HERE] if _here(state) else []), OWN, *HARDWARE)


def _here(state: State) -> Rated | None:
    return machine.rated() if state.device == "cpu" else None


def _device_name(name: str) -> str:
    if name == OWN:
        return _("a device of your own")
    if name == HERE:
        return _("this device: {device}").format(device=device_name("cpu"))
    return HARDWARE[name].title


def device_title(name: str, n_devices: int) -> str:
    title = _device_name(name)
    return title if n_devices == 1 else f"{n_devices:,} × {title}"


def serving(run: Run, state: State) -> Serving:
    """What the reader asks about, a token at the end of texts of n."""
    setup = shared.setup(is_training=False, weights=run.weights, state=state)
    shape, device = shared.shape(state), state.serving_device
    here = _here(state) if setup.n_devices == 1 else None
    own = Rated.of_sheet(state.own_memory, state.own_bandwidth, state.own_flops, state.own_link)
    return Serving(
        config=run.config,
        setup=setup,
        n=shape.n,
        batch=shape.batch,
        device=device if device != HERE or here else "h100-sxm",
        n_output=0,
        usable=state.usable_memory,
        here=here,
        own=own if device == OWN else None,
    )


def writes(asked: Serving) -> bool:
    return asked.config.architecture is Architecture.GPT


def answering(run: Run, state: State) -> Serving:
    """The same with an answer of some tokens, and a draft where there is one."""
    n_drafted = state.n_drafted
    draft = Speculation(n_drafted, state.acceptance, state.draft_cost)
    own = draft if n_drafted else NO_DRAFT
    return serving(run, state)._replace(n_output=state.n_output, draft=own)
