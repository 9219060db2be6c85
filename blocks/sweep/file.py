"""A sweep as a file, `sweep.toml`: written from one, and read back to the same."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import tomli_w

from blocks.model.config import DEFAULTS, FIELDS
from blocks.model.faults import N_, ConfigError, Fault, nearest_names
from blocks.model.presets import PRESETS
from blocks.sweep.point import OF_TASK, SETTABLE, Setting, changed
from blocks.sweep.sweep import Sweep
from blocks.training.command import text_of
from blocks.training.command_line import nearest_recipe
from blocks.training.fast_model import fast_config, needs
from blocks.training.recipe import RECIPES
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind, build_task

FAST, NONE = "fast", "none"
OF_SWEEP = ("seeds", "search", "n_settings", "draw_seed", "eta")
OF_BASE = ("task", "recipe", "model", "device", "learner", "text", "text_file")
TOP = (*OF_SWEEP, "base", "fields", "settings")
USUAL = {each.name: each.default for each in fields(Sweep)}
TABLES = {"base": "[base]", "fields": "[fields]", "settings": "[[settings]]"}
KINDS = {"seeds": list, "search": str, "base": dict, "fields": dict, "settings": list}


def read_sweep(text: str, *, folder: Path | None = None) -> Sweep:
    """Read a file's text; `text_file` is looked for in `folder`. Raises `ConfigError`."""
    try:
        values = tomllib.loads(text)
    except ValueError as error:
        said = N_("The sweep cannot be read ({error}): use valid TOML")
        raise ConfigError([Fault(said, {"error": error})]) from None
    if faults := [*_unknown(values, TOP)] or [*_wrong_kinds(values)]:
        raise ConfigError(faults)
    return Sweep(
        base=_base(dict(values.get("base", {})), folder),
        fields=tuple(
            (name, _values(name, each)) for name, each in values.get("fields", {}).items()
        ),
        settings=tuple(_setting(each) for each in values.get("settings", ())),
        **{name: _plain(values[name]) for name in OF_SWEEP if name in values},
    )


def write_sweep(sweep: Sweep) -> str:
    """The text of a file that `read_sweep` reads to an equal sweep.

    Raises `ConfigError` for trainings that need more than a file: a teacher, or a trained model.
    """
    if sweep.base.teaching is not None or sweep.base.origin is not None:
        text = N_(
            "A run with a teacher, or one that starts from a trained model, cannot be swept: "
            "train from scratch"
        )
        raise ConfigError([Fault(text)])
    own = {name: getattr(sweep, name) for name in OF_SWEEP}
    told = {name: each for name, each in own.items() if each != USUAL[name]}
    plain: dict[str, Any] = {**told, "base": _plain_base(sweep.base)}
    if sweep.fields:
        plain["fields"] = {name: [*map(_written, each)] for name, each in sweep.fields}
    if sweep.settings:
        plain["settings"] = [{n: _written(v) for n, v in each} for each in sweep.settings]
    return tomli_w.dumps(plain)


def _base(values: dict[str, Any], folder: Path | None) -> TrainingSpec:
    if faults := [*_unknown(values, (*OF_BASE, *SETTABLE))]:
        raise ConfigError(faults)
    named = {name: values.pop(name) for name in OF_BASE if name in values}
    task = _task(named, {name: values.pop(name) for name in OF_TASK if name in values}, folder)
    recipe = _known(RECIPES, named.get("recipe", FAST), "recipe")
    shape = {name: _read(name, values.pop(name)) for name in FIELDS if name in values}
    built = build_task(task)
    model = named.get("model", FAST)
    if model == FAST:
        config = fast_config(built, **shape)
    else:
        config = _known(PRESETS, model, "model").replace(**needs(built) | shape)
    spec = TrainingSpec(
        config=config, task=task, recipe=recipe.replace(**values), device=named.get("device", "cpu")
    )
    return changed(spec, {})


def _task(named: Mapping[str, Any], values: dict[str, Any], folder: Path | None) -> TaskConfig:
    text = named.get("text")
    if "text_file" in named:
        text = text_of((folder or Path()) / named["text_file"])
    kind = named.get("task", TaskKind.TEXT)
    if kind not in [*TaskKind]:
        raise ConfigError([_name_fault(kind, "task", TaskKind)])
    usual = {"seq_len": TaskKind(kind).usual_seq_len}
    return TaskConfig(
        **{"kind": kind, "text": text, "architecture": named.get("learner"), **usual, **values}
    )


def _plain_base(spec: TrainingSpec) -> dict[str, Any]:
    """The task, the nearest recipe, and what differs from them and the fast model."""
    task, recipe = spec.task, nearest_recipe(spec.recipe)
    of_task = {name: getattr(task, name) for name in sorted(OF_TASK)}
    usual_task = TaskConfig(kind=task.kind, seq_len=task.kind.usual_seq_len)
    usual = fast_config(build_task(task)).flat() | RECIPES[recipe].flat()
    wanted = spec.config.flat() | spec.recipe.flat()
    told = {name: each for name, each in wanted.items() if each != usual[name]}
    named = {"task": task.kind, "recipe": recipe, "device": spec.device}
    return {
        **{name: str(each) for name, each in named.items()},
        **({} if task.architecture is None else {"learner": str(task.architecture)}),
        **({} if task.text is None else {"text": task.text}),
        **{n: _written(v) for n, v in of_task.items() if v != getattr(usual_task, n)},
        **{name: _written(each) for name, each in told.items()},
    }


def _setting(values: Any) -> Setting:
    if not isinstance(values, dict):
        raise ConfigError([Fault(N_("Each group of settings is a table: write [[settings]]"))])
    return tuple((name, _read(name, each)) for name, each in values.items())


def _values(name: str, values: Any) -> tuple[Any, ...]:
    if not isinstance(values, list):
        text = N_("The values of {name} are a list: write {name} = [{value}]")
        raise ConfigError([Fault(text, {"name": name, "value": values})])
    return tuple(_read(name, each) for each in values)


def _read(name: str, value: Any) -> Any:
    """A value as the configuration has it: TOML has no word for None."""
    return None if value == NONE and name in FIELDS and DEFAULTS[name] is None else value


def _written(value: Any) -> Any:
    return NONE if value is None else str(value) if isinstance(value, StrEnum) else value


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _known(table: Mapping[str, Any], name: str, what: str) -> Any:
    if name not in table:
        raise ConfigError([_name_fault(name, what, table)])
    return table[name]


def _unknown(values: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[Fault]:
    for name in values.keys() - {*names}:
        text = N_("{name} means nothing here: use {names}, or remove it")
        yield Fault(text, {"name": name, "names": nearest_names(name, names)})


def _wrong_kinds(values: Mapping[str, Any]) -> Iterator[Fault]:
    for name, value in values.items():
        is_right = type(value) is KINDS.get(name, int)
        if name == "seeds" and isinstance(value, list):
            is_right = all(type(each) is int for each in value)
        if not is_right:
            text = N_("{name} ({value}) has the wrong type: write it as {usual}")
            usual = TABLES.get(name) or tomli_w.dumps({name: USUAL[name]}).strip()
            yield Fault(text, {"name": name, "value": value, "usual": usual})


def _name_fault(name: Any, what: str, names: Any) -> Fault:
    text = N_("{name} is not a {what}: use {names}")
    return Fault(text, {"name": name, "what": what, "names": nearest_names(name, names)})
