"""Parts taken out whole, so that the matrices left are really smaller: heads, units, layers.

What is left out adds nothing to the residual stream, so the small model gives what the large one
gives with those columns of `out_proj` or `down_proj` set to 0.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from blocks.efficiency.calibration import Inputs
from blocks.efficiency.pruning import Criterion
from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture, AttentionGate, PositionKind

Tensors = Mapping[str, Tensor]
OUT, DOWN = ".out_proj.weight", ".down_proj.weight"
LAYER = re.compile(r"^((?:encoder\.|decoder\.)?layers\.)(\d+)\.")


@dataclass(frozen=True, eq=False)
class Choice:
    """How parts are compared: by a criterion, on what was calibrated, or by draws."""

    criterion: Criterion
    inputs: Mapping[str, Inputs]
    random: torch.Generator

    def scores(self, name: str, weight: Tensor, width: int) -> Tensor:
        """How much each part of `width` columns of a matrix adds to the stream: (parts).

        Calibrated (Wanda), the squares of what the part wrote, tr(W_S XᵀX_S W_Sᵀ); by magnitude,
        those of its weights; random, the control.
        """
        n_parts = weight.shape[1] // width
        if self.criterion is Criterion.RANDOM:
            return torch.rand(n_parts, generator=self.random)
        parts = weight.float().reshape(len(weight), n_parts, width).transpose(0, 1)
        if self.criterion is Criterion.MAGNITUDE or name not in self.inputs:
            return parts.square().sum((1, 2))
        gram = self.inputs[name].gram.reshape(n_parts, width, n_parts, width)
        corners = gram.diagonal(dim1=0, dim2=2).permute(2, 0, 1)  # (parts, width, width)
        return ((parts @ corners) * parts).sum((1, 2))


@dataclass(frozen=True, eq=False)
class Piece:
    """What is left of one tensor, `name`: these rows and columns of it, in order; None: all."""

    name: str
    rows: Tensor | None = None
    columns: Tensor | None = None

    def of(self, tensor: Tensor) -> Tensor:
        """Take it; a single number, such as an optimizer's count of steps, stays what it is."""
        if tensor.ndim and self.rows is not None:
            tensor = tensor[self.rows]
        return tensor[:, self.columns] if tensor.ndim and self.columns is not None else tensor


@dataclass(frozen=True, eq=False)
class Left:
    """What is left of a model: its configuration, and a piece for each of its tensors by name."""

    config: ModelConfig
    pieces: Mapping[str, Piece]

    def of(self, tensors: Tensors, ending: str = "") -> dict[str, Tensor]:
        """The tensors of the smaller model, of those that are given.

        `ending` follows each name on both sides: what an optimizer remembers is cut as the weight.
        """
        return {
            name + ending: piece.of(tensors[piece.name + ending])
            for name, piece in self.pieces.items()
            if piece.name + ending in tensors
        }


def without_heads(config: ModelConfig, tensors: Tensors, n_removed: int, choice: Choice) -> Left:
    """The same model with fewer heads in each layer: those that add least to the stream go.

    A key/value head goes with all of its query heads, their sinks and gates. Raises `ConfigError`
    as `config_without_heads` does.
    """
    fewer, pieces = config_without_heads(config, n_removed), _whole(tensors)
    per_group = config.n_heads // config.n_kv_heads
    for name, path in _paths(tensors, OUT):
        width = per_group * config.d_head
        kept = _kept(choice.scores(name, tensors[name], width), n_removed)
        wide, narrow = _spread(kept, width), _spread(kept, config.d_head)
        pieces[name] = Piece(name, columns=wide)
        pieces |= _rows(tensors, f"{path}.q_proj", wide)
        heads = _spread(kept, per_group)
        is_of_heads = config.attention.attention_gate is AttentionGate.HEAD
        pieces |= _rows(tensors, f"{path}.out_gate_proj", heads if is_of_heads else wide)
        if (sinks := f"{path}.sinks") in tensors:
            pieces[sinks] = Piece(sinks, rows=heads)
        for each in ("k_proj", "v_proj"):
            pieces |= _rows(tensors, f"{path}.{each}", narrow)
    return Left(fewer, pieces)


def config_without_heads(config: ModelConfig, n_removed: int) -> ModelConfig:
    """Return its configuration.

    Raises `ConfigError` where none would be left, where heads are not alike (ALiBi and a learned
    bias tell each its own distances), or where they share more than keys and values.
    """
    _check_some_left("n_heads", n_removed, config.n_kv_heads)
    shares_norm = config.attention.qk_norm and config.attention.qk_norm_whole
    if n_removed and (config.is_latent or shares_norm or not config.attends):
        text = N_("Heads can be removed only where all layers use plain attention: keep all heads")
        raise ConfigError([Fault(text)])
    is_biased = config.position.position_kind is PositionKind.ALIBI or _has_relative_bias(config)
    if n_removed and is_biased:
        raise ConfigError(
            [Fault(N_("Each head here treats distance in its own way: keep all heads"))]
        )
    n_left, per_group = config.n_kv_heads - n_removed, config.n_heads // config.n_kv_heads
    return config.replace(n_heads=n_left * per_group, n_kv_heads=n_left, d_head=config.d_head)


