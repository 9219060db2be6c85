"""What the page of costs is about, in a line."""

import dataclasses
from functools import lru_cache
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost import device_peak as peaks
from blocks.cost import fit, training_cost
from blocks.cost.fit import Need, OptimizerStates, Setup, WeightFormat
from blocks.cost.hardware import HARDWARE, memory_here
from blocks.cost.parameters import active_parameters
from blocks.cost.passes import PassKind, pass_kinds
from blocks.cost.step import Shape
from blocks.cost.training_cost import compute_optimal_tokens
from blocks.model import devices
from blocks.model.devices import device_name
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.figures.units import duration as duration
from pages.figures.units import flops as flops
from pages.figures.units import in_bytes as in_bytes
from pages.figures.units import rounded as rounded
from pages.ui import link, terms
from pages.ui.controls import slide
from pages.ui.language import _
from pages.ui.link_fields.cost import LARGEST_BATCH, LONGEST, MOST_TOKENS, TRAINED_FORMATS


def whole(count: int) -> str:
    """Every digit of it, in threes."""
    return f"{count:,}"


class Plan(NamedTuple):
    """How a model is to be trained."""

    n_tokens: int
    device: str
    n_devices: int
    utilisation: float
    usable: float


def shape() -> Shape:
    """Length and batch size, shared by all panels."""
    return Shape(link.value("context_len"), link.value("n_texts"))


def pass_kind(config: ModelConfig) -> PassKind:
    """What goes through; an encoder writes nothing and has no prompt."""
    kind = PassKind(link.value("counted_pass"))
    return kind if kind in pass_kinds(config) else PassKind.FORWARD


def is_training() -> bool:
    """Whether memory is asked for to train, or to use."""
    return link.value("memory_use") == "training"


def setup(*, is_training: bool) -> Setup:
    """The chosen setup; integer formats fall back to bfloat16 for training."""
    wanted = link.value("weight_format")
    if is_training and wanted not in TRAINED_FORMATS:
        wanted = WeightFormat.BFLOAT16
    return Setup(
        weight_format=WeightFormat(wanted),
        optimizer=OptimizerStates(link.value("optimizer_states")),
        master_weights=link.value("master_weights"),
        fused=link.value("fused_attention"),
        checkpointing=link.value("checkpointing"),
        n_devices=link.value("n_training_devices"),
    )


def plan(config: ModelConfig) -> Plan:
    """As many tokens as were asked for, or twenty for each parameter."""
    n_tokens = link.value("n_training_tokens") or compute_optimal_tokens(config)
    return Plan(
        min(n_tokens, MOST_TOKENS),
        link.value("training_device"),
        link.value("n_training_devices"),
        link.value("utilisation"),
        link.value("usable_memory"),
    )


LENGTHS = tuple(2**i for i in range(4, 18))

BATCHES = tuple(2**i for i in range(11))

DEVICES = tuple(2**i for i in range(16))


def shape_controls() -> None:
    """How long a text is, and how many go through at once: the same for the whole page."""
    left, right = st.columns(2)
    with left:
        slide("context_len", _("n · tokens per text"), LENGTHS, link.value("context_len"))
    with right:
        slide("n_texts", _("batch · texts at once"), BATCHES, link.value("n_texts"))


def _devices_at_once(place: str, shown: int) -> None:
    """Choose the number of devices, shared by two panels."""
    label = _("Number of devices")
    slide("n_training_devices", label, DEVICES, shown, place=f"_{place}", label_of=whole)


HERE = "here"


class Fits(NamedTuple):
    """How a need compares with a device: the largest batch and the longest text that fit.

    Where several share a model, each of the `n_devices` has such a batch of its own.
    """

    device: str
    memory: int
    needed: int
    batch: int
    n: int
    n_devices: int

    @property
    def is_enough(self) -> bool:
        """Whether what is asked for fits."""
        return self.needed <= self.memory


@lru_cache(maxsize=512)
def counted_need(config: ModelConfig, setup: Setup, shape: Shape, *, is_training: bool) -> Need:
    """The memory of training, or of use."""
    count = fit.training_need if is_training else fit.inference_need
    return count(config, setup, batch=shape.batch, n=shape.n)


def training_variants(config: ModelConfig, setup: Setup) -> dict[str, tuple[ModelConfig, Setup]]:
    """The chosen setup for training, and variants that differ in one setting."""
    is_exact = setup.weight_format is WeightFormat.FLOAT32
    other_format = WeightFormat.BFLOAT16 if is_exact else WeightFormat.FLOAT32
    changes: dict[str, dict[str, Any]] = {
        "checkpointing": {"checkpointing": not setup.checkpointing},
        "fused": {"fused": not setup.fused},
        "format": {"weight_format": other_format},
        **{
            str(kind): {"optimizer": kind}
            for kind in OptimizerStates
            if kind is not setup.optimizer
        },
    }
    changed = {name: (config, dataclasses.replace(setup, **each)) for name, each in changes.items()}
    return {"chosen": (config, setup), **changed}


