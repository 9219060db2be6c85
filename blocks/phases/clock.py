"""One training looked at again and again, and the same training that goes another way from a step.

A branch is trained from the first step on, as its trunk was, and changed where it leaves it: what
the optimizer remembers is then that of the trunk, and nothing but the change tells them apart.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from blocks.model.models import Model
from blocks.model.probe import listening
from blocks.model.randomness import generator
from blocks.observe.recording import Recorder
from blocks.phases.hindsight import Hindsight, hindsight
from blocks.phases.setups import MODULAR, SETUPS, Setup
from blocks.training.algorithms import all_pairs
from blocks.training.loop import Training
from blocks.training.loss import cross_entropy
from blocks.training.questions import QuestionTask
from blocks.training.spec import TrainingSpec
from blocks.training.task import IGNORED, Batch, Task
from blocks.training.tasks import TaskConfig, TaskKind, build_task
from blocks.weights.tensors import Weights, read_weights

N_ROWS = 256


@dataclass(frozen=True, kw_only=True)
class Change:
    """What is otherwise after a step: weight decay, the share of data, a head that writes nothing.

    None: as it was. `head`: its number through all layers, from 0.
    """

    step: int
    weight_decay: float | None = None
    learned_percent: int | None = None
    head: int | None = None


@dataclass(frozen=True)
class Kept:
    """A model after `step` updates: losses in nats per answer, `accuracy` on what it never saw.

    `learned_accuracy`: on what it learns from.
    `weight_norm`: √ of the sum of all squared weights. `sink_mass`: the mean attention weight on
    the first token, over heads and all queries but the first (Xiao et al. 2023).
    """

    step: int
    loss: float
    held_out_loss: float
    accuracy: float
    learned_accuracy: float
    weight_norm: float
    sink_mass: float


@dataclass(frozen=True, kw_only=True)
class Clock:
    """A training as a series: each look at it, and last what can be said once its end is known."""

    kind: TaskKind
    seed: int = 0
    change: Change | None = None

    device: ClassVar[str] = "cpu"
    is_timed: ClassVar[bool] = False

    @property
    def setup(self) -> Setup:
        """What is trained, and how."""
        return SETUPS[self.kind]

    @property
    def n_steps(self) -> int:
        """All looks; and, of a run that is no branch, the look back."""
        return len(self.setup.steps) + (self.change is None)

    def results(self, done: Sequence[Any]) -> Iterator[Kept | Hindsight]:
        """Train from the start on, whatever is known: nothing but numbers was kept of it."""
        seen: list[Weights] = []
        rows: Rows | None = None
        for i, training in enumerate(trained(self)):
            rows = rows or looked_at(training.task, self.seed)
            if self.change is None:
                seen.append(read_weights(training.model))
            if i >= len(done):
                yield look(training.step, training.model, rows)
        if self.change is None:
            yield hindsight(self.setup, seen, self.seed)


class Rows(NamedTuple):
    """Questions that are learned from, and others."""

    learned: Batch
    unseen: Batch


def looked_at(task: Task, seed: int) -> Rows:
    """All pairs of a modular sum; of other tasks as many rows on each side."""
    if isinstance(task, QuestionTask) and task.name in MODULAR:
        is_unseen = task.splits(all_pairs())
        return Rows(*(task.posed(all_pairs()[is_unseen == side]) for side in (False, True)))
    random = generator(seed, "looked at")
    return Rows(task.batch(N_ROWS, random), task.held_out(N_ROWS, random))


def trained(clock: Clock) -> Iterator[Training]:
    """The training at each step that is looked at; from a branch on, another one."""
    training, change = _begun(clock.setup, clock.seed), clock.change
    for step in clock.setup.steps:
        while training.step < step:
            training.update()
        yield training
        if change and step == change.step:
            training = _branched(training, change)


def _begun(setup: Setup, seed: int) -> Training:
    spec = TrainingSpec(config=setup.config, task=setup.task, recipe=setup.recipe, seed=seed)
    training = Training(spec)
    with torch.no_grad():
        training.model.get_parameter("embed.weight").mul_(setup.small_start)
    return _all_decay(training)


def _all_decay(training: Training) -> Training:
    """Embeddings, biases and norms too."""
    for optimizer in training.optimizers:
        for group in optimizer.param_groups:
            group["weight_decay"] = training.recipe.weight_decay
    return training


def _branched(training: Training, change: Change) -> Training:
    """A training that goes on from here with the change."""
    spec = training.spec
    if change.weight_decay is not None:
        spec = replace(spec, recipe=spec.recipe.replace(weight_decay=change.weight_decay))
    if change.learned_percent is not None:
        spec = replace(spec, task=replace(spec.task, learned_percent=change.learned_percent))
    new = _all_decay(Training(spec, start=replace(training.checkpoint(), spec=spec)))
    if change.head is not None:
        new.mask(head_mask(new.model, change.head))
    return new


def newly_learned(task: TaskConfig, percent: int) -> float:
    """The share of the pairs that a modular sum holds out that it then learns from."""
    pairs, before = all_pairs(), build_task(task)
    after = build_task(replace(task, learned_percent=percent))
    assert isinstance(before, QuestionTask) and isinstance(after, QuestionTask)
    return 1 - float(after.splits(pairs)[before.splits(pairs)].double().mean())


def head_mask(model: Model, number: int) -> dict[str, Tensor]:
    """The columns of the output projection that write what a head found: held at 0."""
    config = model.config
    layer, head = divmod(number, config.n_heads)
    name = f"layers.{layer}.attention.out_proj.weight"
    kept = torch.ones_like(model.get_parameter(name), dtype=torch.bool)
    kept[:, head * config.d_head : (head + 1) * config.d_head] = False
    return {name: kept}


@torch.no_grad()
def look(step: int, model: nn.Module, rows: Rows) -> Kept:
    """Measure a model as it is now."""
    recorder = Recorder({"pattern"}, {})
    learned = model(*rows.learned.read)
    with listening(recorder):
        unseen = model(*rows.unseen.read)
    squares = [each.square().sum() for each in model.parameters()]
    sinks = [pattern[..., 1:, 0].mean() for pattern in recorder.tensors.values()]
    return Kept(
        step=step,
        loss=float(cross_entropy(learned, rows.learned.targets)),
        held_out_loss=float(cross_entropy(unseen, rows.unseen.targets)),
        accuracy=_share_right(unseen, rows.unseen),
        learned_accuracy=_share_right(learned, rows.learned),
        weight_norm=float(torch.stack(squares).sum().sqrt()),
        sink_mass=float(torch.stack(sinks).mean()),
    )


def _share_right(logits: Tensor, batch: Batch) -> float:
    """Of all tokens that are asked for."""
    right = (logits.argmax(-1) == batch.targets)[batch.targets != IGNORED]
    return float(right.float().mean())
