"""A whole training as it is planned: its FLOPs by rule and exactly, and how long devices take."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from blocks.cost.fit import n_parameters
from blocks.cost.hardware import HARDWARE
from blocks.cost.need import need
from blocks.cost.parameters import active_parameters
from blocks.cost.setup import Setup
from blocks.cost.step import Shape
from blocks.cost.training_cost import (
    TrainingCost,
    compute_optimal_tokens,
    device_seconds,
    fewest_devices,
    training_cost,
)
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture

DIFFERENCES = ("tables", "vectors", "idle", "pairs", "rest")


class Plan(NamedTuple):
    """How a model is to be trained."""

    n_tokens: int
    device: str
    n_devices: int
    utilisation: float
    usable: float


class OnDevice(NamedTuple):
    """A training on one kind of device: seconds on one and on all, and how few hold it."""

    device: str
    peak: float
    alone_seconds: float
    seconds: float
    fewest: int
    is_enough: bool


@dataclass(frozen=True)
class TrainingFacts:
    """FLOPs of a training, and the devices that compute in its number format."""

    plan: Plan
    setup: Setup
    n_parameters: int
    optimal_tokens: int
    tokens_per_parameter: float
    cost: TrainingCost
    devices: tuple[OnDevice, ...]
    is_block: bool
    has_modules: bool = False

    @property
    def of_rule(self) -> float:
        """The exact count as a multiple of 6·N·D."""
        return self.cost.exact / self.cost.rule

    @property
    def recomputed_share(self) -> float:
        """The share of what is computed that is computed a second time."""
        return self.cost.recomputed / self.cost.done

    def seconds_at(self, flops_per_s: float) -> float:
        """Return the seconds of all of it at this speed, without a pause."""
        return (self.cost.exact + self.cost.recomputed) / flops_per_s

    @property
    def chosen(self) -> OnDevice | None:
        """The planned device; None where it does not compute in this number format."""
        return next((each for each in self.devices if each.device == self.plan.device), None)

    @property
    def steps(self) -> tuple[tuple[str, str, int], ...]:
        """From the rule to what is computed: name, what it is in a sum, FLOPs."""
        return tuple(self._steps())

    def _steps(self) -> Iterator[tuple[str, str, int]]:
        found = self.cost._asdict()
        yield "rule", "absolute", self.cost.rule
        yield from ((name, "relative", found[name]) for name in DIFFERENCES if found[name])
        yield "exact", "total", self.cost.exact
        if self.cost.recomputed:
            yield "recomputed", "relative", self.cost.recomputed


def training_facts(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> TrainingFacts:
    """Count a training in texts of n tokens, and time it on each kind of device."""
    cost = training_cost(
        config, plan.n_tokens, n=n, checkpointing=setup.checkpointing, fused=setup.fused
    )
    return TrainingFacts(
        plan=plan,
        setup=setup,
        n_parameters=n_parameters(config),
        optimal_tokens=compute_optimal_tokens(config),
        tokens_per_parameter=plan.n_tokens / active_parameters(config),
        cost=cost,
        devices=tuple(_on_devices(config, plan, setup, cost.done)),
        is_block=config.architecture is Architecture.BLOCK,
        has_modules=config.n_mtp_modules > 0,
    )


def _on_devices(config: ModelConfig, plan: Plan, setup: Setup, flops: int) -> Iterator[OnDevice]:
    """Each device that computes in this number format."""
    state = need(config, replace(setup, n_devices=1), Shape(1, 1), is_training=True).state
    for name, device in HARDWARE.items():
        if peak := device.peak.get(str(setup.weight_format)):
            seconds = device_seconds(flops, peak, plan.utilisation)
            fewest = fewest_devices(state, int(plan.usable * device.memory))
            shared = seconds / plan.n_devices
            yield OnDevice(name, peak, seconds, shared, fewest, plan.n_devices >= fewest)
