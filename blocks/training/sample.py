"""What a model writes while it learns."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

TEMPERATURE = 0.8


def continued(
    logits_of: Callable[[Tensor], Tensor],
    prompt: Sequence[int],
    *,
    seq_len: int,
    random: torch.Generator,
) -> list[int]:
    """The prompt, and one drawn token after the other until there are `seq_len`.

    `logits_of` takes ids (1, seq) to logits (1, seq, vocab_size) on the CPU.
    """
    token_ids = list(prompt)
    while len(token_ids) < seq_len:
        logits = logits_of(torch.tensor([token_ids]))[0, -1]
        probs = (logits / TEMPERATURE).softmax(dim=-1)
        token_ids.append(int(torch.multinomial(probs, 1, generator=random)))
    return token_ids
