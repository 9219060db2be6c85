"""What the panels of Cost share: what goes through, how it is used, where it is measured."""

from collections.abc import Iterable

import streamlit as st

from blocks import ModelConfig
from blocks.cost import device_peak as peaks
from blocks.cost import fit
from blocks.cost.hardware import HARDWARE, HERE
from blocks.cost.held import looked_up
from blocks.cost.parameters import active_parameters
from blocks.cost.passes import PassKind, pass_kinds
from blocks.cost.setup import EXACT, CacheFormat, OptimizerStates, Setup, WeightFormat
from blocks.cost.step import Shape
from blocks.cost.timing import Place
from blocks.model import devices
from blocks.model.devices import device_name
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.panels.cost import layouts
from pages.server import starts
from pages.show.explain import note
from pages.show.typed import slide_or_type
from pages.stage import link, present
from pages.state.link_fields.cost import AS_COMPUTED, AS_IN_FILE, TRAINED_FORMATS, WEIGHT_FORMATS
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, ngettext


def shape(state: State) -> Shape:
    return Shape(state.context_len, state.n_texts)


def pass_kind(config: ModelConfig, state: State) -> PassKind:
    """What goes through; an encoder writes nothing and has no prompt."""
    kind = PassKind(state.counted_pass)
    return kind if kind in pass_kinds(config) else PassKind.FORWARD


def is_training(state: State) -> bool:
    return state.memory_use == "training"


def setup(state: State, *, is_training: bool, weights: str = "") -> Setup:
    """The chosen setup; integer formats fall back to bfloat16 for training.

    `weights` names those that may count as in their file.
    """
    wanted = state.weight_format
    if wanted not in (TRAINED_FORMATS if is_training else formats([weights])):
        wanted = WeightFormat.BFLOAT16
    divided = layouts.layout(state)
    kept, (size, bits) = state.cache_format, state.int4_group.split("x")
    return Setup(
        weight_format=WeightFormat(wanted),
        stored=starts.stored(weights) if wanted == AS_IN_FILE else None,
        optimizer=OptimizerStates(state.optimizer_states),
        master_weights=state.master_weights,
        fused=state.fused_attention,
        checkpointing=state.checkpointing,
        n_devices=state.n_training_devices if is_training else divided.n_devices,
        prefill_chunk=state.prefill_chunk,
        cache_format=None if kept == AS_COMPUTED else CacheFormat(kept),
        group_size=int(size),
        group_bits=int(bits),
        layout=None if is_training else divided,
    )


def formats(weights: Iterable[str]) -> tuple[str, ...]:
    """In what these weights may be counted: as in their file where any of them are rounded."""
    is_any_rounded = any(each and starts.is_rounded(each) for each in weights)
    return (*((AS_IN_FILE,) if is_any_rounded else ()), *WEIGHT_FORMATS)


def format_name(weight_format: str) -> str:
    return _("the file's format") if weight_format == AS_IN_FILE else weight_format


def cache_format(weight_format: str) -> str:
    """In what keys and values are kept where weights have this format, unless it is chosen."""
    return weight_format if weight_format in EXACT else _("16 bits")


FITS = N_("Where does it fit?")
LENGTHS = tuple(2**i for i in range(4, 18))
BATCHES = tuple(2**i for i in range(11))
DEVICES = tuple(2**i for i in range(16))
CHUNKS = (0, *(2**i for i in range(9, 18)))


def shape_controls() -> None:
    """How long a text is, and how many go through at once: the same for the whole page."""
    left, right = st.columns(2)
    with left:
        slide_or_type("context_len", _("n · tokens per text"), LENGTHS)
    with right:
        slide_or_type("n_texts", _("batch · texts at once"), BATCHES)


def says_length(config: ModelConfig, n: int) -> str:
    """Where a text is longer than the model was made for."""
    if n <= config.max_seq_len:
        return ""
    text = _("n exceeds this model's limit of {most:,} tokens (max_seq_len).")
    return text.format(most=config.max_seq_len)


def device_count(place: str, shown: int) -> None:
    """Choose the number of devices, shared by two panels."""
    label = _("Number of devices")
    slide_or_type(
        "n_training_devices", label, DEVICES, shown, place=f"_{place}", label_of="{:,}".format
    )


def chunk_choice(setup: Setup) -> None:
    label = _("Tokens per prefill pass (chunked prefill)")
    slide_or_type("prefill_chunk", label, CHUNKS, setup.prefill_chunk, label_of=chunk_name)


def chunk_name(chunk: int) -> str:
    """A size of chunks; none is the whole of all prompts."""
    return f"{chunk:,}" if chunk else _("all")


def says_chunk(chunk: int) -> str:
    """Of which pass the activations are."""
    if not chunk:
        return _("Activations are those of one pass over all prompts.")
    return _(
        "Activations are those of one pass: prompts are read in chunks of at most {chunk:,} "
        "tokens, all texts taken together."
    ).format(chunk=chunk)


