"""How a model is trained: frozen, checked at birth, and the recipes people know as a table."""

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from blocks.model import legal
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.options import LARGEST_SIZE
from blocks.training.bounds import bound_faults, coerce_fields


class OptimizerKind(StrEnum):
    """What turns gradients into steps: see `blocks.training.optimizers`."""

    SGD = "sgd"
    ADAMW = "adamw"
    MUON = "muon"


class ScheduleKind(StrEnum):
    """How the learning rate changes as training goes on: see `blocks.training.schedule`."""

    CONSTANT = "constant"
    COSINE = "cosine"
    TRAPEZOID = "trapezoid"
    PAPER = "paper"


class WeightDtype(StrEnum):
    """Number format of products and gradients; what steps move is float32 (`masters`)."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that decides how weights change, whatever the model and the task.

    `learning_rate` is the peak (with the paper's schedule a factor); Muon steps the matrices of
    the layers with `muon_learning_rate` and `momentum`, and leaves the rest to AdamW.
    `final_share` is the rate at the end over the peak, `decay_share` the part of the steps in
    which a trapezoid falls. A `clip_norm` of 0 clips nothing; an `eval_every` of 0 is automatic.
    `mtp_weight`: λ of the loss of modules that predict further ahead, where the model has any
    (DeepSeek-V3, section 4.2: 0.3, late in the training 0.1). `base_width`: with AdamW every matrix
    learns at the rate that would be best for a model so wide, base_width / d_model times the
    others' (maximal update parametrization, Yang et al. 2022, table 3); 0: all at one rate.
    Plain strings stand for enums. Raises `ConfigError`, which lists every fault with its mend.
    """

    n_steps: int = 2000
    batch_size: int = 12
    optimizer: OptimizerKind = OptimizerKind.ADAMW
    learning_rate: float = 1e-3
    muon_learning_rate: float = 0.03
    beta1: float = 0.9
    beta2: float = 0.99
    momentum: float = 0.9
    weight_decay: float = 0.1
    schedule: ScheduleKind = ScheduleKind.COSINE
    warmup_steps: int = 100
    final_share: float = 0.1
    decay_share: float = 0.5
    label_smoothing: float = 0.0
    clip_norm: float = 1.0
    mtp_weight: float = 0.3
    base_width: int = 0
    dtype: WeightDtype = WeightDtype.FLOAT32
    n_eval_batches: int = 20
    eval_every: int = 0

    def __post_init__(self) -> None:
        coerce_fields(self, {name: type(default) for name, default in DEFAULTS.items()})
        faults = [*bound_faults(dataclasses.asdict(self), DEFAULTS, BOUNDS)]
        if faults := faults or [*_pair_faults(self)]:
            raise ConfigError(faults)

    @property
    def updates_of_an_evaluation(self) -> float:
        """The time of an evaluation in that of updates: n batches, and it only goes forward."""
        return self.n_eval_batches / 3

    @property
    def steps_between_evaluations(self) -> int:
        """`eval_every`, or five to twenty even parts: of more than five, looks take a tenth."""
        least = max(self.n_steps // 20, 10 * self.n_eval_batches // 3)
        n_parts = max(self.n_steps // least, min(FEWEST_PARTS, self.n_steps))
        return self.eval_every or math.ceil(self.n_steps / n_parts)

    def flat(self) -> dict[str, Any]:
        """Every field by its name; enums as plain strings."""
        return {
            name: str(value) if isinstance(value, StrEnum) else value
            for name, value in dataclasses.asdict(self).items()
        }

    @property
    def last_rate(self) -> float:
        """The learning rate at the end of a schedule that decays."""
        return self.learning_rate * self.final_share

    def replace(self, **changes: Any) -> "Recipe":
        """A copy with other values; plain strings stand for enums."""
        if unknown := changes.keys() - DEFAULTS.keys():
            raise ConfigError([legal.unknown_field(name, DEFAULTS) for name in sorted(unknown)])
        return dataclasses.replace(self, **changes)

    def nearest(self, **changes: Any) -> tuple["Recipe", tuple[Fault, ...]]:
        """`replace`, mending what cannot be; returns the faults that were mended."""
        try:
            return self.replace(**changes), ()
        except ConfigError as error:
            if any(not fault.mend for fault in error.faults):
                raise
            mends = {name: value for fault in error.faults for name, value in fault.mend.items()}
            recipe, more = self.nearest(**changes | mends)
            return recipe, (*error.faults, *more)


DEFAULTS: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(Recipe)}

MOST_STEPS, LARGEST_RATE, BELOW_ONE = LARGEST_SIZE, 1e9, 0.999999
FEWEST_PARTS = 5  # between evaluations, for a curve
# fmt: off
BOUNDS: dict[str, tuple[float, float]] = {
    "n_steps":            (1, MOST_STEPS),
    "batch_size":         (1, 4096),
    "learning_rate":      (0, LARGEST_RATE),
    "muon_learning_rate": (0, LARGEST_RATE),
    "beta1":              (0, BELOW_ONE),
    "beta2":              (0, BELOW_ONE),
    "momentum":           (0, BELOW_ONE),
    "weight_decay":       (0, 10),
    "warmup_steps":       (0, MOST_STEPS),
    "final_share":        (0, 1),
    "decay_share":        (0, 1),
    "label_smoothing":    (0, BELOW_ONE),
    "clip_norm":          (0, LARGEST_RATE),
    "mtp_weight":         (0, 10),
    "base_width":         (0, LARGEST_SIZE),
    "n_eval_batches":     (1, 1000),
    "eval_every":         (0, MOST_STEPS),
}
# fmt: on


def _pair_faults(recipe: Recipe) -> Iterator[Fault]:
    """The paper's schedule has no end, so there a warm-up may be longer than the run."""
    never_warm = recipe.warmup_steps > recipe.n_steps
    if never_warm and recipe.schedule is not ScheduleKind.PAPER:
        mend = recipe.n_steps // 10
        text = N_("warmup_steps ({value}) exceeds n_steps ({n_steps}): use {mend}")
        values = {"value": recipe.warmup_steps, "n_steps": recipe.n_steps, "mend": mend}
        yield Fault(text, values, {"warmup_steps": mend})
    if recipe.base_width and recipe.optimizer is OptimizerKind.SGD:
        text = N_(
            "base_width ({value}) is for AdamW and Muon, not for plain gradient descent: use {mend}"
        )
        yield Fault(text, {"value": recipe.base_width, "mend": 0}, {"base_width": 0})


class NamedRecipe(NamedTuple):
    """A recipe people know, and where its numbers stand.

    `in_fast_format`: its number format is the one that the device is fast in, where nobody asks
    for another.
    """

    title: str
    recipe: Recipe
    source: str
    in_fast_format: bool = False


RECIPE_TABLE: dict[str, NamedRecipe] = {
    "baseline": NamedRecipe(
        N_("The usual recipe for small GPTs"),
        Recipe(),
        "nanoGPT (Karpathy 2022), config/train_shakespeare_char.py, its values for a CPU",
    ),
    "fast": NamedRecipe(
        N_("Fast: Muon for the matrices"),
        Recipe(
            n_steps=230,
            optimizer=OptimizerKind.MUON,
            learning_rate=7e-3,
            beta2=0.95,
            momentum=0.85,
            weight_decay=0.0,
            schedule=ScheduleKind.TRAPEZOID,
            warmup_steps=10,
            final_share=0.0,
            clip_norm=0.0,
        ),
        "Jordan et al. 2024, modded-nanogpt; Muon: kellerjordan.github.io/posts/muon",
        in_fast_format=True,
    ),
    "paper": NamedRecipe(
        N_("The recipe of the original Transformer"),
        Recipe(
            learning_rate=1.0,
            beta2=0.98,
            weight_decay=0.0,
            schedule=ScheduleKind.PAPER,
            warmup_steps=4000,
            label_smoothing=0.1,
            clip_norm=0.0,
        ),
        "Vaswani et al. 2017, sections 5.3 and 5.4",
    ),
    "plain": NamedRecipe(
        N_("Plain gradient descent"),
        Recipe(
            optimizer=OptimizerKind.SGD,
            learning_rate=0.1,
            weight_decay=0.0,
            schedule=ScheduleKind.CONSTANT,
            warmup_steps=0,
            clip_norm=1.0,
        ),
        "Robbins and Monro 1951; momentum: Polyak 1964",
    ),
}

RECIPES: dict[str, Recipe] = {name: named.recipe for name, named in RECIPE_TABLE.items()}
