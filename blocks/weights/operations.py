"""What happens to a tensor between a published file and a model here, each way.

Every operation only moves numbers, so what is read and written again is the same bit for bit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from blocks.model.config import ModelConfig
from blocks.model.faults import N_

Take = Callable[[Tensor, ModelConfig], tuple[Tensor, ...]]
Shape = tuple[int, ...]
Give = Callable[[Sequence[Tensor], ModelConfig], Tensor]


def _stacked(shapes: Sequence[Shape]) -> Shape:
    return (sum(shape[0] for shape in shapes), *shapes[0][1:])


def _stacked_turned(shapes: Sequence[Shape]) -> Shape:
    return _stacked(shapes)[::-1]


@dataclass(frozen=True)
class Operation:
    """`take` makes our parameters of a tensor of the file, `give` the tensor of them.

    `shape`: that of the tensor of the file, where theirs are known.
    """

    name: str
    take: Take
    give: Give
    shape: Callable[[Sequence[Shape]], Shape] = _stacked


def _turned(tensor: Tensor) -> Tensor:
    return tensor.T if tensor.dim() == 2 else tensor


def _sizes(config: ModelConfig) -> tuple[int, int, int]:
    """Rows of q, k and v."""
    n_keys = config.n_kv_heads * config.d_head
    return config.width_of_heads, n_keys, n_keys


def _grouped(whole: Tensor, config: ModelConfig) -> tuple[Tensor, ...]:
    n_queries = config.n_heads // config.n_kv_heads
    groups = whole.unflatten(0, (config.n_kv_heads, n_queries + 2, config.d_head))
    parts = groups.split((n_queries, 1, 1), dim=1)
    return tuple(part.flatten(0, 2) for part in parts)


def _regrouped(parts: Sequence[Tensor], config: ModelConfig) -> Tensor:
    groups = (part.unflatten(0, (config.n_kv_heads, -1, config.d_head)) for part in parts)
    return torch.cat(tuple(groups), dim=1).flatten(0, 2)


def _halved(rows: Tensor, config: ModelConfig) -> Tensor:
    """In the turned part of each head, first the even rows, then the odd ones."""
    heads = rows.unflatten(0, (-1, config.d_head))
    turned, rest = heads.split((config.rotary_width, config.d_head - config.rotary_width), dim=1)
    return torch.cat((turned[:, 0::2], turned[:, 1::2], rest), dim=1).flatten(0, 1)


def _interleaved(rows: Tensor, config: ModelConfig) -> Tensor:
    heads = rows.unflatten(0, (-1, config.d_head))
    turned, rest = heads.split((config.rotary_width, config.d_head - config.rotary_width), dim=1)
    pairs = turned.unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2)
    return torch.cat((pairs, rest), dim=1).flatten(0, 1)


def _in_turns(whole: Tensor) -> tuple[Tensor, Tensor]:
    return _turned(whole)[0::2], _turned(whole)[1::2]


def _taking_turns(even: Tensor, odd: Tensor) -> Tensor:
    return _turned(torch.stack((even, odd), dim=1).flatten(0, 1))


def _other_half_first(tensor: Tensor) -> Tensor:
    return tensor.roll(tensor.shape[-1] // 2, dims=-1)


def _latent_halved(
    rows: Tensor, config: ModelConfig, n_parts: int, *, back: bool = False
) -> Tensor:
    """As `_halved`, in the last d_rotary rows of each part; or `back`."""
    parts = rows.unflatten(0, (n_parts, -1))
    plain, turned = parts.split((parts.shape[1] - config.d_rotary, config.d_rotary), dim=1)
    if back:
        order = turned.unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2)
    else:
        order = torch.cat((turned[:, 0::2], turned[:, 1::2]), dim=1)
    return torch.cat((plain, order), dim=1).flatten(0, 1)


def _states_a_key_head(config: ModelConfig) -> tuple[int, int]:
    """Heads of values that one head of keys has, and as many gates."""
    each = config.n_state_heads // config.n_key_heads
    return each, each


def _by_key_heads(whole: Tensor, config: ModelConfig, heads: tuple[int, ...]) -> tuple[Tensor, ...]:
    """Parts of so many heads, which stand after one another for each head of keys."""
    groups = whole.unflatten(0, (config.n_key_heads, sum(heads), -1))
    return tuple(part.flatten(0, 2) for part in groups.split(heads, dim=1))


def _from_key_heads(parts: Sequence[Tensor], config: ModelConfig) -> Tensor:
    groups = (part.unflatten(0, (config.n_key_heads, -1)) for part in parts)
    return torch.cat(tuple(groups), dim=1).flatten(0, 1)


SAME = Operation(
    N_("unchanged"), lambda tensor, _config: (tensor,), lambda parts, _config: parts[0]
)
TRANSPOSED = Operation(
    N_("transpose"),
    lambda tensor, _config: (_turned(tensor),),
    lambda parts, _config: _turned(parts[0]),
    _stacked_turned,
)
AS_A_ROW = Operation(
    N_("flatten one row to a vector"),
    lambda tensor, _config: (tensor.flatten(),),
    lambda parts, _config: parts[0][None],
    lambda shapes: (1, *shapes[0]),
)
# q, k and v as three blocks of rows (Phi-3, ModernBERT)
ONE_BELOW_ANOTHER = Operation(
    N_("split q k v"),
    lambda tensor, config: tensor.split(_sizes(config)),
    lambda parts, _config: torch.cat(tuple(parts)),
)
# a gate and what it gates, as two blocks of rows (Phi-3, ModernBERT)
GATE_ABOVE_UP = Operation(
    N_("split gate and up"),
    lambda tensor, _config: tensor.chunk(2),
    lambda parts, _config: torch.cat(tuple(parts)),
)
# of each head its queries, then what gates its output (Qwen3-Next)
QUERIES_BESIDE_GATES = Operation(
    N_("split queries and gate by heads"),
    lambda tensor, config: tuple(
        part.flatten(0, 1) for part in tensor.unflatten(0, (config.n_heads, 2, -1)).unbind(1)
    ),
    lambda parts, config: torch.stack(
        tuple(part.unflatten(0, (config.n_heads, -1)) for part in parts), dim=1
    ).flatten(0, 2),
)
# the same of a state, whose queries and keys may be of fewer heads
OF_STATE = Operation(
    N_("split q k v"),
    lambda tensor, config: tensor.tensor_split(
        (config.n_key_heads * config.d_state, 2 * config.n_key_heads * config.d_state)
    ),
    lambda parts, _config: torch.cat(tuple(parts)),
)
# of each key head: its queries and keys, then the values and gates of the states that read them
OF_STATE_BY_KEY_HEADS = Operation(
    N_("split q k v and gate by key heads"),
    lambda tensor, config: _by_key_heads(tensor, config, (1, 1, *_states_a_key_head(config))),
    _from_key_heads,
)
# the same of how much is written and how much decays, one number for each state
RATES_BY_KEY_HEADS = Operation(
    N_("split the rates by key heads"),
    lambda tensor, config: _by_key_heads(tensor, config, _states_a_key_head(config)),
    _from_key_heads,
)
# q, k and v as three blocks of columns (GPT-2, whose layers lie as (in, out))
SIDE_BY_SIDE = Operation(
    N_("transpose, split q k v"),
    lambda tensor, config: _turned(tensor).split(_sizes(config)),
    lambda parts, _config: _turned(torch.cat(tuple(parts))),
    _stacked_turned,
)
# of all experts in one, as (in, out)
ONE_AN_EXPERT = Operation(
    N_("transpose each expert"),
    lambda tensor, _config: tuple(map(_turned, tensor)),
    lambda parts, _config: torch.stack(tuple(map(_turned, parts))),
    lambda shapes: (len(shapes), *shapes[0][::-1]),
)
# the same, where a column of a gate and one of what it gates take turns
GATE_BESIDE_UP = Operation(
    N_("transpose each expert, split gate and up"),
    lambda tensor, _config: tuple(part for each in tensor for part in _in_turns(each)),
    lambda parts, _config: torch.stack(tuple(map(_taking_turns, parts[::2], parts[1::2]))),
    lambda shapes: (len(shapes) // 2, *shapes[0][:0:-1], 2 * shapes[0][0]),
)
# The queries of a group, then its key, then its value: of a head alone (GPT-NeoX, BLOOM), of
# some that share one (Falcon 40B), of all (Falcon 7B)
BY_GROUPS = Operation(N_("split q k v by groups"), _grouped, _regrouped)
# the same in latent attention, of queries and of what is cached
UNPAIRED_QUERIES = Operation(
    N_("permute rotary pairs"),
    lambda tensor, config: (_latent_halved(tensor, config, config.n_heads),),
    lambda parts, config: _latent_halved(parts[0], config, config.n_heads, back=True),
)
UNPAIRED_KEY = Operation(
    N_("permute rotary pairs"),
    lambda tensor, config: (_latent_halved(tensor, config, 1),),
    lambda parts, config: _latent_halved(parts[0], config, 1, back=True),
)
# a layer that reads two vectors in one, in the other order (DeepSeek-V3's MTP modules)
TURNED_ABOUT = Operation(
    N_("swap the halves of the input"),
    lambda tensor, _config: (_other_half_first(tensor),),
    lambda parts, _config: _other_half_first(parts[0]),
)
# RoPE that turns (2i, 2i + 1) instead of (i, i + width/2)
UNPAIRED = Operation(
    N_("permute rotary pairs"),
    lambda tensor, config: (_halved(tensor, config),),
    lambda parts, config: _interleaved(parts[0], config),
)
# GGUF: all experts of a layer in one, as (out, in)
STACKED_EXPERTS = Operation(
    N_("split experts"),
    lambda tensor, _config: tuple(tensor),
    lambda parts, _config: torch.stack(tuple(parts)),
    lambda shapes: (len(shapes), *shapes[0]),
)
# GGUF: the scale of a norm as it multiplies, where a model learns what is added to 1 (Gemma)
WITHOUT_ONE = Operation(
    N_("subtract 1"), lambda tensor, _config: (tensor - 1,), lambda parts, _config: parts[0] + 1
)
