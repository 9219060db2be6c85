"""What a model learns to predict beyond the next token, beside it."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from blocks.model.models import GPT
from blocks.training.loss import cross_entropy
from blocks.training.task import Batch


def all_logits(model: nn.Module, batch: Batch) -> tuple[Tensor, ...]:
    """Logits of a batch, (batch, seq, vocab_size), and those of modules that predict further ahead.

    Of module k, counted from 1, (batch, seq − k, vocab_size), for the targets from k on.
    """
    if isinstance(model, GPT) and model.mtp is not None:
        return model.logits_ahead(*batch.read)
    return (model(*batch.read),)


def ahead_loss(
    ahead: Sequence[Tensor], targets: Tensor, weight: float, *, label_smoothing: float = 0.0
) -> Tensor:
    """λ / D · Σ of the cross entropies of D modules, in nats; DeepSeek-V3, eq. 24 and 25.

    `ahead`: logits of each, see `all_logits`; `targets` (batch, seq); λ is the `weight`.
    """
    losses = [
        cross_entropy(logits, targets[:, k:], label_smoothing=label_smoothing)
        for k, logits in enumerate(ahead, start=1)
    ]
    return weight * torch.stack(losses).mean()
