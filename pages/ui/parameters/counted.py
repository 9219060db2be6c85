"""What is counted by formula: kept, keyed on the configuration. Nothing is built."""

from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from blocks import ModelConfig
from blocks.cost import growth
from blocks.cost.breakdown import Kind, Node, by_kind, by_layer, count_kinds, kind_of
from blocks.cost.parameters import active_parameters, config_sizes, parts, total_parameters
from blocks.cost.variations import Variation, variations
from blocks.model.presets import ENCODER_DECODER_TABLE, PRESET_TABLE, PUBLISHED_TABLE

BITS = {"float32": 32, "bfloat16": 16, "float16": 16, "int8": 8, "int4": 4}


class Row(NamedTuple):
    """A part with its formula, in letters and in numbers."""

    part: str
    kind: Kind
    count: int
    formula: str
    numbers: str


@lru_cache(maxsize=256)
def total(config: ModelConfig) -> int:
    """All parameters."""
    return total_parameters(config)


@lru_cache(maxsize=256)
def active(config: ModelConfig) -> int:
    """Those that one token meets."""
    return active_parameters(config)


@lru_cache(maxsize=64)
def rows(config: ModelConfig) -> tuple[Row, ...]:
    """Every part, in the order in which a token meets it."""
    sizes = config_sizes(config)
    return tuple(
        Row(part.name, kind_of(part), part.count(sizes), part.formula(), part.numbers(sizes))
        for part in parts(config)
    )


@lru_cache(maxsize=64)
def kinds(config: ModelConfig) -> dict[Kind, int]:
    """Parameters by kind."""
    return count_kinds(config)


@lru_cache(maxsize=32)
def tree(config: ModelConfig, view: str) -> Node:
    """The model taken apart by kind, or by layer."""
    return by_layer(config) if view == "by_layer" else by_kind(config)


@lru_cache(maxsize=64)
def changes(config: ModelConfig) -> tuple[Variation, ...]:
    """What may be changed, the largest loss first."""
    return tuple(sorted(variations(config), key=lambda change: change.total))


@lru_cache(maxsize=32)
def over(config: ModelConfig, size: str) -> pd.DataFrame:
    """Shares over width or depth."""
    return growth.over_width(config) if size == "d_model" else growth.over_depth(config)


def bytes_in(count: int, number_format: str) -> int:
    """Bytes that so many weights take; scales of groups, which int8 and int4 need, not counted."""
    return count * BITS[number_format] // 8


class Published(NamedTuple):
    """A model that was published, counted by formula."""

    name: str
    title: str
    source: str
    config: ModelConfig
    total: int
    active: int


@lru_cache(maxsize=1)
def published() -> tuple[Published, ...]:
    """All that are known, the smallest first; the block of courses is no whole model."""
    table = PRESET_TABLE | ENCODER_DECODER_TABLE | PUBLISHED_TABLE
    found = [
        Published(name, p.title, p.source, p.config, total(p.config), active(p.config))
        for name, p in table.items()
        if p.config.architecture.reads_tokens
    ]
    return tuple(sorted(found, key=lambda each: each.total))
