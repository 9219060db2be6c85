"""What training tells while it goes on: small, frozen, plain values."""

from dataclasses import dataclass
from enum import StrEnum

from blocks.model.faults import Fault


class Reason(StrEnum):
    """Why training ended."""

    FINISHED = "finished"
    STOPPED = "stopped"
    DIVERGED = "diverged"
    OUT_OF_MEMORY = "out_of_memory"
    FAILED = "failed"
    LOST = "lost"


@dataclass(frozen=True)
class Step:
    """One update is made. Steps count from 1; the loss, in nats, is from just before it.

    `gradient_norm` is measured before clipping; `seconds` since training began.
    """

    step: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens_per_second: float
    seconds: float


@dataclass(frozen=True)
class Evaluation:
    """How good the model is on what it has never seen, after `step` updates.

    `held_out_loss` in nats, without label smoothing; `layer_gradient_norms` one per layer, from the
    latest update and before clipping (none at step 0). `ahead_losses`: of modules that predict
    further ahead, the nearest first.
    """

    step: int
    held_out_loss: float
    score: float
    seconds: float
    layer_gradient_norms: tuple[float, ...]
    ahead_losses: tuple[float, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What was asked, what the model wrote for it, and what would have been right."""

    question: str
    written: str
    right: str


@dataclass(frozen=True)
class Sample:
    """What the model writes after `step` updates: a text of its own, or answers."""

    step: int
    text: str
    answers: tuple[Answer, ...] = ()


@dataclass(frozen=True)
class SnapshotTaken:
    """The weights after `step` updates are kept."""

    step: int


@dataclass(frozen=True)
class Ended:
    """The last event. The fault says what went wrong, and how to mend it."""

    reason: Reason
    fault: Fault | None = None


Event = Step | Evaluation | Sample | SnapshotTaken | Ended
