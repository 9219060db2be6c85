"""The tasks one can choose from, and the one way to build them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, get_type_hints

from blocks.corpora.stories import Language
from blocks.corpora.texts import python_documentation
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture
from blocks.model.legal import is_of, type_fault
from blocks.training.algorithms import MODULAR_LENGTH, algorithm_task
from blocks.training.bounds import bound_faults, coerce_fields
from blocks.training.induction import InductionTask
from blocks.training.markov import MarkovTask
from blocks.training.masked_words import MaskedWordsTask
from blocks.training.next_token import StoryTask, TextTask
from blocks.training.questions import addition_task, letters_task
from blocks.training.task import IGNORED, Batch, LogitsOf, Task
from blocks.training.translating import LONGEST_ROW, SHORTEST_ROW, translation_task

__all__ = [
    "IGNORED",
    "LEARNERS",
    "Batch",
    "Language",
    "LogitsOf",
    "Task",
    "TaskConfig",
    "TaskKind",
    "TokenKind",
    "build_task",
]


class TaskKind(StrEnum):
    """The kind of task that is learned."""

    TEXT = "text"
    STORIES = "stories"
    MARKOV = "markov"
    INDUCTION = "induction"
    COPY = "copy"
    REVERSE = "reverse"
    SORT = "sort"
    ADDITION = "addition"
    MASKED_WORDS = "masked_words"
    TRANSLATION = "translation"
    MODULAR_ADDITION = "modular_addition"
    MODULAR_SUBTRACTION = "modular_subtraction"
    PARITY = "parity"
    BRACKETS = "brackets"

    @property
    def architectures(self) -> tuple[Architecture, ...]:
        """What can learn it, the usual choice first."""
        return ARCHITECTURES[self]

    @property
    def seq_len_bounds(self) -> tuple[int, int]:
        """The least and the largest number of tokens in a row."""
        return SEQ_LEN_BOUNDS[self]

    @property
    def usual_seq_len(self) -> int:
        """A number of tokens in a row that is learned in a minute."""
        return USUAL_LENGTHS.get(self, 64)


class TokenKind(StrEnum):
    """What a text is cut into."""

    CHARACTERS = "characters"
    BYTE_PAIRS = "byte_pairs"


LEARNED_PERCENT, PERCENTS = 75, (5, 95)
LEARNERS = _GPT, _ENCODER, _BOTH = (
    Architecture.GPT,
    Architecture.ENCODER,
    Architecture.ENCODER_DECODER,
)
ARCHITECTURES = {
    TaskKind.TEXT: (_GPT,),
    TaskKind.STORIES: (_GPT,),
    TaskKind.MARKOV: (_GPT,),
    TaskKind.INDUCTION: (_GPT,),
    TaskKind.COPY: LEARNERS,
    TaskKind.REVERSE: LEARNERS,
    TaskKind.SORT: LEARNERS,
    TaskKind.ADDITION: (_GPT, _BOTH),
    TaskKind.MASKED_WORDS: (_ENCODER,),
    TaskKind.TRANSLATION: (_BOTH,),
    TaskKind.MODULAR_ADDITION: (_GPT,),
    TaskKind.MODULAR_SUBTRACTION: (_GPT,),
    TaskKind.PARITY: (_GPT,),
    TaskKind.BRACKETS: (_GPT,),
}
MODULAR = (TaskKind.MODULAR_ADDITION, TaskKind.MODULAR_SUBTRACTION)
NEXT_TOKEN = (TaskKind.TEXT, TaskKind.STORIES)
SEQ_LEN_BOUNDS = {
    TaskKind.TEXT: (8, 4096),
    TaskKind.STORIES: (8, 4096),
    TaskKind.MARKOV: (2, 4096),
    TaskKind.INDUCTION: (16, 128),  # all tokens of a run differ, and there are 64
    TaskKind.COPY: (4, 1024),
    TaskKind.REVERSE: (4, 1024),
    TaskKind.SORT: (4, 1024),
    TaskKind.ADDITION: (8, 56),  # 2 to 18 digits: a sum must fit into 64 bits
    TaskKind.MASKED_WORDS: (8, 4096),
    TaskKind.TRANSLATION: (SHORTEST_ROW, LONGEST_ROW),
    **dict.fromkeys(MODULAR, (MODULAR_LENGTH, MODULAR_LENGTH)),
    TaskKind.PARITY: (4, 128),
    TaskKind.BRACKETS: (4, 64),
}
USUAL_LENGTHS = {
    TaskKind.MARKOV: 16,
    TaskKind.COPY: 16,
    TaskKind.REVERSE: 16,
    TaskKind.SORT: 16,
    TaskKind.ADDITION: 11,
    TaskKind.TRANSLATION: LONGEST_ROW,
    **dict.fromkeys(MODULAR, MODULAR_LENGTH),
    TaskKind.PARITY: 16,
    TaskKind.BRACKETS: 16,
}


@dataclass(frozen=True, kw_only=True)
class TaskConfig:
    """A task as plain values, strings for enums too. `architecture` None is the kind's usual one.

    `text` and `token_kind` belong to the kind "text" (None: the documentation of Python),
    `language` to those made of stories. `sees_ahead` takes the causal mask off where each token is
    asked for the next one, which then stands there to be copied. `learned_percent`: of all pairs of
    a modular sum those that are learned from.

    Raises `ConfigError` with every fault and its mend.
    """

    kind: TaskKind
    seq_len: int = 64
    architecture: Architecture | None = None
    text: str | None = None
    token_kind: TokenKind = TokenKind.CHARACTERS
    language: Language = Language.ENGLISH
    sees_ahead: bool = False
    learned_percent: int = LEARNED_PERCENT

    def __post_init__(self) -> None:
        coerce_fields(self, FIELDS)
        if faults := [*_type_faults(self)] or [*_faults(self)]:
            raise ConfigError(faults)
        if self.kind not in MODULAR:  # where it says nothing, two tasks do not differ by it
            object.__setattr__(self, "learned_percent", LEARNED_PERCENT)

    @property
    def learner(self) -> Architecture:
        """What learns it: the architecture, or the kind's usual one."""
        return self.architecture or self.kind.architectures[0]


