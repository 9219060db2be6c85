"""Multi-token prediction: of each token, a module more tells of one token further ahead."""

import torch
from torch import Tensor, nn

from blocks.model.config import ModelConfig
from blocks.model.layers import encoder_layer
from blocks.model.normalization import build_final_norm, build_norm
from blocks.model.probe import Probe


class MTPModule(nn.Module):
    """norm(layer(W·[norm(h); norm(e)])): what the head reads to predict one token further ahead.

    (batch, seq, d_model) twice to the same: `h` is what the head read of each token for the
    prediction before, `e` the embedding of the token that this one was to predict. The layer is
    made as the last one of the model is; embedding and head are the model's. DeepSeek-AI 2024
    (DeepSeek-V3), eq. 21 and 22; the norm at the end is that of their files (`shared_head.norm`).
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.hidden_norm = build_norm(config, Probe("hidden_norm"))
        self.embedding_norm = build_norm(config, Probe("embedding_norm"))
        self.join_proj = nn.Linear(2 * config.d_model, config.d_model, bias=False)
        self.layer = encoder_layer(config, config.n_layers - 1)
        self.final_norm = build_final_norm(config)

    def forward(self, h: Tensor, e: Tensor, mask: Tensor | None = None) -> Tensor:
        """`mask` is True where a query may see a key, broadcast to (batch, 1, query, key)."""
        both = torch.cat((self.hidden_norm(h), self.embedding_norm(e)), dim=-1)
        return self.final_norm(self.layer(self.join_proj(both), mask))
