"""From tokens to vectors."""

from collections.abc import Sequence

import torch
from torch import Tensor

from blocks.model.randomness import generator


def embed_words(tokens: Sequence[str], d_model: int, *, seed: int = 0) -> Tensor:
    """Random embedding of an open vocabulary: (1, seq, d_model), each value from N(0, 1).

    A token's row is drawn from the seed and its own text, so a word has the same vector in
    every sentence.
    """
    rows = {
        token: torch.randn(d_model, generator=generator(seed, "embed", token))
        for token in set(tokens)
    }
    return torch.stack([rows[token] for token in tokens])[None]


def random_tensor(batch: int, seq_len: int, d_model: int, *, seed: int = 0) -> Tensor:
    """The textbook's input, no words at all: (batch, seq, d_model), each value from N(0, 1)."""
    return torch.randn(batch, seq_len, d_model, generator=generator(seed, "random_tensor"))
