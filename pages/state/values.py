"""What is set, as one value: what panels and rooms read of the link."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from blocks import ModelConfig
from pages.server import starts
from pages.state.fields import CONFIG, FIELDS


def value_in(values: Mapping[str, Any], name: str) -> Any:
    return values[name] if name in values else default_in(values, name)


def default_in(values: Mapping[str, Any], name: str) -> Any:
    """The default of a field, which others of these values may decide."""
    default = FIELDS[name].default
    return default(values) if callable(default) else default


@dataclass(frozen=True)
class State:
    """Each field of the link by its name, as `state.n_layers`; checked when the link was read.

    `values`: those that differ from their defaults.
    """

    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return value_in(self.values, name)

    def __getattr__(self, name: str) -> Any:
        if name not in FIELDS:
            raise AttributeError(name)
        return self[name]

    @property
    def config_changes(self) -> dict[str, Any]:
        """What the reader has changed of the configuration that was started from."""
        return {name: found for name, found in self.values.items() if name in CONFIG}

    @property
    def config(self) -> ModelConfig:
        return _changed(starts.start(self.preset).config, tuple(self.config_changes.items()))


@lru_cache(maxsize=256)
def _changed(config: ModelConfig, changes: tuple[tuple[str, Any], ...]) -> ModelConfig:
    """Checked once: a page asks for it a dozen times."""
    return config.replace(**dict(changes))