def _has_relative_bias(config: ModelConfig) -> bool:
    is_pair = config.architecture is Architecture.ENCODER_DECODER
    return is_pair and config.encoder_decoder.relative_bias


def without_units(config: ModelConfig, tensors: Tensors, share: float, choice: Choice) -> Left:
    """The same model with a share of the hidden units of each feed-forward layer taken out."""
    fewer, pieces = config_without_units(config, share), _whole(tensors)
    n_removed = config.d_ff - fewer.d_ff
    for name, path in _paths(tensors, DOWN):
        kept = _kept(choice.scores(name, tensors[name], 1), n_removed)
        pieces[name] = Piece(name, columns=kept)
        for each in ("up_proj", "gate_proj"):
            pieces |= _rows(tensors, f"{path}.{each}", kept)
    return Left(fewer, pieces)


def config_without_units(config: ModelConfig, share: float) -> ModelConfig:
    """Return its configuration. Raises `ConfigError` where there are no units to remove."""
    n_removed = round(share * config.d_ff)
    _check_some_left("d_ff", n_removed, config.d_ff)
    if n_removed and (config.n_experts > 1 or config.attention_only):
        raise ConfigError(
            [Fault(N_("Units can be removed only from a dense feed-forward layer: keep all units"))]
        )
    return config.replace(d_ff=config.d_ff - n_removed)


def without_layers(config: ModelConfig, names: Iterable[str], removed: tuple[int, ...]) -> Left:
    """The same model without some layers, counted from 0; of an encoder–decoder in both stacks."""
    fewer, out = config_without_layers(config, removed), {*removed}
    return Left(fewer, {_renumbered(name, out): Piece(name) for name in names if _stays(name, out)})


def depth_of(config: ModelConfig) -> int:
    """How many layers can be named; of an encoder–decoder those that both stacks have."""
    is_pair = config.architecture is Architecture.ENCODER_DECODER
    return min(config.n_layers, config.n_decoder_layers) if is_pair else config.n_layers


def config_without_layers(config: ModelConfig, removed: tuple[int, ...]) -> ModelConfig:
    """Return its configuration.

    Raises `ConfigError` where a layer is missing, none is left, or its place says what it does.
    """
    is_pair = config.architecture is Architecture.ENCODER_DECODER
    depth, out = depth_of(config), {*removed}
    if absent := out - {*range(depth)}:
        text = N_("There is no layer {n}: choose from 0 to {mend}")
        raise ConfigError([Fault(text, {"n": min(absent), "mend": depth - 1})])
    _check_some_left("n_layers", len(out), depth)
    if out and not config.has_equal_layers:
        raise ConfigError([Fault(N_("The layers here are not all alike: keep all layers"))])
    fewer = {"n_layers": config.n_layers - len(out)}
    if is_pair:
        fewer["n_decoder_layers"] = config.n_decoder_layers - len(out)
    return config.replace(**fewer)


def _paths(tensors: Tensors, ending: str) -> Iterator[tuple[str, str]]:
    """The matrices that write to the stream, each with the path of its sub-layer.

    In order of their names: a file has none, and what is drawn is drawn for one after the other.
    """
    return ((name, name.removesuffix(ending)) for name in sorted(tensors) if name.endswith(ending))


def _kept(scores: Tensor, n_removed: int) -> Tensor:
    return scores.argsort(stable=True)[n_removed:].sort().values


def _spread(parts: Tensor, width: int) -> Tensor:
    """The columns of parts: (parts) to (parts · width)."""
    return (parts[:, None] * width + torch.arange(width)).flatten()


def _whole(names: Iterable[str]) -> dict[str, Piece]:
    return {name: Piece(name) for name in names}


def _rows(tensors: Tensors, path: str, rows: Tensor) -> dict[str, Piece]:
    names = (f"{path}.{each}" for each in ("weight", "bias"))
    return {name: Piece(name, rows=rows) for name in names if name in tensors}


def _stays(name: str, removed: set[int]) -> bool:
    found = LAYER.match(name)
    return found is None or int(found[2]) not in removed


def _renumbered(name: str, removed: set[int]) -> str:
    found = LAYER.match(name)
    if found is None:
        return name
    index = int(found[2])
    return f"{found[1]}{index - sum(each < index for each in removed)}.{name[found.end() :]}"


def _check_some_left(field: str, n_removed: int, n: int) -> None:
    if not 0 <= n_removed < n:
        text = N_("Removing {n} of {of} ({name}) would leave none: remove at most {mend}")
        values = {"n": n_removed, "of": n, "name": field, "mend": n - 1}
        raise ConfigError([Fault(text, values)])
