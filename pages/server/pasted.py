"""A config.json that a reader pasted, as a preset: its name says what it is, and all its fields."""

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from blocks import ConfigError, ModelConfig
from blocks.model.config import FIELDS
from pages.server.readers import as_text, of_type

PREFIX, NAME, LONGEST_NAME = "json:", "name", 40


class Pasted(NamedTuple):
    """What a file is called, and the configuration that it describes."""

    name: str
    config: ModelConfig


def preset_of(name: str, config: ModelConfig) -> str:
    """The preset of a file: its name, and the fields that differ from the defaults."""
    usual = ModelConfig().flat()
    fields = {each: as_text(value) for each, value in config.flat().items() if value != usual[each]}
    return PREFIX + urlencode({NAME: name[:LONGEST_NAME], **fields}, errors="replace")


def is_name(preset: str) -> bool:
    return preset.startswith(PREFIX)


@lru_cache(maxsize=64)
def read(preset: str) -> Pasted | None:
    """The file of a preset; None where there is no such configuration, as any link may say."""
    try:
        texts = dict(parse_qsl(preset.removeprefix(PREFIX), keep_blank_values=True))
        name = texts.pop(NAME)
        values = {each: of_type(FIELDS[each])(text) for each, text in texts.items()}
        return Pasted(name[:LONGEST_NAME], ModelConfig.from_flat(values))
    except (ConfigError, KeyError, ValueError):
        return None


def called(preset: str) -> str:
    """What a preset is called where its name is written: a file as it is, not with its fields."""
    found = read(preset) if is_name(preset) else None
    return found.name if found else preset
