"""The classic faults of converting a checkpoint, planted one at a time, and undone.

Every one of them keeps all shapes, so nothing complains: the model loads, and writes fluent
nonsense. What undoes a fault is tried without knowing whether it was ever made.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

import torch
from torch import Tensor

from blocks.model.config import ModelConfig
from blocks.model.kinds import NormKind, PositionKind
from blocks.model.models import Model, assemble
from blocks.model.randomness import generator
from blocks.weights.operations import BY_GROUPS, UNPAIRED, UNPAIRED_KEY, UNPAIRED_QUERIES, Operation

Tensors = Mapping[str, Tensor]


class ConversionFault(StrEnum):
    """Faults of a conversion; see `PLANTED`."""

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
    POSITION_TABLE = "position table"
    TOKENIZER_PREFIX = "tokenizer prefix"


class Loaded(NamedTuple):
    """A configuration and its weights by name, as `assemble` takes them.

    `prefix`: the token ids that its tokenizer puts before every text; `special`: those that it
    could put there.
    """

    config: ModelConfig
    tensors: Tensors
    prefix: tuple[int, ...] = ()
    special: tuple[int, ...] = ()

    def build(self) -> Model:
        """The model around these weights, which are not copied."""
        return assemble(self.config, self.tensors)


class Planting(NamedTuple):
    """Which models can have a fault, what it makes of them, and what they may have been before."""

    is_possible: Callable[[Loaded], bool]
    plant: Callable[[Loaded], Loaded]
    mends: Callable[[Loaded], Iterable[Loaded]]


def plant(fault: ConversionFault, loaded: Loaded) -> Loaded:
    """The same model, converted with this fault; what came is left as it is."""
    return PLANTED[fault].plant(loaded)


def possible_faults(loaded: Loaded) -> tuple[ConversionFault, ...]:
    """The faults that this model can have."""
    return tuple(fault for fault, each in PLANTED.items() if each.is_possible(loaded))


def mends(fault: ConversionFault, loaded: Loaded) -> tuple[Loaded, ...]:
    """What the model may have been before this fault; none where it cannot have been made."""
    return tuple(PLANTED[fault].mends(loaded))


def _changed(loaded: Loaded, **fields: object) -> Loaded:
    return loaded._replace(config=loaded.config.replace(**fields))


def _with(loaded: Loaded, tensors: Tensors) -> Loaded:
    return loaded._replace(tensors={**loaded.tensors, **tensors})


def _ending(loaded: Loaded, *endings: str) -> dict[str, Tensor]:
    return {name: each for name, each in loaded.tensors.items() if name.endswith(endings)}


def _turned_rows(loaded: Loaded, turn: Callable[[Operation, Tensor], Tensor]) -> Loaded:
    """With the rows of what RoPE turns in another order."""
    turned = {"q_proj": UNPAIRED, "k_proj": UNPAIRED}
    if loaded.config.is_latent:
        turned = {"attention.q_proj": UNPAIRED_QUERIES, "kv_latent_proj": UNPAIRED_KEY}
    found: dict[str, Tensor] = {}
    for name, operation in turned.items():
        rows = _ending(loaded, *(f"{name}.{kind}" for kind in KINDS))
        found |= {each: turn(operation, tensor) for each, tensor in rows.items()}
    return _with(loaded, found)


def _rotary_layout(loaded: Loaded) -> Loaded:
    """Rows for (i, i + width/2) used as rows for (2i, 2i + 1)."""
    return _turned_rows(loaded, lambda each, rows: each.take(rows, loaded.config)[0])


def _rotary_mends(loaded: Loaded) -> Iterable[Loaded]:
    if _has_rope(loaded):
        yield _turned_rows(loaded, lambda each, rows: each.give((rows,), loaded.config))


def _not_transposed(loaded: Loaded) -> Loaded:
    """A square matrix that lies as (in, out) taken as it lies: Conv1D of GPT-2."""
    return _with(loaded, {name: each.T for name, each in _ending(loaded, OUT).items()})


def _rolled(loaded: Loaded, n: int) -> Loaded:
    tables = _ending(loaded, "position.weight")
    return _with(loaded, {name: each.roll(n, dims=0) for name, each in tables.items()})


def _offset(loaded: Loaded) -> int:
    return loaded.config.position.position_offset


def _offset_mends(loaded: Loaded) -> Iterable[Loaded]:
    if _has_offset(loaded):
        yield _rolled(loaded, -_offset(loaded))


def _norm_offset_mends(loaded: Loaded) -> Iterable[Loaded]:
    norm = loaded.config.norm
    if norm.norm_kind is NormKind.RMS_NORM and norm.norm_affine and not norm.norm_offset:
        yield _changed(loaded, norm_offset=True)


def _embedding_scale(loaded: Loaded) -> Loaded:
    return _changed(loaded, scale_embeddings=not loaded.config.scale_embeddings)


def _score_scale_mends(loaded: Loaded) -> Iterable[Loaded]:
    if loaded.config.attention.scale_scores:
        yield _changed(loaded, scale_scores=False)


def _fused_names(loaded: Loaded) -> Iterable[list[str]]:
    for name in _ending(loaded, *(f"q_proj.{kind}" for kind in KINDS)):
        yield [name.replace("q_proj", f"{letter}_proj") for letter in "qkv"]


def _qkv_order(loaded: Loaded) -> Loaded:
    """Fused rows that stand head by head, split as if they stood side by side."""
    found: dict[str, Tensor] = {}
    for names in _fused_names(loaded):
        whole = BY_GROUPS.give([loaded.tensors[each] for each in names], loaded.config)
        sizes = [len(loaded.tensors[each]) for each in names]
        found |= dict(zip(names, whole.split(sizes), strict=True))
    return _with(loaded, found)


def _qkv_mends(loaded: Loaded) -> Iterable[Loaded]:
    if not _has_groups(loaded):
        return
    found: dict[str, Tensor] = {}
    for names in _fused_names(loaded):
        whole = torch.cat([loaded.tensors[each] for each in names])
        found |= dict(zip(names, BY_GROUPS.take(whole, loaded.config), strict=True))
    yield _with(loaded, found)


def _group_order(loaded: Loaded) -> Loaded:
    """Keys repeated as 1 2 1 2 where the model was trained with 1 1 2 2."""
    return _regrouped(loaded, (loaded.config.n_kv_heads, -1, loaded.config.d_head))


def _group_mends(loaded: Loaded) -> Iterable[Loaded]:
    if _is_grouped(loaded):
        yield _regrouped(loaded, (-1, loaded.config.n_kv_heads, loaded.config.d_head))


def _regrouped(loaded: Loaded, groups: tuple[int, int, int]) -> Loaded:
    """Query heads in another order, and the columns that read them with them."""
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


def _tie_mends(loaded: Loaded) -> Iterable[Loaded]:
    if loaded.config.architecture.reads_tokens and not _is_tied(loaded):
        kept = {name: each for name, each in loaded.tensors.items() if name != "unembed.weight"}
        yield _changed(loaded, tie_embeddings=True)._replace(tensors=kept)


def _eps(loaded: Loaded) -> float:
    return loaded.config.norm.norm_eps


def _norm_eps(loaded: Loaded) -> Loaded:
    return _changed(loaded, norm_eps=1e-5 if _eps(loaded) < 1e-5 else 1e-12)


def _eps_mends(loaded: Loaded) -> Iterable[Loaded]:
    return (_changed(loaded, norm_eps=eps) for eps in EPS if eps != _eps(loaded))


def _base(loaded: Loaded) -> float:
    return loaded.config.position.rope_base


def _position_table(loaded: Loaded) -> Loaded:
    """Angles from the usual base where config.json says another, or rows counted from 1.

    Of waves that nobody learned: sines and cosines in the other order.
    """
    if _has_rope(loaded):
        other = BASES[1] if _base(loaded) == BASES[0] else BASES[0]
        return _changed(loaded, rope_base=other)
    return _reordered(loaded) if _has_waves(loaded) else _rolled(loaded, -1)


def _reordered(loaded: Loaded) -> Loaded:
    return _changed(loaded, sines_first=not loaded.config.position.sines_first)


def _table_mends(loaded: Loaded) -> Iterable[Loaded]:
    if _has_rope(loaded):
        return (_changed(loaded, rope_base=base) for base in BASES if base != _base(loaded))
    if _has_waves(loaded):
        return (_reordered(loaded),)
    return (_rolled(loaded, 1),) if _has_table(loaded) else ()


def _no_prefix(loaded: Loaded) -> Loaded:
    return loaded._replace(prefix=())


def _prefix_mends(loaded: Loaded) -> Iterable[Loaded]:
    found = [(), *((token_id,) for token_id in loaded.special[:MOST_PREFIXES])]
    return (loaded._replace(prefix=prefix) for prefix in found if prefix != loaded.prefix)


def _has_rope(loaded: Loaded) -> bool:
    config = loaded.config
    return config.position.position_kind is PositionKind.ROPE and config.rotary_width > 2


def _has_table(loaded: Loaded) -> bool:
    return loaded.config.position.position_kind is PositionKind.LEARNED


def _has_waves(loaded: Loaded) -> bool:
    config = loaded.config
    return config.position.position_kind is PositionKind.SINUSOIDAL and config.d_model > 2


def _has_position(loaded: Loaded) -> bool:
    return _has_rope(loaded) or _has_table(loaded) or _has_waves(loaded)


def _has_offset(loaded: Loaded) -> bool:
    return _has_table(loaded) and _offset(loaded) > 0


def _has_groups(loaded: Loaded) -> bool:
    return loaded.config.n_kv_heads > 1 and not loaded.config.is_latent


def _is_square(loaded: Loaded) -> bool:
    return loaded.config.n_heads * loaded.config.d_value == loaded.config.d_model


def _is_grouped(loaded: Loaded) -> bool:
    return 1 < loaded.config.n_kv_heads < loaded.config.n_heads


def _is_tied(loaded: Loaded) -> bool:
    return loaded.config.vocabulary.tie_embeddings


def _keeps_its_scale(loaded: Loaded) -> bool:
    """Whether no norm stands right behind the embedding, which would undo a factor."""
    config = loaded.config
    is_normed = config.norm.embedding_norm and config.norm.norm_kind is not NormKind.NONE
    is_met = config.position.position_kind.is_added or config.n_segments > 0
    return config.architecture.reads_tokens and (is_met or not is_normed)


def _where(
    is_so: Callable[[Loaded], bool], undo: Callable[[Loaded], Loaded]
) -> Callable[[Loaded], Iterable[Loaded]]:
    return lambda loaded: (undo(loaded),) if is_so(loaded) else ()


KINDS, OUT = ("weight", "bias"), "out_proj.weight"
EPS = (1e-12, 1e-8, 1e-6, 1e-5)  # of published models
BASES = (10_000.0, 500_000.0, 1_000_000.0)
MOST_PREFIXES = 16
PLANTED: dict[ConversionFault, Planting] = {
    ConversionFault.ROTARY_LAYOUT: Planting(_has_rope, _rotary_layout, _rotary_mends),
    ConversionFault.NOT_TRANSPOSED: Planting(
        _is_square, _not_transposed, _where(_is_square, _not_transposed)
    ),
    ConversionFault.POSITION_OFFSET: Planting(
        _has_offset, lambda loaded: _rolled(loaded, _offset(loaded)), _offset_mends
    ),
    ConversionFault.NORM_OFFSET: Planting(
        lambda loaded: loaded.config.norm.norm_offset,
        lambda loaded: _changed(loaded, norm_offset=False),
        _norm_offset_mends,
    ),
    ConversionFault.EMBEDDING_SCALE: Planting(
        _keeps_its_scale, _embedding_scale, _where(_keeps_its_scale, _embedding_scale)
    ),
    ConversionFault.SCORE_SCALE: Planting(
        lambda loaded: not loaded.config.attention.scale_scores,
        lambda loaded: _changed(loaded, scale_scores=True),
        _score_scale_mends,
    ),
    ConversionFault.QKV_ORDER: Planting(_has_groups, _qkv_order, _qkv_mends),
    ConversionFault.GROUP_ORDER: Planting(_is_grouped, _group_order, _group_mends),
    ConversionFault.MISSING_TIE: Planting(_is_tied, _missing_tie, _tie_mends),
    ConversionFault.NORM_EPS: Planting(lambda _loaded: True, _norm_eps, _eps_mends),
    ConversionFault.POSITION_TABLE: Planting(_has_position, _position_table, _table_mends),
    ConversionFault.TOKENIZER_PREFIX: Planting(
        lambda loaded: bool(loaded.prefix), _no_prefix, _prefix_mends
    ),
}