FIELDS: dict[str, Any] = get_type_hints(TaskConfig)
USUAL: dict[str, Any] = {
    "kind": TaskKind.TEXT,
    "seq_len": 64,
    "architecture": Architecture.GPT,
    "text": None,
    "token_kind": TokenKind.CHARACTERS,
    "language": Language.ENGLISH,
    "sees_ahead": False,
    "learned_percent": LEARNED_PERCENT,
}


def build_task(config: TaskConfig) -> Task:
    """The task of a configuration; its texts are encoded here, once."""
    match config.kind:
        case TaskKind.TEXT:
            text = python_documentation() if config.text is None else config.text
            in_characters = config.token_kind is TokenKind.CHARACTERS
            read = TextTask.of(text, config.seq_len, in_characters=in_characters)
            return replace(read, sees_ahead=config.sees_ahead)
        case TaskKind.STORIES:
            told = StoryTask.of(config.language, config.seq_len)
            return replace(told, sees_ahead=config.sees_ahead)
        case TaskKind.MASKED_WORDS:
            return MaskedWordsTask.of(config.language, config.seq_len)
        case TaskKind.MARKOV:
            return MarkovTask(config.seq_len)
        case TaskKind.INDUCTION:
            return InductionTask(config.seq_len)
        case TaskKind.ADDITION:
            return addition_task(config.seq_len, config.learner)
        case TaskKind.COPY | TaskKind.REVERSE | TaskKind.SORT:
            return letters_task(config.kind.value, config.seq_len, config.learner)
        case TaskKind.TRANSLATION:
            return translation_task(config.seq_len)
        case kind:
            return algorithm_task(kind.value, config.seq_len, config.learned_percent)


def _type_faults(config: TaskConfig) -> Iterator[Fault]:
    for name, kind in FIELDS.items():
        if not is_of(kind, getattr(config, name)):
            yield type_fault(name, getattr(config, name), USUAL[name])


def _faults(config: TaskConfig) -> Iterator[Fault]:
    least, most = config.kind.seq_len_bounds
    if not least <= config.seq_len <= most:
        mend = min(max(config.seq_len, least), most)
        text = N_("{name} ({value}) must be from {least} to {most}: use {mend}")
        bounds = {"least": least, "most": most, "mend": mend}
        yield Fault(text, {"name": "seq_len", "value": config.seq_len, **bounds}, {"seq_len": mend})
    percent = {"learned_percent": config.learned_percent}
    yield from bound_faults(percent, USUAL, {"learned_percent": PERCENTS})
    usual, *_ = choices = config.kind.architectures
    if config.architecture not in (None, *choices):
        text = N_(
            "A model of the {value} architecture cannot be trained on the task “{kind}”: use {mend}"
        )
        said = {"value": str(config.architecture), "kind": str(config.kind), "mend": str(usual)}
        yield Fault(text, said, {"architecture": usual})
    if config.sees_ahead and config.kind not in NEXT_TOKEN:
        text = N_("sees_ahead is only for next-token tasks, not for the task “{kind}”: use {mend}")
        yield Fault(text, {"kind": str(config.kind), "mend": False}, {"sees_ahead": False})
