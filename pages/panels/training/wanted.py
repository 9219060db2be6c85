"""The training that is set: its task, its model, its recipe, and why it cannot start, if so."""

from functools import lru_cache
from typing import NamedTuple

from blocks.corpora.stories import Language
from blocks.model.faults import N_, ConfigError, Fault
from blocks.training.fast_model import needs
from blocks.training.limits import Limits, limit_faults
from blocks.training.recipe import RECIPES, Recipe
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import Task, TaskConfig, TaskKind, TokenKind
from pages.page import sidebar
from pages.panels.training import own_text, shared
from pages.server import runs, starts
from pages.state.link_fields.training import KNOBS, LONGEST_ROW
from pages.state.values import State

STORY_TASKS = (TaskKind.STORIES, TaskKind.MASKED_WORDS)
N_EVAL_BATCHES = 8  # fewer than in a terminal, so that one sees the held-out loss more often
NO_TEXT = N_("There is no text yet: paste or upload one (links do not include the text)")


class Wanted(NamedTuple):
    """A training as it was set; `spec` and `task` are None where there is nothing to learn."""

    spec: TrainingSpec | None
    task: Task | None
    faults: tuple[Fault, ...]


def wanted(state: State) -> Wanted:
    """What would be trained now, and every reason why it cannot."""
    if is_without_text(state):
        return Wanted(None, None, (Fault(NO_TEXT),))
    try:
        task_config = _task_config(state)
        task = starts.build_task_once(task_config)
    except ConfigError as error:
        return Wanted(None, None, error.faults)
    recipe, faults = wanted_recipe(state)
    config, _mended = state.config.nearest(**needs(task))
    spec = TrainingSpec(
        config=config, task=task_config, recipe=recipe, seed=state.seed, device=state.device
    )
    return Wanted(spec, task, (*faults, *_beyond_limits(spec, runs.runs().limits_on(spec.device))))


def wanted_recipe(state: State) -> tuple[Recipe, tuple[Fault, ...]]:
    """The recipe with the reader's changes, brought to the nearest that can be."""
    changes = {name: state[name] for name in KNOBS}
    known = RECIPES[state.recipe]
    changes |= {"dtype": str(sidebar.trained_dtype()), "n_eval_batches": N_EVAL_BATCHES}
    return known.nearest(**changes)


def is_without_text(state: State) -> bool:
    """Whether a text is to be learned from that was not brought (yet)."""
    is_own = state.task == TaskKind.TEXT and state.corpus == "own"
    return is_own and own_text.text() is None


def _task_config(state: State) -> TaskConfig:
    kind = TaskKind(state.task)
    least, most = row_bounds(kind)
    is_text = kind is TaskKind.TEXT
    is_own = is_text and state.corpus == "own"
    return TaskConfig(
        kind=kind,
        seq_len=min(max(state.task_seq_len, least), most),
        architecture=shared.learner(kind, state),
        text=own_text.text() if is_own else None,
        token_kind=TokenKind(state.token_kind if is_text else "characters"),
        language=Language(state.story_language if kind in STORY_TASKS else "en"),
    )


def row_bounds(kind: TaskKind) -> tuple[int, int]:
    """The least and the largest number of tokens in a row that is offered."""
    least, most = kind.seq_len_bounds
    return least, min(most, LONGEST_ROW)


@lru_cache(maxsize=64)
def _beyond_limits(spec: TrainingSpec, limits: Limits) -> tuple[Fault, ...]:
    return tuple(limit_faults(spec, limits))