def inference_variants(config: ModelConfig, setup: Setup) -> dict[str, tuple[ModelConfig, Setup]]:
    """Variants for inference: other number formats, and multi-query attention."""
    changed = {
        str(kind): (config, dataclasses.replace(setup, weight_format=kind))
        for kind in WeightFormat
        if kind is not setup.weight_format and kind is not WeightFormat.FLOAT16
    }
    if has_cache(config) and config.n_kv_heads > 1:
        changed["one_kv_head"] = (config.replace(n_kv_heads=1), setup)
    return {"chosen": (config, setup), **changed}


def has_cache(config: ModelConfig) -> bool:
    """Whether it keeps keys and values: who writes does."""
    return fit.cache_bytes(config, 1, batch=1, n=1) > 0


def counted_devices(here: str, n_devices: int = 1) -> dict[str, int]:
    """Memory of each device; where one is asked for, the one in front of the reader first."""
    own = memory_here(here) if n_devices == 1 else 0
    known = {name: each.memory for name, each in HARDWARE.items()}
    return ({HERE: own} if own else {}) | known


@lru_cache(maxsize=64)
def fits(
    config: ModelConfig, setup: Setup, shape: Shape, here: str, usable: float, *, is_training: bool
) -> tuple[Fits, ...]:
    """Each device: whether it is enough, and how far it goes."""

    def needed(n: int, batch: int) -> int:
        return counted_need(config, setup, Shape(n, batch), is_training=is_training).total

    found = []
    for name, memory in counted_devices(here, setup.n_devices).items():
        budget = int(usable * memory)
        batch = fit.largest(lambda size: needed(shape.n, size), budget, LARGEST_BATCH)
        n = fit.largest(lambda size: needed(size, shape.batch), budget, LONGEST)
        found.append(Fits(name, budget, needed(*shape), batch, n, setup.n_devices))
    return tuple(found)


@lru_cache(maxsize=64)
def cost(config: ModelConfig, n_tokens: int, n: int, setup: Setup) -> training_cost.TrainingCost:
    """FLOPs of the whole training, the rule and the exact count."""
    return training_cost.training_cost(
        config, n_tokens, n=n, checkpointing=setup.checkpointing, fused=setup.fused
    )


class Place(NamedTuple):
    """Where something is measured, in which number format, and for the how-many-th time."""

    device: str
    dtype: str
    attempt: int


def capacity_note(config: ModelConfig) -> str:
    """What a limit to what an expert takes means for FLOPs; empty without one."""
    if config.n_experts == 1 or not config.feed_forward.expert_capacity:
        return ""
    return _(
        "All routed tokens count, even those dropped by expert_capacity: with a "
        "capacity limit this is an upper bound."
    )


OPERATIONS = {
    "scores": N_("scores Q·Kᵀ"),
    "values": N_("attention weights · V"),
}

CROSS = N_("cross: {part}")

VARIANTS = {
    "chosen": N_("as you chose"),
    "one_kv_head": N_("one key and value head"),
    "adam": "Adam",
    "sgd": "SGD",
    "momentum": N_("SGD with momentum"),
    "muon": "Muon",
}

TERMS = {
    "rule": N_("6·N·D"),
    "tables": N_("tables: looked up, not multiplied"),
    "vectors": N_("biases, norms: no matrix products"),
    "idle": N_("idle experts"),
    "pairs": N_("attention between tokens"),
    "rest": N_("the other half: left out"),
    "exact": N_("exact"),
    "recomputed": N_("recomputed"),
}


def operation(name: str) -> str:
    """A product of matrices, with its half of an encoder–decoder."""
    stack, _dot, rest = name.rpartition(".")
    base = rest.removeprefix("cross_")
    said = _(OPERATIONS[base]) if base in OPERATIONS else terms.part(base)
    said = _(CROSS).format(part=said) if rest.startswith("cross_") else said
    return _(terms.STACKS[stack]).format(part=said) if stack else said


def term(name: str, config: ModelConfig) -> str:
    """What stands between the rule and the exact count."""
    if name == "rest" and config.architecture is Architecture.BLOCK:
        return _("gradient of the input: not needed")
    return _(TERMS[name])


def device(name: str) -> str:
    """A device of the table, or the one in front of the reader."""
    if name != HERE:
        return HARDWARE[name].title
    return _("this one: {device}").format(device=device_name(link.value("device")))


