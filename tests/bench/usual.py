"""A GPT and its training step of torch's own layers, as many would write it."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks import ModelConfig


class Usual(nn.Module):
    """A GPT of torch's own layers, as many would write it."""

    def __init__(self, config: ModelConfig, seq_len: int):
        super().__init__()
        width = config.d_model
        self.embed, self.place = (
            nn.Embedding(config.vocab_size, width),
            nn.Embedding(seq_len, width),
        )
        self.layers = nn.ModuleList(
            UsualLayer(width, config.n_heads) for _ in range(config.n_layers)
        )
        self.norm, self.unembed = nn.LayerNorm(width), nn.Linear(width, config.vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        """Token ids to logits."""
        x = self.embed(ids) + self.place.weight
        for layer in self.layers:
            x = layer(x)
        return self.unembed(self.norm(x))


class UsualLayer(nn.Module):
    """Attention and a feed-forward layer, each behind a norm."""

    def __init__(self, width: int, n_heads: int):
        super().__init__()
        self.n_heads = n_heads
        self.norm, self.wide_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, seq, width) to the same."""
        q, k, v = (
            each.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for each in self.qkv(self.norm(x)).chunk(3, -1)
        )
        read = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(read.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.wide_norm(x))))


def usual_step(
    model: Callable[[Tensor], Tensor],
    weights: nn.Module,
    vocab_size: int,
    n_texts: int,
    seq_len: int,
    device: str,
) -> Callable[[], None]:
    """One update with AdamW in mixed precision."""
    optimizer = torch.optim.AdamW(weights.parameters())
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(vocab_size, (n_texts, seq_len), generator=draw).to(device)

    def step() -> None:
        with torch.autocast(device, torch.bfloat16):
            loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step