def says_sharing(*, is_training: bool) -> str:
    """What several devices share, and what each has for itself."""
    if not is_training:
        return _(
            "Tensor parallelism (Shoeybi et al. 2019) splits the vocabulary and every layer's"
            " heads and hidden units, so the KV cache is split into at most n_kv_heads parts;"
            " norms, routers, latent vectors and the residual stream are on every device. "
            "Pipeline stages have equal numbers of layers where possible, replicas (data "
            "parallelism) have texts of their own, and expert parallelism spreads whole "
            "experts over the devices. The numbers are those of the fullest device."
        )
    return _(
        "Data parallelism with ZeRO stage 3 (Rajbhandari et al. 2020): weights, "
        "gradients, master weights and optimizer states are split evenly. Activations are "
        "not, since each device has its own batch. The gathered weights of the current "
        "layer are not counted."
    )


def of_one_kind(config: ModelConfig) -> ModelConfig:
    """What is measured layer by layer: of a hybrid, as if all layers were like the last one."""
    return config.like_last() if config.is_hybrid else config


def say_one_kind(config: ModelConfig) -> None:
    """Where layers differ: which of them is measured."""
    if config.is_hybrid:
        note(_("The layers of this model differ; a layer like the last one is measured."))
    if config.local_window:
        note(_("FLOPs and bytes are those of a layer that attends to all tokens."))


def capacity_note(config: ModelConfig) -> str:
    """What a limit to what an expert takes means for FLOPs; empty without one."""
    if config.n_experts == 1 or not config.experts.expert_capacity:
        return ""
    return _(
        "All routed tokens are counted, even those dropped by expert_capacity, so with a "
        "capacity limit the count is an upper bound."
    )


OPERATIONS = {
    "scores": N_("scores Q·Kᵀ"),
    "values": N_("attention weights · V"),
    "state": N_("state: read (k), write, read (q)"),
}

CROSS = N_("cross-attention: {part}")


def operation(name: str) -> str:
    """A product of matrices, with its half of an encoder–decoder."""
    stack, _dot, rest = name.rpartition(".")
    base = rest.removeprefix("cross_")
    said = _(OPERATIONS[base]) if base in OPERATIONS else terms.part(base)
    said = _(CROSS).format(part=said) if rest.startswith("cross_") else said
    return _(terms.STACKS[stack]).format(part=said) if stack else said


def device(name: str, here: str) -> str:
    """A device of the table, or the one in front of the reader, which is called `here`."""
    if name != HERE:
        return HARDWARE[name].title
    return _("this device: {device}").format(device=device_name(here))


def place(run: Run, name: str, state: State) -> Place:
    return Place(run.device, run.dtype, state[name])


def measure_button(name: str, first: str, state: State, *, again: str) -> bool:
    """The button that measures, or measures anew; whether it was ever pressed."""
    attempt = state[name]
    with present.aside():
        st.button(
            again if attempt else first,
            icon=":material/timer:",
            key=f"{name}_button",
            type="secondary" if attempt else "primary",
            on_click=link.change,
            args=(name, attempt + 1),
        )
    return attempt > 0


BUSY = 1.5


def where(place: Place) -> str:
    """Device, threads, number format."""
    name, n = devices.device_name(place.device), peaks.threads(place.device)
    if place.device != "cpu":
        return _("{device}, {dtype}").format(device=name, dtype=place.dtype)
    text = ngettext("{device}, {n} thread, {dtype}", "{device}, {n} threads, {dtype}", n)
    return text.format(device=name, n=n, dtype=place.dtype)


def busy(load: float) -> str:
    """Whether others computed at the same time."""
    if not load > BUSY:
        return ""
    return _(
        "The machine was busy: {load:.1f} runnable processes per CPU, so work shared by "
        "several threads waited for the slowest thread."
    ).format(load=load)


def counted_model(config: ModelConfig) -> str:
    """The model in one line."""
    n, active = fit.n_parameters(config), active_parameters(config)
    if active == n:
        return _("{n:,} parameters, counted by formula without building the model.").format(n=n)
    text = _(
        "{n:,} parameters, {active:,} active per token, counted by formula without building "
        "the model."
    )
    if rows := looked_up(config):
        text = _(
            "{n:,} parameters, {active:,} active per token ({multiplied:,} without the input "
            "table, which is only looked up), counted by formula without building the model."
        )
    return text.format(n=n, active=active, multiplied=active - rows)


def caption(config: ModelConfig, shape: Shape) -> str:
    """What was set, for the page that is taken along."""
    return _("Costs: {model} n = {n:,}, batch = {batch}.").format(
        model=counted_model(config), n=shape.n, batch=shape.batch
    )
