"""Who teaches a student and how, as plain values: the part of a training that has a teacher."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, get_type_hints

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import PositionKind
from blocks.model.models import Model
from blocks.training.bounds import Bounds, bound_faults, coerce_fields, plain_fields
from blocks.weights.model_file import ModelFile, read_model_file
from blocks.weights.pocket import pocket, pocket_names

BOUNDS: Bounds = {
    "temperature": (0.25, 64.0),
    "teacher_share": (0.0, 1.0),
    "hidden_weight": (0.0, 1000.0),
    "attention_weight": (0.0, 1000.0),
}


class AttentionTarget(StrEnum):
    """What of the teacher's attention a student is to have: each head, or the last layer's sum."""

    PATTERNS = "patterns"
    RELATIONS = "relations"


@dataclass(frozen=True, kw_only=True)
class Distillation:
    """How a student is taught: the loss is, with both distributions at temperature T,

        (1 − teacher_share) · cross entropy + teacher_share · T² · KL(teacher ‖ student)
        + hidden_weight · hidden_loss + attention_weight · attention_loss

    Hinton et al. 2015, section 2; `blocks.training.distillation` has the other two.
    """

    temperature: float = 2.0
    teacher_share: float = 0.5
    hidden_weight: float = 0.0
    attention_weight: float = 0.0
    attention_target: AttentionTarget = AttentionTarget.PATTERNS

    def __post_init__(self) -> None:
        """Raises `ConfigError` with what cannot be and its mend."""
        coerce_fields(self, get_type_hints(Distillation))
        names = [field.name for field in fields(self)]
        values = {name: getattr(self, name) for name in names}
        usual = {name: getattr(Distillation, name) for name in names}
        if faults := [*bound_faults(values, usual, BOUNDS)]:
            raise ConfigError(faults)

    @property
    def compares_heads(self) -> bool:
        """Whether each head of the student is to read as a head of the teacher does."""
        return self.attention_weight > 0 and self.attention_target is AttentionTarget.PATTERNS

    @property
    def compares_relations(self) -> bool:
        """Whether the last layers are compared, however many heads they have."""
        return self.attention_weight > 0 and self.attention_target is AttentionTarget.RELATIONS


@dataclass(frozen=True, kw_only=True)
class Teacher:
    """A trained model by name: one that ships with us, or one whose weights lie in `file`.

    It teaches, or another training goes on with it.
    """

    name: str
    config: ModelConfig
    file: Path | None = None

    def plain(self) -> dict[str, Any]:
        """Numbers and strings only, for a file; where its weights lie is not told."""
        return {"teacher": self.name, "config": self.config.flat()}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> "Teacher":
        """What `plain` has written. Raises `ConfigError` where values are not legal."""
        return cls(name=values["teacher"], config=ModelConfig.from_flat(values["config"]))

    def opened(self) -> ModelFile:
        """Open its weights. Raises `ConfigError` where they are not here."""
        return _opened(self.name, self.file)

    def model(self, device: str) -> Model:
        """Itself on a device, in float32; shared by all that it teaches, so it is only read."""
        return _model(self.name, self.file, device)


@dataclass(frozen=True, kw_only=True)
class Teaching:
    """A teacher and how it teaches."""

    teacher: Teacher
    how: Distillation

    def plain(self) -> dict[str, Any]:
        """Numbers and strings only, for a file."""
        return {**self.teacher.plain(), **plain_fields(self.how)}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> "Teaching":
        """What `plain` has written. Raises `ConfigError` where values are not legal."""
        how = {name: each for name, each in values.items() if name not in ("teacher", "config")}
        return cls(teacher=Teacher.from_plain(values), how=Distillation(**how))


def shipped_teacher(name: str) -> Teacher:
    """A model that ships with us. KeyError where there is none of that name."""
    return Teacher(name=name, config=pocket(name).config)


def teaching_faults(student: ModelConfig, seq_len: int, teaching: Teaching) -> Iterator[Fault]:
    """Where a student cannot learn rows of `seq_len` tokens from a teacher, or not in this way."""
    teacher, how = teaching.teacher.config, teaching.how
    if teacher.architecture is not student.architecture:
        text = N_(
            "The teacher has a different architecture ({teacher}): choose one whose "
            "architecture is {student}"
        )
        kinds = {"teacher": str(teacher.architecture), "student": str(student.architecture)}
        yield Fault(text, kinds)
    if teacher.vocab_size != student.vocab_size:
        text = N_(
            "The teacher's vocabulary has {teacher} tokens, and the student's has {student}: "
            "choose a teacher with the same vocabulary"
        )
        yield Fault(text, {"teacher": teacher.vocab_size, "student": student.vocab_size})
    is_learned = teacher.position.position_kind is PositionKind.LEARNED
    if is_learned and teacher.max_seq_len < seq_len:
        text = N_(
            "The teacher reads at most {n} tokens, but an example has {seq_len}: use "
            "examples of {n} tokens"
        )
        yield Fault(text, {"n": teacher.max_seq_len, "seq_len": seq_len})
    if how.compares_heads and teacher.n_heads != student.n_heads:
        yield _heads_fault(student, teacher)


def _heads_fault(student: ModelConfig, teacher: ModelConfig) -> Fault:
    text = N_(
        "The student and the teacher have different numbers of heads per layer ({n} and "
        "{of}), so the heads cannot be compared one by one. Compare relations in the last "
        "layer, or choose a student with as many heads as the teacher"
    )
    mend = {"attention_target": AttentionTarget.RELATIONS}
    return Fault(text, {"n": student.n_heads, "of": teacher.n_heads}, mend)


@lru_cache(maxsize=4)
def _opened(name: str, file: Path | None) -> ModelFile:
    if file is None and name in pocket_names():
        return pocket(name)
    try:
        raw = None if file is None else file.read_bytes()
    except OSError:
        raw = None
    if raw is None:
        text = N_(
            "The weights of the trained model {name} are not available here: load the model "
            "again, then start again"
        )
        raise ConfigError([Fault(text, {"name": name})])
    return read_model_file(raw)


@lru_cache(maxsize=2)
def _model(name: str, file: Path | None, device: str) -> Model:
    return _opened(name, file).build(device)
