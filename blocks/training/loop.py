"""The training loop: draw a batch, see how wrong the model is, change its weights, look, repeat."""

import math
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from blocks.model.faults import ConfigError
from blocks.model.randomness import generator
from blocks.observe.reading import Reading
from blocks.training.checkpoint import Checkpoint
from blocks.training.distillation import Guidance
from blocks.training.evaluation import Examiner
from blocks.training.events import Ended, Evaluation, Event, Reason, SnapshotTaken, Step
from blocks.training.failures import divergence, guarded
from blocks.training.masters import Masters
from blocks.training.memory import training_memory_fault
from blocks.training.optimizer_state import load_optimizers, read_optimizers
from blocks.training.optimizers import build_optimizers, matrix_paths
from blocks.training.schedule import learning_rate
from blocks.training.snapshots import Keeper, is_snapshot_step
from blocks.training.spec import TrainingSpec, spec_faults
from blocks.training.tasks import build_task
from blocks.training.teaching import Teacher
from blocks.training.update import Update
from blocks.weights.tensors import Weights, load_weights, read_weights

ABSURD = 100  # times the loss of a model that guesses


def train(
    spec: TrainingSpec, *, start: Checkpoint | None = None, budget: int | None = None
) -> Iterator[Event]:
    """Train as the spec says and tell what happens; the last event is `Ended`.

    `start` goes on where a checkpoint was taken; `budget` is the memory allowed, in bytes.
    Raises `ConfigError` where the spec cannot be trained.
    """
    return Training(spec, start=start, budget=budget).events()


@dataclass(frozen=True)
class _Update:
    """An update that was asked for; its loss and gradient norm may still be on their way."""

    step: int
    n_tokens: int
    reading: Reading


