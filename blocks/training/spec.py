"""A training run as plain values: what, on which task, how, from which seed, on which device."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, Fault
from blocks.model.kinds import PositionKind
from blocks.training.bounds import plain_fields
from blocks.training.recipe import Recipe
from blocks.training.tasks import Task, TaskConfig
from blocks.training.teaching import Teacher, Teaching, teaching_faults


@dataclass(frozen=True, kw_only=True)
class TrainingSpec:
    """Equal specs give equal losses on equal devices with equally many threads.

    `origin`: a trained model that it goes on with, in place of weights drawn from the seed; what is
    0 in its matrices stays 0.
    """

    config: ModelConfig
    task: TaskConfig
    recipe: Recipe
    seed: int = 0
    device: str = "cpu"
    teaching: Teaching | None = None
    origin: Teacher | None = None

    def plain(self) -> dict[str, Any]:
        """Numbers and strings only, for a file."""
        taught = {} if self.teaching is None else {"teaching": self.teaching.plain()}
        began = {} if self.origin is None else {"origin": self.origin.plain()}
        return {
            "config": self.config.flat(),
            "task": plain_fields(self.task),
            "recipe": self.recipe.flat(),
            "seed": self.seed,
            "device": self.device,
            **taught,
            **began,
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> "TrainingSpec":
        """What `plain` has written. Raises `ConfigError` where values are not legal."""
        return cls(
            config=ModelConfig.from_flat(values["config"]),
            task=TaskConfig(**values["task"]),
            recipe=Recipe().replace(**values["recipe"]),
            seed=values["seed"],
            device=values["device"],
            teaching=Teaching.from_plain(values["teaching"]) if "teaching" in values else None,
            origin=Teacher.from_plain(values["origin"]) if "origin" in values else None,
        )


def spec_faults(
    config: ModelConfig, task: Task, teaching: Teaching | None = None
) -> Iterator[Fault]:
    """Return the faults of a model that does not fit its task, or its teacher."""
    expected = task.learner
    if config.architecture is not expected:  # an encoder would see the tokens that are asked for
        text = N_(
            "A model of the {architecture} architecture cannot be trained on this task: use {mend}"
        )
        yield _fault(text, config, "architecture", expected)
    if config.vocab_size != task.vocab_size:
        text = N_("vocab_size ({vocab_size}) does not match the task's vocabulary: use {mend}")
        yield _fault(text, config, "vocab_size", task.vocab_size)
    is_learned = config.position.position_kind is PositionKind.LEARNED
    if is_learned and config.max_seq_len < task.seq_len:
        text = N_("max_seq_len ({max_seq_len}) is too small for the task's examples: use {mend}")
        yield _fault(text, config, "max_seq_len", task.seq_len)
    if config.n_mtp_modules >= task.seq_len:
        text = N_("n_mtp_modules ({n_mtp_modules}) is too large for the task's texts: use {mend}")
        yield _fault(text, config, "n_mtp_modules", task.seq_len - 1)
    if teaching is not None:
        yield from teaching_faults(config, task.seq_len, teaching)


def _fault(text: str, config: ModelConfig, name: str, mend: Any) -> Fault:
    return Fault(text, {name: getattr(config, name), "mend": mend}, {name: mend})
