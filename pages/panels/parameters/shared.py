"""Sentences of the page of parameters, computed from what is set, and pictures in words."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost.breakdown import Kind, kind_of
from blocks.cost.fitting import can_build
from blocks.cost.memory import bytes_text, estimate_memory
from blocks.cost.parameters import active_parameters, config_sizes, parts, total_parameters
from blocks.inspection.weight_values import WeightValues, weight_values
from blocks.model import devices
from blocks.model.faults import N_
from blocks.model.presets import ENCODER_DECODER_TABLE, PRESET_TABLE, PUBLISHED_TABLE
from blocks.observe.run import Run
from pages.ui import cached, link, terms
from pages.ui.language import _
from pages.ui.numbers import percent
from pages.ui.settings import memory_budget
from pages.ui.words import parameter_count

UNITS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))
LARGEST_EXACT = 2**53  # beyond it a browser's numbers have gaps


def short(count: float) -> str:
    """With three digits and a unit: 124 M, 6.74 B."""
    for unit, letter in UNITS:
        if abs(count) >= unit:
            return f"{count / unit:.3g} {letter}"
    return f"{count:,.0f}"


def signed(count: int) -> str:
    """Every digit, with its sign; none is 0."""
    return f"{count:+,}".replace("-", "−") if count else "0"


def share(count: int, total: int) -> str:
    """A share as it can be read; exact division, however large both are."""
    return percent(count / total) if total else percent(0)


def column(counts: list[int]) -> list[int] | list[str]:
    """Counts for a table: numbers where a browser holds them exactly, else text."""
    return counts if max(counts, default=0) < LARGEST_EXACT else [f"{n:,}" for n in counts]


BITS = {"float32": 32, "bfloat16": 16, "float16": 16, "int8": 8, "int4": 4}


@dataclass(frozen=True)
class Row:
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
def counted_rows(config: ModelConfig) -> tuple[Row, ...]:
    """Every part, in the order in which a token meets it."""
    sizes = config_sizes(config)
    return tuple(
        Row(part.name, kind_of(part), part.count(sizes), part.formula(), part.numbers(sizes))
        for part in parts(config)
    )


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


BUILT_UNASKED = 30_000_000


def is_small(run: Run) -> bool:
    """Whether the weights are so few that nobody needs to ask for them."""
    return total(run.config) <= BUILT_UNASKED


def need(run: Run) -> int:
    """Bytes while the model is built: its weights, and what drawing them takes meanwhile."""
    dtype = devices.DTYPES[run.dtype]
    return estimate_memory(run.config, batch=1, seq_len=1, dtype=dtype).total


def is_shown(run: Run) -> bool:
    """Whether the weights are looked at: they fit, and are few or were asked for."""
    is_wanted = is_small(run) or link.value("spread_of_weights")
    return is_wanted and can_build(run.config) and need(run) <= memory_budget()


@lru_cache(maxsize=8)
def values(run: Run) -> WeightValues:
    """How the weights of this run are spread. Runs that differ in their input share the model.

    Raises ValueError where they are not to be looked at.
    """
    if not is_shown(run):
        raise ValueError("too large, or large and not asked for")
    model = cached.model(run)
    with cached.turn(run.device):
        return weight_values(model)


KINDS = {
    Kind.EMBEDDING: N_("embedding"),
    Kind.POSITION: N_("positional encoding"),
    Kind.ATTENTION: N_("attention"),
    Kind.CROSS_ATTENTION: N_("cross-attention"),
    Kind.FEED_FORWARD: N_("feed-forward"),
    Kind.ROUTER: N_("router"),
    Kind.NORM: N_("norms"),
    Kind.POOLER: N_("pooler"),
    Kind.OUTPUT: N_("output"),
}


def kind_name(found: Kind | str) -> str:
    """What a kind is called."""
    return _(KINDS[Kind(found)])


MOST_ROWS, MOST_PIECES = 4, 180


def part_frame(config: ModelConfig, kind: str = "") -> pd.DataFrame:
    """Every part (of one kind) with its formula; one that reads and writes stands twice."""
    rows = [row for row in counted_rows(config) if kind in ("", row.kind)]
    whole = total(config)
    table = pd.DataFrame(
        {
            _("part"): [terms.part(row.part) for row in rows],
            _("kind"): [kind_name(row.kind) for row in rows],
            _("count"): column([row.count for row in rows]),
            _("share"): [share(row.count, whole) for row in rows],
            _("formula"): [row.formula for row in rows],
            _("in numbers"): [row.numbers for row in rows],
        }
    )
    return table


def size_frame(config: ModelConfig) -> pd.DataFrame:
    """One row a number format."""
    columns = {_("weights"): total(config)}
    if active(config) < total(config):
        columns[_("active per token")] = active(config)
    if config.architecture.reads_tokens:
        is_tied = config.vocabulary.tie_embeddings
        label = _("if untied") if is_tied else _("if tied")
        columns[label] = total(config.replace(tie_embeddings=not is_tied))
    table = pd.DataFrame(
        {
            _("number format"): [*BITS],
            _("bits"): [*BITS.values()],
        }
    )
    for label, count in columns.items():
        table[label] = [bytes_text(bytes_in(count, name)) for name in BITS]
    return table


def published_frame() -> pd.DataFrame:
    """Published models, the smallest first."""
    found = published()
    return pd.DataFrame(
        {
            _("model"): [_(each.title) for each in found],
            _("parameters"): [each.total for each in found],
            _("active per token"): [each.active for each in found],
            "bfloat16": [bytes_text(bytes_in(each.total, "bfloat16")) for each in found],
            _("architecture"): [terms.option(each.config.architecture) for each in found],
            "d_model": [each.config.d_model for each in found],
            _("number of layers"): [
                each.config.n_layers + each.config.n_decoder_layers for each in found
            ],
            _("stated in"): [_(each.source) for each in found],
        }
    )


def _shown(table: pd.DataFrame, key: str, *counts: str) -> None:
    columns = {name: st.column_config.NumberColumn(format="localized") for name in counts}
    numeric = {name: kind for name, kind in columns.items() if table[name].dtype.kind in "iu"}
    st.dataframe(table, hide_index=True, key=key, column_config=numeric, height="content")


def caption(config: ModelConfig) -> str:
    """What was set, under pictures that are taken away."""
    return parameter_count(config)