class Training:
    """A model, its optimizers and how far they are. One thread trains; any may ask it to stop.

    The generator of each random draw is made from the seed, its purpose and the step, so a
    training that is resumed draws what it would have drawn.
    """

    def __init__(
        self,
        spec: TrainingSpec,
        *,
        start: Checkpoint | None = None,
        snapshots: Keeper | None = None,
        budget: int | None = None,
        is_scored: bool = True,
    ):
        """Where it is not scored, looks are at the loss alone: a score may take as long as all."""
        if budget is not None and (fault := training_memory_fault(spec, budget)):
            raise ConfigError([fault])
        self.spec, self.recipe, self.task = spec, spec.recipe, build_task(spec.task)
        if faults := [*spec_faults(spec.config, self.task, spec.teaching)]:
            raise ConfigError(faults)
        self.masters = Masters.of(spec)
        self.model = self.masters.model
        self.masks: dict[str, Tensor] = {}
        if spec.origin is not None:
            self._go_on_with(spec.origin)
        self.guidance = None if spec.teaching is None else Guidance(spec, spec.teaching)
        beside = () if self.guidance is None else (self.guidance,)
        self.optimizers = build_optimizers(self.masters.exact, spec.recipe, *beside)
        self.to_update = Update(spec, self.masters, self.optimizers, self.guidance)
        self.examiner = Examiner(spec, self.task)
        self.snapshots, self.is_scored = snapshots, is_scored
        self.last_good: Checkpoint | None = start
        self.is_stopping = False
        self.step, self._seconds_before = 0, 0.0
        self._began = self._reported = time.perf_counter()
        if start is not None:
            self._restore(start)

    def _go_on_with(self, origin: Teacher) -> None:
        """Its weights in place of drawn ones; what is 0 in its matrices is masked."""
        tensors = origin.opened().tensors
        self._load(tensors)
        zeros = {name: tensors[name] != 0 for name in matrix_paths(self.model) if name in tensors}
        self.mask({name: kept for name, kept in zeros.items() if not kept.all()})

    def mask(self, masks: Mapping[str, Tensor]) -> None:
        """Hold these weights at 0 from now on, by name; True where one is kept."""
        self.masks = {name: kept.to(self.spec.device) for name, kept in masks.items()}
        self._hold_masked()

    @torch.no_grad()
    def _hold_masked(self) -> None:
        for model in {self.masters.exact, self.model}:
            for name, kept in self.masks.items():
                model.get_parameter(name).mul_(kept)

    def _load(self, weights: Weights) -> None:
        for model in (self.masters.exact, self.model):
            load_weights(model, weights)

    def _restore(self, start: Checkpoint) -> None:
        self._load(start.weights)
        load_optimizers(self.masters.exact, self.optimizers, start.optimizer)
        if self.guidance is not None:
            load_weights(self.guidance, start.maps)
            load_optimizers(self.guidance, self.optimizers, start.maps_optimizer)
        self.step, self._seconds_before = start.step, start.seconds

    def stop(self) -> None:
        """Ask for the end after the current step."""
        self.is_stopping = True

    def checkpoint(self) -> Checkpoint:
        """The state of now; copied, so training may go on."""
        return Checkpoint(
            spec=self.spec,
            step=self.step,
            seconds=self.seconds,
            weights=read_weights(self.masters.exact),
            optimizer=read_optimizers(self.masters.exact, self.optimizers),
            **self._checkpoint_of_maps(),
        )

    def _checkpoint_of_maps(self) -> dict[str, dict[str, Tensor]]:
        if self.guidance is None:
            return {}
        remembered = read_optimizers(self.guidance, self.optimizers)
        return {"maps": read_weights(self.guidance), "maps_optimizer": remembered}

    @property
    def seconds(self) -> float:
        """Time spent on this training, in all its parts."""
        return self._seconds_before + time.perf_counter() - self._began

    def events(self) -> Iterator[Event]:
        """Train until the last step, a stop or an error; the last event is `Ended`."""
        return guarded(self._events)

    def _events(self) -> Iterator[Event]:
        """On an accelerator a step is reported while the next one is under way."""
        n_steps, lag = self.recipe.n_steps, 0 if self.spec.device == "cpu" else 1
        self._began = self._reported = time.perf_counter()
        if self.step == 0:
            yield from self._looks()
        under_way: deque[_Update] = deque()
        while self.step < n_steps and not self.is_stopping:
            under_way.append(self._update())
            while len(under_way) > (0 if self._is_look else lag):
                yield from self._reports(under_way.popleft())
            if self._is_look:
                yield from self._looks()
        for update in under_way:
            yield from self._reports(update)
        yield Ended(Reason.FINISHED if self.step == n_steps else Reason.STOPPED)

    def update(self) -> float:
        """Make one update without a look, until it is done on the device; returns its loss."""
        return self._update().reading.read()[0]

    def _update(self) -> _Update:
        self.step += 1
        random = generator(self.spec.seed, "batch", str(self.step))
        batch = self.task.batch(self.recipe.batch_size, random)
        reading = self.to_update(self.step, batch)
        self._hold_masked()
        return _Update(self.step, batch.n_tokens, reading)

    def _reports(self, update: _Update) -> Iterator[Step]:
        loss, gradient_norm = update.reading.read()
        now = time.perf_counter()
        tokens_per_second = update.n_tokens / (now - self._reported)
        self._reported = now
        rate = learning_rate(self.recipe, update.step, self.spec.config.d_model)
        yield Step(update.step, loss, rate, gradient_norm, tokens_per_second, self.seconds)
        self._check(loss, update.step)

    def _check(self, loss: float, step: int) -> None:
        guessing = math.log(self.task.vocab_size)
        if not loss <= ABSURD * guessing:  # NaN is not
            raise divergence(self.recipe, step)

    @property
    def _is_evaluation(self) -> bool:
        is_due = self.step % self.recipe.steps_between_evaluations == 0
        return is_due or self.step == self.recipe.n_steps

    @property
    def _is_snapshot(self) -> bool:
        return self.snapshots is not None and is_snapshot_step(self.step, self.recipe.n_steps)

    @property
    def _is_look(self) -> bool:
        return self._is_evaluation or self._is_snapshot

    def _looks(self) -> Iterator[Event]:
        """Snapshot, evaluation and sample, each where it is due."""
        if self._is_snapshot and self._take_snapshot():
            yield SnapshotTaken(self.step)
        if self._is_evaluation:
            yield from self._evaluations()
        self._reported = time.perf_counter()

    def _take_snapshot(self) -> bool:
        return self.snapshots is not None and self.snapshots.take(self.step, self.model)

    def _evaluations(self) -> Iterator[Event]:
        loss, *ahead = self.examiner.held_out_losses(self.model)
        self._check(loss, self.step)
        self.last_good = self.checkpoint()
        score = self.examiner.score(self.model) if self.is_scored else math.nan
        norms = self.to_update.layer_norms
        yield Evaluation(self.step, loss, score, self.seconds, norms, tuple(ahead))
        sample = self.examiner.sample(self.model, self.step) if self.is_scored else None
        if sample is not None:
            yield sample
