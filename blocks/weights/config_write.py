"""A configuration as the config.json of a family that can say it: `config_json` read backwards."""

import json
from typing import Any

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.in_use import settings_in_use
from blocks.model.kinds import Architecture
from blocks.model.options import factors
from blocks.weights.config_families import FAMILIES
from blocks.weights.config_json import read_config_file
from blocks.weights.config_parts import write_all
from blocks.weights.families import LAYOUTS

Values = dict[str, Any]
ONLY_TRAINED_WITH = ("dropout", "initialization")
FACTORS = {"rope_short_factors", "rope_long_factors"}


def family_of(config: ModelConfig, came_as: str = "") -> str:
    """The first family whose config.json can say all that does something in this configuration.

    That which the model came in as, where it still can. Raises `ConfigError` where there is none.
    """
    known = [came_as] if came_as in FAMILIES else []
    for family in (*known, *FAMILIES):
        if written(family, config) is not None:
            return family
    text = N_(
        "No known model family supports this configuration; models can be saved in the "
        "formats of these families: {known}"
    )
    raise ConfigError([Fault(text, {"known": ", ".join(FAMILIES)})])


def config_json(family: str, config: ModelConfig) -> str:
    """The config.json of this configuration. Raises `ConfigError` where the family cannot say it.

    What is written is read again, so nothing is lost on the way.
    """
    text = written(family, config) if family in FAMILIES else None
    if text is None:
        said = N_(
            "A config.json of the {family} family cannot describe this configuration; known "
            "families: {known}"
        )
        raise ConfigError([Fault(said, {"family": family, "known": ", ".join(FAMILIES)})])
    return text


def written(family: str, config: ModelConfig) -> str | None:
    """The config.json, or None where reading it does not give the same configuration again."""
    known = FAMILIES[family]
    try:
        keys = write_all(known.parts, config)
        named = known.counted_as if _is_without_head(config) else known.whole or known.counted_as
        text = json.dumps({"model_type": family, "architectures": [named], **keys}, indent=2)
        found = read_config_file(text).config
        in_files = [*LAYOUTS[family].optional, *(["n_mtp_modules"] if LAYOUTS[family].mtp else [])]
        found = found.replace(**{name: config.flat()[name] for name in in_files})
    except (StopIteration, ConfigError):
        return None
    return text if _counting(found) == _counting(config) else None


def _is_without_head(config: ModelConfig) -> bool:
    is_encoder = config.architecture is Architecture.ENCODER
    return is_encoder and not config.has_prediction_head


def _counting(config: ModelConfig) -> Values:
    """What counts when the model is run."""
    settings = settings_in_use(config)
    for name in FACTORS & settings.keys():
        settings[name] = factors(settings[name])  # however they were written
    return {name: value for name, value in settings.items() if name not in ONLY_TRAINED_WITH}
