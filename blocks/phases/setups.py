"""The models whose learning has a jump, small enough to be trained while one waits."""

from dataclasses import dataclass

from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, Initialization, NormKind, PositionKind
from blocks.training.algorithms import MODULUS
from blocks.training.induction import TOKENS
from blocks.training.recipe import Recipe, ScheduleKind
from blocks.training.tasks import TaskConfig, TaskKind


@dataclass(frozen=True)
class Setup:
    """A model, its task and recipe, and how many updates lie between two looks.

    `small_start`: the embedding of tokens begins at so much of its usual size, which shortens the
    time before the jump, and lets a head see positions beside tokens.
    All weights decay, embeddings too (Nanda et al. 2023).
    """

    config: ModelConfig
    task: TaskConfig
    recipe: Recipe
    every: int
    small_start: float = 1.0

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps that are looked at."""
        return (*range(0, self.recipe.n_steps + 1, self.every),)


STEADY = Recipe(
    schedule=ScheduleKind.CONSTANT, warmup_steps=0, clip_norm=0.0, beta2=0.98, n_eval_batches=1
)


def _config(**changes: object) -> ModelConfig:
    return ModelConfig(
        architecture=Architecture.GPT,
        d_model=64,
        n_heads=4,
        tie_embeddings=False,
        dropout=0.0,  # with it a sum is hardly learned by heart
        initialization=Initialization.PYTORCH,
        **changes,
    )


def _without_norm(vocab_size: int, seq_len: int, n_layers: int, d_ff: int = 128) -> ModelConfig:
    return _config(
        n_layers=n_layers,
        d_ff=d_ff,
        norm_kind=NormKind.NONE,
        activation="relu",
        position_kind=PositionKind.LEARNED,
        vocab_size=vocab_size,
        max_seq_len=seq_len,
    )


def _modular(kind: TaskKind) -> Setup:
    """One layer without norms, which sees 75 % of all pairs and learns them by heart first.

    Power et al. 2022 (arXiv:2201.02177); the model is that of Nanda et al. 2023 (arXiv:2301.05217).
    With fewer pairs it takes longer than one waits, with more it never needs to know them by heart.
    """
    recipe = STEADY.replace(n_steps=2000, batch_size=512, learning_rate=3e-3, weight_decay=1.0)
    task = TaskConfig(kind=kind, seq_len=3)
    return Setup(_without_norm(MODULUS + 1, 3, 1, d_ff=256), task, recipe, every=80)


SETUPS = {
    TaskKind.MODULAR_ADDITION: _modular(TaskKind.MODULAR_ADDITION),
    TaskKind.MODULAR_SUBTRACTION: _modular(TaskKind.MODULAR_SUBTRACTION),
    TaskKind.PARITY: Setup(
        _without_norm(3, 16, 2),
        TaskConfig(kind=TaskKind.PARITY, seq_len=16),
        STEADY.replace(n_steps=600, batch_size=64, learning_rate=3e-3, weight_decay=0.1),
        every=15,
        small_start=0.3,
    ),
    TaskKind.BRACKETS: Setup(
        _without_norm(5, 16, 2),
        TaskConfig(kind=TaskKind.BRACKETS, seq_len=16),
        STEADY.replace(n_steps=600, batch_size=64, learning_rate=3e-3, weight_decay=0.1),
        every=15,
        small_start=0.3,
    ),
    TaskKind.INDUCTION: Setup(
        _config(
            n_layers=2,
            attention_only=True,
            position_kind=PositionKind.ROPE,
            vocab_size=TOKENS.vocab_size,
            max_seq_len=64,
        ),
        TaskConfig(kind=TaskKind.INDUCTION, seq_len=64),
        STEADY.replace(
            n_steps=300, batch_size=32, learning_rate=5e-3, weight_decay=0.0, beta2=0.99
        ),
        every=10,
        small_start=0.1,
    ),
}
MODULAR = (TaskKind.MODULAR_ADDITION, TaskKind.MODULAR_SUBTRACTION)
