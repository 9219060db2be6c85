"""One training of a sweep, named by what it is, so that nobody trains it twice."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any

from blocks.model.config import FIELDS, ModelConfig
from blocks.model.faults import N_, ConfigError, Fault, nearest_names
from blocks.training.fast_model import needs
from blocks.training.recipe import DEFAULTS, Recipe
from blocks.training.spec import TrainingSpec, spec_faults
from blocks.training.tasks import Task, TaskConfig, build_task

FORMAT = 1
"""Counted up where equal specs no longer give equal numbers, or a file says something else."""

USUAL: dict[str, Mapping[str, Any]] = {
    "config": ModelConfig().flat(),
    "recipe": Recipe().flat(),
    "task": {each.name: each.default for each in fields(TaskConfig)},
}
OF_TASK = {each.name for each in fields(TaskConfig)} - {"kind", "architecture", "text"}
SETTABLE = tuple(dict.fromkeys((*DEFAULTS, *FIELDS, *sorted(OF_TASK))))
"""Names of all fields that may vary: of the recipe, the model and the task."""

Setting = tuple[tuple[str, Any], ...]
"""Values by field name, in the order in which they were given."""


@dataclass(frozen=True)
class Point:
    """A training, and the values that set it apart from the others of its sweep."""

    spec: TrainingSpec
    setting: Setting = ()

    @cached_property
    def key(self) -> str:
        """A digest of the spec, the same on every machine; of a device its kind alone counts."""
        plain = self.spec.plain() | {"device": self.spec.device.partition(":")[0]}
        told = {name: _unusual(each, USUAL.get(name, {})) for name, each in plain.items()}
        text = json.dumps([FORMAT, _same(told)], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _unusual(values: Any, usual: Mapping[str, Any]) -> Any:
    """What is not as usual alone: a field that comes to be later changes no key."""
    if not isinstance(values, Mapping):
        return values
    return {name: v for name, v in values.items() if name not in usual or v != usual[name]}


def _same(value: Any) -> Any:
    """Equal numbers are written alike: 1 and 1.0."""
    if isinstance(value, Mapping):
        return {name: _same(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_same(each) for each in value]
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value


def changed(spec: TrainingSpec, values: Mapping[str, Any]) -> TrainingSpec:
    """The training with other values of its recipe, its model or its task, by field name.

    A model follows its task, in its vocabulary and the length of its context. Raises `ConfigError`
    with every fault.
    """
    if unknown := [name for name in values if name not in SETTABLE]:
        text = N_("{name} is not a field of a training run: use {names}")
        raise ConfigError(
            Fault(text, {"name": name, "names": nearest_names(name, SETTABLE)}) for name in unknown
        )
    of_task = {name: each for name, each in values.items() if name in OF_TASK}
    shape = {name: each for name, each in values.items() if name in FIELDS}
    recipe = {name: each for name, each in values.items() if name in DEFAULTS}
    task = replace(spec.task, **of_task)
    built = _built(task)
    config = spec.config.replace(**(needs(built) if of_task else {}) | shape)
    if faults := [*spec_faults(config, built, spec.teaching)]:
        raise ConfigError(faults)
    return replace(spec, config=config, task=task, recipe=spec.recipe.replace(**recipe))


@lru_cache(maxsize=4)
def _built(task: TaskConfig) -> Task:
    return build_task(task)
