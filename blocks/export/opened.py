"""What MODEL names at the command line, opened: a preset, a shipped model, a file, a folder."""

import argparse
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from blocks.model.config import FIELDS, ModelConfig
from blocks.model.faults import N_, ConfigError, Fault, unknown_fault
from blocks.model.legal import unknown_field
from blocks.model.models import Model, assemble, build
from blocks.model.presets import PRESETS
from blocks.text.chat import Chat
from blocks.text.tokenizer import Tokenizer
from blocks.weights.config_json import read_config_file
from blocks.weights.folder import GGUF
from blocks.weights.ledger import Ledger
from blocks.weights.model_file import read_model_file, trained
from blocks.weights.pocket import pocket, pocket_names
from blocks.weights.published import open_published
from blocks.weights.rounded_inputs import RoundedInput, round_inputs
from blocks.weights.tensors import Weights


@dataclass(frozen=True, eq=False)
class Opened:
    """What MODEL names; without `tensors` weights are drawn from a seed.

    `came`: where the tensors of the files went that it was opened from; `chat`: how it is asked.
    """

    config: ModelConfig
    tensors: Weights | None = None
    tokenizer: Tokenizer | None = None
    inputs: Mapping[str, RoundedInput] = field(default_factory=dict)
    came: Ledger | None = None
    chat: Chat | None = None

    def build(self, options: argparse.Namespace) -> Model:
        """The model on the device that was asked for."""
        if self.tensors is None:
            return build(self.config, seed=options.seed, device=options.device)
        return round_inputs(self._exact(self.tensors, options.device), self.inputs)

    def as_it_came(self, options: argparse.Namespace) -> Model:
        """The model in the number format of its files, where it came from some."""
        if self.tensors is None or self.came is None:
            return self.build(options)
        return assemble(self.config, self.tensors)

    def _exact(self, tensors: Weights, device: str) -> Model:
        if device == "cpu":
            return assemble(self.config, {n: t.float() for n, t in tensors.items()})
        return trained(self.config, tensors, device=device)


def opened(name: str, changes: dict[str, Any]) -> Opened:
    """What a name stands for, with fields changed. Raises `ConfigError`."""
    if unknown := changes.keys() - FIELDS.keys():
        raise ConfigError(unknown_field(each, FIELDS) for each in sorted(unknown))
    found = _found(name)
    config = found.config.replace(**changes)
    if changes and config != found.config:
        return Opened(config, None, found.tokenizer)
    return found


def _found(name: str) -> Opened:
    if name in PRESETS:
        return Opened(PRESETS[name])
    if name in pocket_names():
        file = pocket(name)
        return Opened(file.config, file.tensors, file.tokenizer)
    path = Path(name)
    if path.is_dir() or path.suffix == GGUF:
        found = open_published(path)
        return Opened(
            found.config, found.tensors, found.tokenizer, came=found.ledger, chat=found.chat
        )
    try:
        raw = path.read_bytes()
    except OSError:
        text = N_(
            "{name} is not a preset, a shipped model or a file: the nearest names are {names} "
            "(python -m blocks --help lists all)"
        )
        raise ConfigError([unknown_fault(text, name, (*PRESETS, *pocket_names()))]) from None
    if path.suffix == ".safetensors":
        mine = read_model_file(raw)
        return Opened(mine.config, mine.tensors, mine.tokenizer, mine.inputs)
    return Opened(_config_of(path.suffix, raw))


def _config_of(suffix: str, raw: bytes) -> ModelConfig:
    """A configuration in TOML or JSON, ours by field or a published one by its model_type."""
    try:
        text = raw.decode()
        values = tomllib.loads(text) if suffix == ".toml" else json.loads(text)
    except ValueError as error:
        said = N_("The configuration cannot be read ({error}): use valid TOML or JSON")
        raise ConfigError([Fault(said, {"error": error})]) from None
    if isinstance(values, dict) and "model_type" not in values:
        return ModelConfig.from_flat(values)
    return read_config_file(text).config


def ids_of(options: argparse.Namespace, model: Opened) -> list[int]:
    """The token ids that were named, or those of the text. Raises `ConfigError`."""
    if getattr(options, "ids", None):
        parts = options.ids.split(",")
        if all(part.strip().isdecimal() for part in parts):
            return [int(part) for part in parts]
        raise ConfigError([Fault(N_("--ids takes numbers separated by commas, such as 1,2,3"))])
    if model.tokenizer is None:
        text = N_("This model has no tokenizer: provide token ids with --ids 1,2,3")
        raise ConfigError([Fault(text)])
    if not (ids := model.tokenizer.encode(options.text or "")):
        raise ConfigError([Fault(N_("There is nothing to read: provide --text"))])
    return list(ids)


def print_answer(options: argparse.Namespace, answer: dict[str, Any], said: str) -> None:
    """Print a JSON object where that was asked for, or what is said."""
    print(json.dumps(answer, ensure_ascii=False) if options.json else said)


def rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as JSON has them."""
    found: list[dict[str, Any]] = json.loads(table.to_json(orient="records"))
    return found
