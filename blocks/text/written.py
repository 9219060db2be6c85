"""What is kept of a token that was written: little, and on the CPU."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from blocks.text.generation import NewToken
from blocks.text.sampling import SamplingConfig, filtered


@dataclass(frozen=True, eq=False)
class Written:
    """A token, how probable it was, and what its heads read.

    `probability`: what it was drawn with; `model_probability`: before temperature and filters.
    `reads`: (n_layers, n_heads, key), whose last key is the token before this one; no key where
    nothing attends.
    """

    token_id: int
    probability: float
    model_probability: float
    reads: NDArray[np.float16]
    context_start: int
    cache_bytes: int


def written(token: NewToken, sampling: SamplingConfig) -> Written:
    """What is kept of a token that was observed while it was made."""
    if token.pattern is None:
        raise ValueError("the token was not observed: generate with is_observed=True")
    chosen = filtered(token.logits, sampling).softmax(-1)[token.token_id]
    alone = token.logits.to(chosen).softmax(-1)[token.token_id]
    probability, model_probability = torch.stack((chosen, alone)).tolist()
    return Written(
        token_id=token.token_id,
        probability=probability,
        model_probability=model_probability,
        reads=token.pattern.half().cpu().numpy(),
        context_start=token.context_start,
        cache_bytes=token.cache_bytes,
    )
