"""Training on with a mask: whether a model that was pruned learns to do without what is gone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from blocks.efficiency.compression import Calibrated, matrix_names
from blocks.efficiency.distillation import N_HELD_OUT, calibrated_teacher
from blocks.efficiency.pruning import Criterion, MaskPattern, Scope, masks
from blocks.model.randomness import generator
from blocks.training.loop import Training
from blocks.training.spec import TrainingSpec
from blocks.training.teaching import Teacher

SHARES = (0.5, 0.7, 0.8, 0.9)
N_UPDATES, EVERY = 100, 10
RATE = 0.3
"""Of the peak learning rate: the model has learned already."""


class Repair(StrEnum):
    """When weights go, and whether training goes on after it, or goes on while they go."""

    NONE = "none"
    AFTER = "after"
    GRADUAL = "gradual"


@dataclass(frozen=True)
class Repaired:
    """What a model still can do with a share of its weights masked; loss held out, in nats.

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


def masked_share(share: float, update: int, n_updates: int) -> float:
    """The share that is masked before an update, from 0 on; all of it after the first half.

    s_t = s · (1 − (1 − t/T)³): many weights go early, while there are many to spare (Zhu and Gupta
    2017, equation 1).
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


@dataclass(frozen=True, kw_only=True)
class Retraining:
    """The control, and each share in each way, as a series. `budget`: memory allowed, in bytes."""

    origin: Teacher
    shares: tuple[float, ...] = SHARES
    n_updates: int = N_UPDATES
    budget: int | None = None
    device: str = "cpu"
    is_timed: bool = False

    @property
    def cases(self) -> tuple[tuple[Repair, float], ...]:
        """All that is measured, in order."""
        each = ((repair, share) for share in self.shares for repair in Repair)
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
            mask_smallest(training, share)
        for update in range(self.n_updates if repair is not Repair.NONE else 0):
            if repair is Repair.GRADUAL and update % EVERY == 0:
                mask_smallest(training, masked_share(share, update, self.n_updates))
            training.update()
        asked = model.examiner
        loss, score = asked.held_out_loss(training.model, N_HELD_OUT), asked.score(training.model)
        return Repaired(repair, share, score, loss)
