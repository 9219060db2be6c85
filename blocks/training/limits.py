"""How much one reader may ask of a machine that many share."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from blocks.cost.fitting import depth_fault
from blocks.cost.parameters import total_parameters
from blocks.model.faults import N_, Fault
from blocks.training.memory import memory_fault, mended
from blocks.training.spec import TrainingSpec

MEBIBYTE = 2**20
FLOPS_PER_TOKEN = 6  # of each parameter, forward and back
REACHED = 1 / 8  # of a data sheet's FLOP/s by a training of a GPT-2 small on one H200: 11 %


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a registry of runs allows.

    `max_seconds` is the time on the device; `max_queued` runs wait in all and
    `max_queued_per_owner` of one owner; `max_kept` ended or paused runs are kept, then the oldest
    are forgotten. Where others wait, a run pauses after `max_seconds_unwatched` without a look (a
    page behind another tab looks once a minute). `max_bytes` of memory for a training,
    `max_snapshot_bytes` for a run's snapshots.
    """

    max_parameters: int = 5_000_000
    max_steps: int = 20_000
    max_seconds: float = 900.0
    max_seconds_unwatched: float = 120.0
    max_queued: int = 20
    max_queued_per_owner: int = 1
    max_kept: int = 20
    max_bytes: int = 1024 * MEBIBYTE
    max_snapshot_bytes: int = 32 * MEBIBYTE


def parameters_in_time(seconds: float, flops_per_s: float) -> int:
    """The largest model that reads a token for each of its parameters in so many seconds.

    6·N FLOPs a token and N tokens; of the FLOP/s of a data sheet a training reaches an eighth.
    """
    return math.isqrt(int(seconds * REACHED * flops_per_s / FLOPS_PER_TOKEN))


def limit_faults(spec: TrainingSpec, limits: Limits) -> Iterator[Fault]:
    """Return a fault for each limit that a spec exceeds."""
    if spec.recipe.n_steps > limits.max_steps:
        text = N_("n_steps ({value}) exceeds the {most} allowed here: use {most}")
        mend = {"n_steps": limits.max_steps}
        yield _fault(text, spec.recipe.n_steps, limits.max_steps, mend)
    if fault := mended(spec, lambda smaller: _size_fault(smaller, limits)):
        yield fault


def _size_fault(spec: TrainingSpec, limits: Limits) -> Fault | None:
    """The first limit that the sizes go beyond, all by formula; `mended` ends the sentence."""
    return (
        _parameter_fault(total_parameters(spec.config), limits.max_parameters)
        or memory_fault(spec, limits.max_bytes)
        or depth_fault(spec.config)
    )


def _parameter_fault(n_parameters: int, most: int) -> Fault | None:
    if n_parameters <= most:
        return None
    text = N_("{value} parameters exceed the {most} allowed here: use {choice}")
    return _fault(text, n_parameters, most, {})


def time_fault(limits: Limits) -> Fault:
    """Why a run was stopped before its last step."""
    text = N_("Stopped after the {most} seconds allowed here: use a smaller n_steps")
    return Fault(text, {"most": f"{limits.max_seconds:g}"})


def unwatched_fault(limits: Limits) -> Fault:
    """Why a run was paused though nobody asked for it."""
    text = N_(
        "Paused: nobody watched for {most} seconds while others waited. Press “Resume” to "
        "continue from here"
    )
    return Fault(text, {"most": f"{limits.max_seconds_unwatched:g}"})


def _fault(text: str, value: int, most: int, mend: dict[str, Any]) -> Fault:
    return Fault(text, {"value": f"{value:,}", "most": f"{most:,}"}, mend)
