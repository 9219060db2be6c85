"""Whole models, and the one way to build them."""

import torch
from torch import Tensor, nn

from blocks.config import ModelConfig
from blocks.initialize import initialize
from blocks.layers import encoder_layer
from blocks.positions import added_position
from blocks.probe import Stage, name_probes


class Block(nn.Module):
    """One Transformer block on vectors: position, then one layer.

    (batch, seq, d_model) to the same.
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        is_added = config.position.position_kind.is_added
        self.input = Stage("input") if is_added else nn.Identity()
        self.position = added_position(config)
        self.layers = nn.ModuleList([encoder_layer(config)])

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """`mask` is True where a query may see a key, broadcast to (batch, 1, query, key)."""
        x = self.position(self.input(x))
        for layer in self.layers:
            x = layer(x, mask)
        return x


def build(
    config: ModelConfig,
    *,
    seed: int = 0,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Block:
    """The model of a configuration, its weights drawn from `seed`; the same on every device.

    No global random state is touched. The model is in evaluation mode and may be shared between
    threads: nothing that `record` does changes it.
    """
    with torch.device("meta"):
        model = Block(config).eval().to(dtype)
    model = model.to_empty(device=device)
    initialize(model, config.initialization, seed, n_layers=len(model.layers))
    name_probes(model)
    return model


def count_built(config: ModelConfig) -> int:
    """Parameters of the model as it is built, counted one by one; nothing is allocated."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in Block(config).parameters())
