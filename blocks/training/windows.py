"""Pieces of a long text, cut at random places."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Windows:
    """A text as token ids (n,), encoded once; a batch of pieces is one look-up."""

    token_ids: Tensor

    def draw(self, batch_size: int, length: int, random: torch.Generator) -> Tensor:
        """Pieces of `length` tokens from anywhere in the text: (batch, length)."""
        n_starts = len(self.token_ids) - length + 1
        starts = torch.randint(n_starts, (batch_size, 1), generator=random)
        return self.token_ids[starts + torch.arange(length)]
