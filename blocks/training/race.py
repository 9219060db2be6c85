"""One stack with its norm in different places, trained on one task: which of them learns?

Everything else is the same: weights by name from one seed, batches, learning rate, warm-up.
Xiong et al. 2020, section 4: post-norm needs a warm-up, pre-norm does not.
"""

from math import log

from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, Initialization, PositionKind
from blocks.model.placements import placed
from blocks.training.recipe import OptimizerKind, Recipe, ScheduleKind
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind, build_task

N_UPDATES, N_LETTERS = 100, 8
GUESS = log(26)
"""The loss of a model that says every letter is as likely as any other, in nats."""
TASK = TaskConfig(kind=TaskKind.SORT, seq_len=2 * N_LETTERS, architecture=Architecture.GPT)
RECIPE = Recipe(
    n_steps=N_UPDATES,
    batch_size=32,
    optimizer=OptimizerKind.ADAMW,
    beta2=0.98,
    weight_decay=0.0,
    schedule=ScheduleKind.CONSTANT,
    clip_norm=0.0,
    n_eval_batches=1,
    eval_every=N_UPDATES,
)
SIZES = {
    "architecture": Architecture.GPT,
    "d_model": 64,
    "n_heads": 4,
    "n_kv_heads": None,
    "d_ff": None,
    "n_experts": 1,
    "dropout": 0.0,
    "position_kind": PositionKind.LEARNED,
    "max_seq_len": TASK.seq_len,
    "initialization": Initialization.XAVIER_UNIFORM,
}


def race_spec(
    config: ModelConfig,
    placement: str,
    *,
    n_layers: int,
    learning_rate: float,
    warmup_steps: int,
    seed: int,
    device: str = "cpu",
) -> TrainingSpec:
    """A narrow stack of this configuration's layers, and how it is trained to sort letters."""
    vocab_size = build_task(TASK).vocab_size
    narrow = config.replace(**SIZES, vocab_size=vocab_size, n_layers=n_layers)
    recipe = RECIPE.replace(learning_rate=learning_rate, warmup_steps=warmup_steps)
    return TrainingSpec(
        config=placed(narrow, placement), task=TASK, recipe=recipe, seed=seed, device=device
    )
