"""The classic faults of converting a checkpoint, planted one at a time.

Every one of them keeps all shapes, so nothing complains: the model loads, and writes fluent
nonsense.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

import torch
from torch import Tensor

from blocks.model.config import ModelConfig
from blocks.model.kinds import PositionKind
from blocks.model.randomness import generator
from blocks.weights.operations import BY_GROUPS, UNPAIRED

Tensors = Mapping[str, Tensor]


class ConversionFault(StrEnum):
    """What goes wrong; see `PLANTED`."""

    ROTARY_LAYOUT = "rotary layout"
    NOT_TRANSPOSED = "not transposed"
    POSITION_OFFSET = "position offset"
    NORM_OFFSET = "norm offset"
    EMBEDDING_SCALE = "embedding scale"
    SCORE_SCALE = "score scale"
    QKV_ORDER = "q k v order"
    GROUP_ORDER = "group order"
    MISSING_TIE = "missing tie"
    NORM_EPS = "norm eps"


class Loaded(NamedTuple):
    """A configuration and its weights by name, as `assemble` takes them."""

    config: ModelConfig
    tensors: Tensors


class Planting(NamedTuple):
    """Which models can have a fault, and what it makes of them."""

    is_possible: Callable[[ModelConfig], bool]
    plant: Callable[[Loaded], Loaded]


def plant(fault: ConversionFault, loaded: Loaded) -> Loaded:
    """The same model, converted with this fault; what came is left as it is."""
    return PLANTED[fault].plant(loaded)


def possible_faults(config: ModelConfig) -> tuple[ConversionFault, ...]:
    """The faults that a model of this configuration can have."""
    return tuple(fault for fault, each in PLANTED.items() if each.is_possible(config))


def _changed(loaded: Loaded, **fields: object) -> Loaded:
    return loaded._replace(config=loaded.config.replace(**fields))


def _with(loaded: Loaded, tensors: Tensors) -> Loaded:
    return loaded._replace(tensors={**loaded.tensors, **tensors})


def _ending(loaded: Loaded, *endings: str) -> dict[str, Tensor]:
    return {name: each for name, each in loaded.tensors.items() if name.endswith(endings)}


def _rotary_layout(loaded: Loaded) -> Loaded:
    """Rows for (i, i + width/2) used as rows for (2i, 2i + 1)."""
    rows = _ending(loaded, *(f"{letter}_proj.{kind}" for letter in "qk" for kind in KINDS))
    turned = {name: UNPAIRED.take(each, loaded.config)[0] for name, each in rows.items()}
    return _with(loaded, turned)


def _not_transposed(loaded: Loaded) -> Loaded:
    """A square matrix that lies as (in, out) taken as it lies: Conv1D of GPT-2."""
    return _with(loaded, {name: each.T for name, each in _ending(loaded, OUT).items()})


def _position_offset(loaded: Loaded) -> Loaded:
    """Positions that begin in the first row of the table."""
    offset = loaded.config.position.position_offset
    tables = _ending(loaded, "position.weight")
    return _with(loaded, {name: each.roll(offset, dims=0) for name, each in tables.items()})


def _qkv_order(loaded: Loaded) -> Loaded:
    """Fused rows that stand head by head, split as if they stood side by side."""
    found: dict[str, Tensor] = {}
    for name in _ending(loaded, *(f"q_proj.{kind}" for kind in KINDS)):
        names = [name.replace("q_proj", f"{letter}_proj") for letter in "qkv"]
        whole = BY_GROUPS.give([loaded.tensors[each] for each in names], loaded.config)
        sizes = [len(loaded.tensors[each]) for each in names]
        found |= dict(zip(names, whole.split(sizes), strict=True))
    return _with(loaded, found)


def _group_order(loaded: Loaded) -> Loaded:
    """Keys repeated as 1 2 1 2 where the model was trained with 1 1 2 2."""
    config = loaded.config
    groups = (config.n_kv_heads, -1, config.d_head)
    rows = _ending(loaded, *(f".attention.q_proj.{kind}" for kind in KINDS))
    moved = {name: _swapped(each, groups) for name, each in rows.items()}
    columns = _ending(loaded, f".attention.{OUT}")
    moved |= {name: _swapped(each.T, groups).T for name, each in columns.items()}
    return _with(loaded, moved)


def _swapped(rows: Tensor, groups: tuple[int, int, int]) -> Tensor:
    return rows.unflatten(0, groups).transpose(0, 1).flatten(0, 2)


def _missing_tie(loaded: Loaded) -> Loaded:
    """A head of its own, which nothing in the file fills."""
    table = loaded.tensors["embed.weight"]
    drawn = torch.empty(table.shape).normal_(0, 0.02, generator=generator(0, "missing tie"))
    untied = _changed(loaded, tie_embeddings=False)
    return _with(untied, {"unembed.weight": drawn.to(table)})


def _norm_eps(loaded: Loaded) -> Loaded:
    """The usual 1e-5 for 1e-12 or 1e-6, and the other way round."""
    return _changed(loaded, norm_eps=1e-5 if loaded.config.norm.norm_eps < 1e-5 else 1e-12)


def _has_rope(config: ModelConfig) -> bool:
    return config.position.position_kind is PositionKind.ROPE and config.rotary_width > 2


def _is_square(config: ModelConfig) -> bool:
    return config.width_of_heads == config.d_model


def _is_grouped(config: ModelConfig) -> bool:
    return 1 < config.n_kv_heads < config.n_heads


KINDS, OUT = ("weight", "bias"), "out_proj.weight"
PLANTED: dict[ConversionFault, Planting] = {
    ConversionFault.ROTARY_LAYOUT: Planting(_has_rope, _rotary_layout),
    ConversionFault.NOT_TRANSPOSED: Planting(_is_square, _not_transposed),
    ConversionFault.POSITION_OFFSET: Planting(
        lambda config: config.position.position_offset > 0, _position_offset
    ),
    ConversionFault.NORM_OFFSET: Planting(
        lambda config: config.norm.norm_offset,
        lambda loaded: _changed(loaded, norm_offset=False),
    ),
    ConversionFault.EMBEDDING_SCALE: Planting(
        lambda config: config.architecture.reads_tokens,
        lambda loaded: _changed(loaded, scale_embeddings=not loaded.config.scales_embeddings),
    ),
    ConversionFault.SCORE_SCALE: Planting(
        lambda config: not config.attention.scale_scores,
        lambda loaded: _changed(loaded, scale_scores=True),
    ),
    ConversionFault.QKV_ORDER: Planting(lambda config: config.n_heads > 1, _qkv_order),
    ConversionFault.GROUP_ORDER: Planting(_is_grouped, _group_order),
    ConversionFault.MISSING_TIE: Planting(
        lambda config: config.vocabulary.tie_embeddings, _missing_tie
    ),
    ConversionFault.NORM_EPS: Planting(lambda _config: True, _norm_eps),
}
