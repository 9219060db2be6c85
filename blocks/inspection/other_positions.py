"""A model's weights with another positional encoding."""

import torch
from torch import Tensor, nn

from blocks.inspection.position_tables import drawn_table
from blocks.model.config import ModelConfig
from blocks.model.embedding import random_tensor
from blocks.model.kinds import Architecture, PositionKind
from blocks.model.models import ARCHITECTURES, Encoder, Model
from blocks.model.probe import name_probes
from blocks.model.randomness import generator


def learned_table(
    model: Model, config: ModelConfig, seed: int, n_rows: int | None = None
) -> Tensor:
    """The model's own table of positions where it learned one, else one drawn from the seed.

    (n_rows, d_model); its own has max_seq_len rows at most.
    """
    if config.position.position_kind is PositionKind.LEARNED:
        return model.state_dict()["position.weight"][config.position.position_offset :][:n_rows]
    like = next(model.parameters())
    return drawn_table(config, seed, n_rows).to(like)


def with_position(
    model: Model,
    config: ModelConfig,
    kind: PositionKind,
    *,
    seed: int,
    n_rows: int | None = None,
    n_layers: int | None = None,
) -> Model:
    """A model of another position kind that shares the weights of `model`, which stays as it is.

    `n_rows`: the length of a learned table; `n_layers`: only the first ones. Raises `ConfigError`
    where the kind does not fit (RoPE, and heads of odd width).
    """
    table = None
    if kind is PositionKind.LEARNED:
        table = learned_table(model, config, seed, n_rows)
    changed = (config.first_layers(n_layers) if n_layers else config).replace(
        position_kind=kind,
        max_seq_len=config.max_seq_len if table is None else len(table),
        position_offset=0,
    )
    with torch.device("meta"):
        other = ARCHITECTURES[changed.architecture](changed).eval()
    own = {**model.state_dict(), **({} if table is None else {"position.weight": table})}
    other.load_state_dict({name: own[name] for name in other.state_dict()}, assign=True)
    name_probes(other)
    return other


def in_float32(model: Model) -> Model:
    """Let a model that is nobody else's compute in float32: one layer is widened at a time.

    A float32 copy of all of a large model in bfloat16 would take twice what the model does.
    """
    narrow: dict[Tensor, Tensor] = {}

    def widen(layer: nn.Module, _args: object) -> None:
        narrow.update({each: each.data for each in layer.parameters()})
        layer.float()

    def narrow_again(layer: nn.Module, _args: object, _out: object) -> None:
        for each in layer.parameters():
            each.data = narrow.pop(each)

    for layer in model.layers:
        layer.register_forward_pre_hook(widen)
        layer.register_forward_hook(narrow_again)
    for name, part in model.named_children():
        if name != "layers":
            part.float()
    return model


def first_layer(
    model: Model, config: ModelConfig, kind: PositionKind, dtype: torch.dtype, *, seed: int
) -> Model:
    """Position and first layer as a block on vectors, in this number format."""
    whole = with_position(model, config, kind, seed=seed, n_layers=1)
    own = whole.state_dict()
    table = own.get("position.weight")
    alone = config.first_layers(1).replace(
        architecture=Architecture.BLOCK,
        position_kind=kind,
        max_seq_len=config.max_seq_len if table is None else len(table),
        position_offset=0,
    )
    with torch.device("meta"):
        block = ARCHITECTURES[Architecture.BLOCK](alone).eval()
    block.load_state_dict({name: own[name] for name in block.state_dict()}, assign=True)
    name_probes(block)
    return block.to(dtype)


def first_vectors(model: Model, values: Tensor) -> Tensor:
    """What the first layer reads before any position is told: (batch, seq, d_model).

    `values` are those of `Run.values`: token ids, or the vectors themselves.
    """
    if not isinstance(model, Encoder):
        return values
    with torch.no_grad():
        return model.embed_scale * model.embed(values)


def random_values(model: Model, config: ModelConfig, batch: int, n: int, seed: int) -> Tensor:
    """Input without structure: token ids drawn alike, or vectors of N(0, 1); (batch, n, …)."""
    like = next(model.parameters())
    if config.architecture.reads_tokens:
        random = generator(seed, "random tokens")
        return torch.randint(config.vocab_size, (batch, n), generator=random).to(like.device)
    return random_tensor(batch, n, config.d_model, seed=seed).to(like)
