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
from blocks.cost.variations import Variation, variations
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


@lru_cache(maxsize=64)
def changes(config: ModelConfig) -> tuple[Variation, ...]:
    """What may be changed, the largest loss first."""
    return tuple(sorted(variations(config), key=lambda change: change.total))


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

CHANGES = {
    "twice_the_heads": N_("twice the heads, half as wide"),
    "half_the_heads": N_("half the heads, twice as wide"),
    "one_kv_head": N_("multi-query attention (MQA): one head of keys and values"),
    "kv_as_many": N_("multi-head attention (MHA): keys and values per head"),
    "tied": N_("weight tying: one table for input and output"),
    "untied": N_("an output matrix of its own (untied)"),
    "rope": N_("RoPE instead of a learned position table"),
    "learned_positions": N_("a learned position table"),
    "no_biases": N_("no biases"),
    "biases": N_("biases everywhere"),
    "layernorm": N_("LayerNorm instead of RMSNorm"),
    "rmsnorm": N_("RMSNorm, without a shift"),
    "no_norms": N_("no norms"),
    "norms": N_("norms (LayerNorm)"),
    "plain": N_("feed-forward without a gate"),
    "gated": N_("a gate in the feed-forward layer"),
    "gated_narrower": N_("a gate, and d_ff two thirds"),
    "twice_d_ff": N_("twice d_ff"),
    "experts": N_("8 experts, 2 active"),
    "dense": N_("one feed-forward layer, no experts"),
    "one_more_layer": N_("one more layer"),
    "twice_as_wide": N_("twice d_model, and d_ff with it"),
}

WHY = {
    "twice_the_heads": N_("n_heads · d_head stays: the same matrices are split into more pieces."),
    "half_the_heads": N_("n_heads · d_head stays: the same matrices are split into fewer pieces."),
    "one_kv_head": N_("k_proj and v_proj shrink to the width of one head; the KV cache with them."),
    "kv_as_many": N_("k_proj and v_proj become as large as q_proj; the KV cache with them."),
    "tied": N_("The output matrix of vocab_size · d_model is gone: the embedding takes its place."),
    "untied": N_("Another vocab_size · d_model."),
    "rope": N_("max_seq_len · d_model is gone: rotations are computed, not learned."),
    "learned_positions": N_("d_model numbers for each of max_seq_len positions."),
    "no_biases": N_("One number fewer per output of each projection: negligible."),
    "biases": N_("One number more per output of each projection: negligible."),
    "layernorm": N_("A shift beside each scale: d_model more per norm."),
    "rmsnorm": N_("No shift, a scale alone: d_model fewer per norm."),
    "no_norms": N_("All scales and shifts are gone: next to nothing in size, but not in training."),
    "norms": N_("A scale and a shift of d_model numbers per norm: negligible."),
    "plain": N_("gate_proj is gone: a third of the matrices of the layer."),
    "gated": N_("gate_proj is added: the layer's matrices grow by half."),
    "gated_narrower": N_("Three matrices of two thirds: as many as before (Shazeer 2020)."),
    "twice_d_ff": N_("The feed-forward layer doubles, all else stays."),
    "experts": N_("Eight feed-forward layers and a router; each token passes through two of them."),
    "dense": N_("All experts but one are gone, and the router."),
    "one_more_layer": N_("As many parameters as any other layer."),
    "twice_as_wide": N_("The matrices of each layer grow fourfold, the embedding twofold."),
}


def kind_name(found: Kind | str) -> str:
    """What a kind is called."""
    return _(KINDS[Kind(found)])


def change_name(name: str) -> str:
    """What a change is called."""
    return _(CHANGES[name])


def why(name: str) -> str:
    """Why a change changes what it does."""
    return _(WHY[name])


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


def change_frame(config: ModelConfig) -> pd.DataFrame:
    """What each change does."""
    found, whole = changes(config), total(config)
    table = pd.DataFrame(
        {
            _("change"): [change_name(change.name) for change in found],
            "Δ": [signed(change.total - whole) for change in found],
            _("after"): [f"{change.total:,}" for change in found],
        }
    )
    if any(change.active < change.total for change in found):
        table[_("active per token")] = [f"{change.active:,}" for change in found]
    return table.assign(**{_("why"): [why(change.name) for change in found]})


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
