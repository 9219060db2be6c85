"""What is counted for the page of costs, kept: keyed on configurations and plain values."""

import dataclasses
from functools import lru_cache
from typing import NamedTuple

from blocks import ModelConfig
from blocks.cost import crossover, fit, flops, training_cost
from blocks.cost.activations import Activations, training_activations
from blocks.cost.fit import Need, OptimizerStates, Setup, WeightFormat
from blocks.cost.hardware import HARDWARE, memory_here
from blocks.cost.passes import Operation, PassKind, operations
from pages.ui.cost.chosen import Plan, Shape
from pages.ui.cost.fields import LARGEST_BATCH, LONGEST

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


@lru_cache(maxsize=128)
def step(
    config: ModelConfig, kind: PassKind, shape: Shape, setup: Setup | None = None
) -> tuple[Operation, ...]:
    """Every product of a step; with a setup also what is computed a second time."""
    again = {} if setup is None else {"checkpointing": setup.checkpointing, "fused": setup.fused}
    return operations(config, kind, n=shape.n, batch=shape.batch, **again)


@lru_cache(maxsize=64)
def layer_growth(config: ModelConfig, n: int):
    """FLOPs of one layer from short texts to long ones, the reader's length among them."""
    crossing = crossover.crossover(config)
    most = max(4 * n, 4 * crossing, 1024)
    lengths = [2**i for i in range(4, 40) if 2**i <= most]
    return crossover.growth(config, sorted({*lengths, n}))


def pass_sizes(config: ModelConfig) -> dict[str, int]:
    """Sizes of one token that meets one."""
    return flops.pass_sizes(config, flops.Pass(1, 1))


@lru_cache(maxsize=512)
def need(config: ModelConfig, setup: Setup, shape: Shape, *, is_training: bool) -> Need:
    """The memory of training, or of use."""
    count = fit.training_need if is_training else fit.inference_need
    return count(config, setup, batch=shape.batch, n=shape.n)


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


def training_variants(config: ModelConfig, setup: Setup) -> dict[str, tuple[ModelConfig, Setup]]:
    """What the reader chose, and the same with one thing changed."""
    is_exact = setup.weight_format is WeightFormat.FLOAT32
    other_format = WeightFormat.BFLOAT16 if is_exact else WeightFormat.FLOAT32
    changes = {
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
    """The same of use: other number formats, and one head of keys and values for all."""
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


def devices(here: str, n_devices: int = 1) -> dict[str, int]:
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
        return need(config, setup, Shape(n, batch), is_training=is_training).total

    found = []
    for name, memory in devices(here, setup.n_devices).items():
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


class OnDevice(NamedTuple):
    """A training on one kind of device: hours on one, on all of them, and how few hold it."""

    device: str
    peak: float
    device_hours: float
    hours: float
    fewest: int


@lru_cache(maxsize=64)
def on_devices(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> tuple[OnDevice, ...]:
    """Each device that computes in this number format."""
    done = cost(config, plan.n_tokens, n, setup).done
    alone = dataclasses.replace(setup, n_devices=1)
    state = need(config, alone, Shape(1, 1), is_training=True).state
    found = []
    for name, device in HARDWARE.items():
        peak = device.peak.get(str(setup.weight_format))
        if peak is None:
            continue
        seconds = training_cost.device_seconds(done, peak, plan.utilisation)
        hours = seconds / training_cost.HOUR
        fewest = training_cost.fewest_devices(state, int(plan.usable * device.memory))
        found.append(OnDevice(name, peak, hours, hours / plan.n_devices, fewest))
    return tuple(found)
