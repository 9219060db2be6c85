"""Question by question: what a smaller model answers otherwise than the one it was made of.

A score can stay where it was though some answers are lost, since others are gained.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from blocks.efficiency.compression import Calibrated
from blocks.model.kinds import Architecture
from blocks.model.models import Model
from blocks.model.source_target import SourceTarget
from blocks.training.pairs import PairTask
from blocks.training.questions import QuestionTask
from blocks.training.task import IGNORED, N_WHOLE, Batch, likeliest, right_as_a_whole
from blocks.weights.model_file import ModelFile

MOST_SHOWN = 12


@dataclass(frozen=True)
class Lost:
    """A question, its right answer, which the whole model gives, and that of the smaller one.

    Each token of `said` is the likeliest after the right ones before it.
    """

    asked: str
    right: str
    said: str


@dataclass(frozen=True)
class AnswerFacts:
    """The held-out questions of the score; `lost` are the first of `n_lost`."""

    n: int
    n_right_before: int
    n_right: int
    n_lost: int
    lost: tuple[Lost, ...]

    @property
    def n_gained(self) -> int:
        """The number of questions that only the smaller model answers exactly."""
        return self.n_right - self.n_right_before + self.n_lost


def is_asked_whole(model: Calibrated) -> bool:
    """Whether its task has questions, each of them right or wrong as a whole."""
    return model.text is None and isinstance(model.task, PairTask | QuestionTask)


def answer_facts(model: Calibrated, smaller: ModelFile) -> AnswerFacts:
    """Ask both the same, as for the score. Needs a model that `is_asked_whole`."""
    batches, before = _answered_by(model)
    now = _answers(model, smaller.build(), batches)
    right_before, right = (
        torch.cat([*map(right_as_a_whole, batches, found)]) for found in (before, now)
    )
    is_lost = right_before & ~right
    return AnswerFacts(
        n=len(right),
        n_right_before=int(right_before.sum()),
        n_right=int(right.sum()),
        n_lost=int(is_lost.sum()),
        lost=tuple(
            _lost(model, batches[i // N_WHOLE], now[i // N_WHOLE], i % N_WHOLE)
            for i in is_lost.nonzero().flatten().tolist()[:MOST_SHOWN]
        ),
    )


@lru_cache(maxsize=4)
def _answered_by(model: Calibrated) -> tuple[list[Batch], list[Tensor]]:
    """The questions, and what the whole model answers: the same for all smaller ones."""
    batches = [model.task.held_out(N_WHOLE, draw) for draw in model.score_draws]
    return batches, _answers(model, model.model, batches)


def _answers(model: Calibrated, asked: Model, batches: Sequence[Batch]) -> list[Tensor]:
    logits_of = model.examiner.logits_of(asked)
    return [likeliest(batch, logits_of) for batch in batches]


def _lost(model: Calibrated, batch: Batch, said: Tensor, row: int) -> Lost:
    task, targets = model.task, batch.targets[row]
    is_asked = targets != IGNORED
    marks = {task.marks.stop, task.marks.padding} if isinstance(task, PairTask) else set()
    ids = (_asked(batch, row, model), targets[is_asked], said[row][is_asked])
    texts = ([each for each in some.tolist() if each not in marks] for some in ids)
    return Lost(*map(task.tokenizer.decode, texts))


def _asked(batch: Batch, row: int, model: Calibrated) -> Tensor:
    """What a question consists of; a GPT reads its answer behind it."""
    if isinstance(batch.token_ids, SourceTarget):
        return batch.token_ids.source[row]
    if model.file.config.architecture is Architecture.GPT:
        n = int((batch.targets[row] != IGNORED).int().argmax())
        return batch.token_ids[row, : n + 1]
    return batch.token_ids[row]
