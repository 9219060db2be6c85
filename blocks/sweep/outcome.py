"""What one training of a sweep came to: plain values, kept in a file of its own."""

import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import torch

from blocks.cost.parameters import total_parameters
from blocks.cost.training_cost import training_cost
from blocks.model import devices
from blocks.model.randomness import generator
from blocks.sweep.point import FORMAT
from blocks.training.events import Evaluation, Reason
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import Task

N_BINS = 100


class Look(NamedTuple):
    """The model after `step` updates: its held-out loss in nats, and the seconds so far."""

    step: int
    held_out_loss: float
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """A training that has ended: finished, or diverged at a step that is the same each time.

    `curve`: update, and the mean loss of it and those before it that are not in another row, in
    nats; `looks` at what was never seen. `n_tokens` that were learned from and `flops` of forward
    and backward, by formula, of the whole training; `seconds` of updates and looks on `device`.
    """

    spec: TrainingSpec
    reason: Reason
    curve: tuple[tuple[int, float], ...]
    looks: tuple[Look, ...]
    n_parameters: int
    n_tokens: int
    flops: int
    seconds: float
    device: str
    versions: Mapping[str, str]

    @property
    def held_out_loss(self) -> float:
        """The last one, in nats; infinite where it diverged."""
        return self.looks[-1].held_out_loss if self.reason is Reason.FINISHED else math.inf

    @property
    def loss(self) -> float:
        """The mean loss of the last updates, in nats; infinite where it diverged."""
        return self.curve[-1][1] if self.reason is Reason.FINISHED else math.inf

    def to_json(self) -> str:
        """As a file has it."""
        plain = {"format": FORMAT, **asdict(self), "spec": self.spec.plain()}
        return json.dumps(plain, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Outcome":
        """What `to_json` has written. Raises `ValueError` for anything else."""
        try:
            values = json.loads(text)
            if values.pop("format") != FORMAT:
                raise ValueError("a file of another version")
            spec = TrainingSpec.from_plain(values.pop("spec"))
            curve = tuple((step, loss) for step, loss in values.pop("curve"))
            looks = tuple(Look(*look) for look in values.pop("looks"))
            reason = Reason(values.pop("reason"))
            return cls(spec=spec, reason=reason, curve=curve, looks=looks, **values)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no outcome of ours: {error}") from error


def outcome(
    spec: TrainingSpec,
    task: Task,
    reason: Reason,
    losses: Sequence[float],
    looks: Sequence[Evaluation],
    seconds: float,
) -> Outcome:
    """Count what the training took; `losses` of all updates, in their order."""
    n_tokens = spec.recipe.n_steps * tokens_of_update(spec, task)
    return Outcome(
        spec=spec,
        reason=reason,
        curve=_binned([*filter(math.isfinite, losses)]),
        looks=tuple(Look(e.step, e.held_out_loss, e.seconds) for e in looks),
        n_parameters=total_parameters(spec.config),
        n_tokens=n_tokens,
        flops=training_cost(spec.config, n_tokens, n=task.seq_len).exact,
        seconds=seconds,
        device=devices.device_name(spec.device.partition(":")[0]),
        versions=versions(),
    )


def tokens_of_update(spec: TrainingSpec, task: Task) -> int:
    """Tokens that are read in one update, in all rows."""
    return task.batch(spec.recipe.batch_size, generator(spec.seed, "batch", "1")).n_tokens


def _binned(losses: Sequence[float]) -> tuple[tuple[int, float], ...]:
    """At most `N_BINS` means of losses that follow each other, the last of as many as all others.

    Each stands at the last update of its bin.
    """
    size = max(1, math.ceil(len(losses) / N_BINS))
    ends = range(len(losses), 0, -size)
    bins = [(end, losses[max(0, end - size) : end]) for end in ends]
    return tuple((end, math.fsum(each) / len(each)) for end, each in reversed(bins))


def versions() -> dict[str, str]:
    """What computed it."""
    return {"python": platform.python_version(), "torch": torch.__version__}