def variant(name: str, setup: Setup) -> str:
    """What is different in a bar; `setup` is what it is drawn for."""
    match name:
        case "checkpointing":
            return (
                _("with activation checkpointing")
                if setup.checkpointing
                else _("without activation checkpointing")
            )
        case "fused":
            return _("fused attention") if setup.fused else _("attention, eager")
        case "format":
            return str(setup.weight_format)
        case _:
            return _(VARIANTS.get(name, name))


NEEDS = {
    True: ("weights", "gradients", "master", "optimizer", "activations"),
    False: ("weights", "cache", "activations"),
}


def memory_rows(
    config: ModelConfig, setup: Setup, shape: Shape, *, is_training: bool
) -> pd.DataFrame:
    """One row a way to do it: bytes by what they are for."""
    variants = training_variants if is_training else inference_variants
    rows = []
    for name, (changed, how) in variants(config, setup).items():
        need = counted_need(changed, how, shape, is_training=is_training)
        bytes_of = {part: float(getattr(need, part)) for part in NEEDS[is_training]}
        said = in_bytes(need.total)
        rows.append({"label": variant(name, how), "said": said, **bytes_of})
    table = pd.DataFrame(rows)
    return table.assign(total=table[[*NEEDS[is_training]]].sum(axis=1))


def cost_rows(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> pd.DataFrame:
    """From 6·N·D to the exact count; what changes nothing is left out."""
    found = cost(config, plan.n_tokens, n, setup)._asdict()
    changes = [name for name in ("tables", "vectors", "idle", "pairs", "rest") if found[name]]
    measures = {"rule": "absolute", "exact": "total"} | dict.fromkeys(changes, "relative")
    shown = ["rule", *changes, "exact"]
    if found["recomputed"]:
        measures["recomputed"] = "relative"
        shown.append("recomputed")
    return pd.DataFrame(
        {
            "label": [term(name, config) for name in shown],
            "measure": [measures[name] for name in shown],
            "flops": [float(found[name]) for name in shown],
            "said": [flops(found[name]) for name in shown],
        }
    )


def in_words(table: pd.DataFrame) -> str:
    """The rows of a picture of bars: what each is called, and what is said of it."""
    rows = zip(table["label"], table["said"], strict=True)
    return "; ".join(f"{label} {said}" for label, said in rows)


def place(run: Run, name: str) -> Place:
    """Where, and for the how-many-th time."""
    return Place(run.device, run.dtype, link.value(name))


def measure_button(name: str, first: str, *, again: str) -> bool:
    """The button that measures, or measures anew; whether it was ever pressed."""
    attempt = link.value(name)
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
    text = _("{device}, {threads} threads, {dtype}")
    if place.device != "cpu":
        text = _("{device}, {dtype}")
    name, n_threads = devices.device_name(place.device), peaks.threads(place.device)
    return text.format(device=name, threads=n_threads, dtype=place.dtype)


def busy(load: float) -> str:
    """Whether others computed at the same time."""
    if not load > BUSY:
        return ""
    text = _(
        "The machine was busy: {load:.1f} runnable programs per CPU, so that work "
        "shared by several threads waits for the slowest."
    )
    return text.format(load=load)


def fits_frame(found: tuple[Fits, ...]) -> pd.DataFrame:
    """Devices, whether the model fits, and the largest batch, as a frame."""
    is_shared = found[0].n_devices > 1
    batch = _("largest batch per device") if is_shared else _("largest batch")
    return pd.DataFrame(
        {
            _("device"): [device(each.device) for each in found],
            _("it fits"): [_("yes") if each.is_enough else _("no") for each in found],
            batch: [_most(each.batch, LARGEST_BATCH) for each in found],
            _("longest text"): [_most(each.n, LONGEST) for each in found],
            _("share of memory"): [f"{each.needed / each.memory:,.0%}" for each in found],
            _("usable memory"): [in_bytes(each.memory) for each in found],
        }
    )


def _most(found: int, most: int) -> str:
    """A largest size; what was not looked beyond is said to be more."""
    if found == 0:
        return _("none")
    return f"≥ {most:,}" if found == most else f"{found:,}"


def counted_model(config: ModelConfig) -> str:
    """The model in one line, and how long counting took nothing."""
    n, active = fit.n_parameters(config), active_parameters(config)
    if active == n:
        return _("{n:,} parameters. Counted by formula, nothing is built.").format(n=n)
    text = _(
        "{n:,} parameters, of which each token uses {active:,}. Counted by formula, "
        "nothing is built."
    )
    return text.format(n=n, active=active)


def caption(config: ModelConfig, shape: Shape) -> str:
    """What was set, for the page that is taken along."""
    return _("Costs: {model} n = {n:,}, batch = {batch}.").format(
        model=counted_model(config), n=shape.n, batch=shape.batch
    )
