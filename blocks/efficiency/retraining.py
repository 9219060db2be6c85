"""Training on after pruning: whether a model learns to do without what is gone.

Weights are masked; heads, units and layers are taken out, so that their matrices are smaller.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from blocks.efficiency.compression import Calibrated, matrix_names
from blocks.efficiency.distillation import N_HELD_OUT, calibrated_teacher
from blocks.efficiency.pruning import Criterion, MaskPattern, Scope, masks
from blocks.efficiency.removal import Removed, left_of, n_parts, shares_of
from blocks.model.randomness import generator
from blocks.training.loop import Training
from blocks.training.spec import TrainingSpec
from blocks.training.teaching import Teacher

N_UPDATES, EVERY = 100, 10
RATE = 0.3
"""Of the peak learning rate: the model has learned already."""


class Repair(StrEnum):
    """When it goes, and whether training goes on after it, or goes on meanwhile."""

    NONE = "none"
    AFTER = "after"
    GRADUAL = "gradual"


@dataclass(frozen=True)
class Repaired:
    """What a model still can do with a share of it removed; loss held out, in nats.

    A share of 0 is the control: the whole model, trained on for as long.
    """

    repair: Repair
    share: float
    score: float
    loss: float


def going_on(model: Calibrated, origin: Teacher, n_updates: int) -> TrainingSpec:
    """The model's own task and recipe, with a smaller rate, from the weights of `origin` on."""
    recipe = model.spec.recipe
    shorter = recipe.replace(
        n_steps=n_updates,
        warmup_steps=min(recipe.warmup_steps, n_updates // 10),
        learning_rate=RATE * recipe.learning_rate,
        muon_learning_rate=RATE * recipe.muon_learning_rate,
        n_eval_batches=1,
    )
    task, seed = model.spec.task, model.spec.seed
    return TrainingSpec(config=origin.config, task=task, recipe=shorter, seed=seed, origin=origin)


def removed_share(share: float, update: int, n_updates: int) -> float:
    """The share that is removed before an update, from 0 on; all of it after the first half.

    s_t = s · (1 − (1 − t/T)³): much goes early, while there is much to spare (Zhu and Gupta 2017,
    equation 1).
    """
    progress = min(1.0, (update + EVERY) / (n_updates / 2))
    return share * (1 - (1 - progress) ** 3)


def mask_smallest(training: Training, share: float) -> None:
    """Mask this share of each matrix, the smallest weights first (magnitude); masked ones stay."""
    weights = {name: each.detach().cpu() for name, each in training.model.named_parameters()}
    names = matrix_names(training.spec.config, weights)
    training.mask(
        masks(
            {name: weights[name] for name in names},
            share,
            criterion=Criterion.MAGNITUDE,
            pattern=MaskPattern.ANY,
            scope=Scope.LAYER,
            inputs={},
            random=generator(training.spec.seed, "mask"),
        )
    )


def take_out(training: Training, model: Calibrated, removed: Removed, share: float) -> Training:
    """The training of the smaller model at the same update, without this share of `model`'s parts.

    What the optimizers remember of the numbers that are left goes with them, as do masks. Raises
    `ConfigError` where the model cannot do without any.
    """
    config, whole = training.spec.config, n_parts(model.file.config, removed)
    n_removed = n_parts(config, removed) - (whole - round(share * whole))
    if not n_removed:
        return training
    found = training.checkpoint()
    left = left_of(model, config, found.weights, removed, n_removed)
    smaller = replace(training.spec, config=left.config, origin=None)
    endings = {f".{name.rpartition('.')[2]}" for name in found.optimizer}
    remembered = {k: v for each in endings for k, v in left.of(found.optimizer, each).items()}
    weights = left.of(found.weights)
    start = replace(found, spec=smaller, weights=weights, optimizer=remembered)
    new = Training(smaller, start=start)
    new.mask(left.of(training.masks))
    return new


@dataclass(frozen=True, kw_only=True)
class Retraining:
    """The control, and each share in each way, as a series. `budget`: memory allowed, in bytes.

    `shares`: those of `shares_of` where there are none.
    """

    origin: Teacher
    removed: Removed = Removed.WEIGHTS
    shares: tuple[float, ...] = ()
    n_updates: int = N_UPDATES
    budget: int | None = None
    device: str = "cpu"
    is_timed: bool = False

    @property
    def cases(self) -> tuple[tuple[Repair, float], ...]:
        """All that is measured, in order."""
        shares = self.shares or shares_of(self.origin.config, self.removed)
        each = ((repair, share) for share in shares for repair in Repair)
        return ((Repair.NONE, 0.0), (Repair.AFTER, 0.0), *each)

    @property
    def n_steps(self) -> int:
        """How many there are."""
        return len(self.cases)

    @property
    def n_updates_of_all(self) -> int:
        """Updates of all that are trained on."""
        n_trained = sum(repair is not Repair.NONE for repair, _share in self.cases)
        return n_trained * self.n_updates

    def results(self, done: Sequence[Any]) -> Iterator[Repaired]:
        """Those after the ones that are done. Raises `ConfigError` beyond the budget."""
        yield from map(self._measured, self.cases[len(done) :])

    def _measured(self, case: tuple[Repair, float]) -> Repaired:
        repair, share = case
        model = calibrated_teacher(self.origin)
        training = Training(going_on(model, self.origin, self.n_updates), budget=self.budget)
        if repair is not Repair.GRADUAL:
            training = self._without(training, model, share)
        for update in range(self.n_updates if repair is not Repair.NONE else 0):
            if repair is Repair.GRADUAL and update % EVERY == 0:
                now = removed_share(share, update, self.n_updates)
                training = self._without(training, model, now)
            training.update()
        asked = model.examiner
        loss, score = asked.held_out_loss(training.model, N_HELD_OUT), asked.score(training.model)
        return Repaired(repair, share, score, loss)

    def _without(self, training: Training, model: Calibrated, share: float) -> Training:
        if self.removed is not Removed.WEIGHTS:
            return take_out(training, model, self.removed, share)
        mask_smallest(training, share)
        return training
